"""Run as a script with a folder that d2l_worker.py filled: how many translations are those of d2l, by the way of decoding.

The backend is the environment's. Prints JSON: {"d2l": share, "correct": share}.
"""

import json
import sys
from pathlib import Path

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import source_batches


def translations(backend, checkpoint, switch, sources, num_steps):
    source, target = checkpoint.source_vocabulary, checkpoint.target_vocabulary
    model = backend.create_empty(checkpoint.config.replace(compat_decode=switch))
    backend.set_weights(model, checkpoint.weights)
    found = {}
    for batch in source_batches([source.ids(text.split(" ")) for text in sources], source, 64, num_steps=num_steps):
        decoded = backend.greedy(model, batch.source, batch.source_valid_lens, num_steps)
        found.update({sources[i]: " ".join(target.tokens(ids)) for i, ids in zip(batch.indices, decoded, strict=True)})
    return found


def main(folder):
    published = json.loads((folder / "d2l.json").read_text(encoding="utf-8"))
    checkpoint, backend = read_checkpoint(folder / "checkpoint"), tmb.get_backend()
    expected = published["translations"]
    shares = {}
    for switch in ("d2l", "correct"):
        found = translations(backend, checkpoint, switch, list(expected), published["num_steps"])
        shares[switch] = sum(found[source] == expected[source] for source in expected) / len(expected)
    print(json.dumps(shares))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
