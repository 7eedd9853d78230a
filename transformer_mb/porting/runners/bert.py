"""A BERT folder, run by ``transformers`` on PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """``token_types`` [B, S] may be given; the setting ``pooled`` asks for the pooler's output [B, D] too."""
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    model = transformers.BertModel.from_pretrained(settings["path"], use_safetensors=True, local_files_only=True)
    model = model.float().eval()
    source, lens = (torch.from_numpy(arrays[name]) for name in ("source", "source_valid_lens"))
    inputs = {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
    if "token_types" in arrays:
        inputs["token_type_ids"] = torch.from_numpy(arrays["token_types"])
    with torch.no_grad():
        output = model(**inputs)
    outputs = {"encoder": output.last_hidden_state.numpy()}
    if settings.get("pooled"):
        outputs["pooled"] = output.pooler_output.numpy()
    return outputs, {"version": f"{transformers.__version__} on torch {torch.__version__}"}
