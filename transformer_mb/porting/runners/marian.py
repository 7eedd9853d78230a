"""A MarianMT folder, run by ``transformers`` on PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..probe import padded_tokens


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    model = transformers.MarianMTModel.from_pretrained(settings["path"], use_safetensors=True, local_files_only=True)
    model = model.float().eval()
    source, lens, target = (torch.from_numpy(arrays[name]) for name in ("source", "source_valid_lens", "target"))
    inputs = {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
    with torch.no_grad():
        output = model(**inputs, decoder_input_ids=target)
        # One token more than is asked for: the last of the longest output is forced to be the end token.
        steps = settings["max_steps"]
        generated = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=steps + 1, min_new_tokens=0)
    eos = model.config.eos_token_id
    rows = [row[: row.index(eos)] if eos in row else row for row in generated[:, 1:].tolist()]
    outputs = {"encoder": output.encoder_last_hidden_state.numpy(), "logits": output.logits.numpy()}
    outputs["tokens"] = padded_tokens([row[:steps] for row in rows], steps)
    return outputs, {"version": f"{transformers.__version__} on torch {torch.__version__}"}
