"""An exported ONNX folder, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...exports.onnx_model import OnnxModel
from ..probe import padded_tokens, parts


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import onnxruntime

    model = OnnxModel(settings["path"], threads=settings.get("threads"))
    batch, _ = parts(arrays)
    source, valid_lens, types = (batch.get(name) for name in ("source", "source_valid_lens", "token_types"))
    outputs = {}
    if model.config.has_encoder:
        outputs["encoder"] = model.encode(source, valid_lens, types)
    if model.config.pooler:
        outputs["pooled"] = model.pooled(source, valid_lens, types)
    if model.config.has_decoder:
        outputs["logits"] = model.logits(source, batch["target"], valid_lens)
    if model.config.has_encoder and model.config.has_decoder:
        outputs["tokens"] = padded_tokens(model.greedy(source, valid_lens, settings["max_steps"]), settings["max_steps"])
    return outputs, {"ran": f"onnxruntime {onnxruntime.__version__}"}
