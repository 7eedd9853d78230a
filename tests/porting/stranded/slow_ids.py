"""Ids of the slow tokenizers of transformers 4.57, which 5 has no more: run in that environment (``make stranded``).

    python slow_ids.py FOLDER LINES.json

FOLDER/NAME-old are folders whose tokenizer_config.json names the class; each gets ``ids.json``: a list of ids per line and the
texts of these, also of the class with ``Fast`` behind its name, where there is one. FOLDER/NAME-old/slow and /fast hold what
either saves.
"""

import json
import os
import sys
from pathlib import Path

os.environ.update(USE_TF="0", USE_FLAX="0", USE_TORCH="1", HF_HUB_OFFLINE="1")
import transformers

lines = json.loads(Path(sys.argv[2]).read_text())
for place in sorted(Path(sys.argv[1]).glob("*-old")):
    kind = json.loads((place / "tokenizer_config.json").read_text()).get("tokenizer_class")
    if kind is None:
        continue
    tokenizer = getattr(transformers, kind).from_pretrained(place, local_files_only=True)
    assert not tokenizer.is_fast, kind
    found = {"count": len(tokenizer)}
    for which, made in (("slow", tokenizer), ("fast", getattr(transformers, f"{kind}Fast", None))):
        if made is not None:
            made = made if which == "slow" else made.from_pretrained(place, local_files_only=True)
            made.save_pretrained(place / which)
            found[which] = made(lines)["input_ids"]
            found[f"{which} texts"] = [made.decode(row, skip_special_tokens=True) for row in found[which]]
    (place / "ids.json").write_text(json.dumps(found))
print(transformers.__version__)
