"""A MarianMT folder's tensors and fields, run by ``transformers`` on PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..probe import padded_tokens
from . import hugging_face


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    torch, transformers = hugging_face.start()
    native, steps = settings["native_settings"], settings["max_steps"]
    config = transformers.MarianConfig(**native["config"], attn_implementation="eager")
    model = hugging_face.loaded(torch, transformers.MarianMTModel, config, arrays)
    model.generation_config = transformers.GenerationConfig(**native["generation"])
    inputs = hugging_face.inputs(torch, arrays)
    with torch.no_grad():
        output = model(**inputs, decoder_input_ids=torch.from_numpy(arrays["batch.target"]))
        generated = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=steps)
    eos = config.eos_token_id
    rows = [row[: row.index(eos)] if eos in row else row for row in generated[:, 1:].tolist()]
    outputs = {"encoder": output.encoder_last_hidden_state.numpy(), "logits": output.logits.numpy()}
    outputs["tokens"] = padded_tokens(rows, steps)
    return outputs, {"ran": f"transformers {transformers.__version__} on torch {torch.__version__}"}
