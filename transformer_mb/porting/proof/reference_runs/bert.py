"""A BERT folder's tensors and fields, run by ``transformers`` on PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import hugging_face


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """``batch.token_types`` [B, S] may be given; with a pooler there is its output ``pooled`` [B, D] too."""
    torch, transformers = hugging_face.start()
    config = transformers.BertConfig(**settings["native_settings"]["config"], attn_implementation="eager")
    model = hugging_face.loaded(torch, transformers.BertModel, config, arrays, add_pooling_layer=settings["config"]["pooler"])
    inputs = hugging_face.inputs(torch, arrays)
    if "batch.token_types" in arrays:
        inputs["token_type_ids"] = torch.from_numpy(arrays["batch.token_types"])
    with torch.no_grad():
        output = model(**inputs)
    outputs = {"encoder": output.last_hidden_state.numpy()}
    if settings["config"]["pooler"]:
        outputs["pooled"] = output.pooler_output.numpy()
    return outputs, {"ran": f"transformers {transformers.__version__} on torch {torch.__version__}"}
