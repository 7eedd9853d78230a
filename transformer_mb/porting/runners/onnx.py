"""An exported ONNX folder, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exports.onnx_model import OnnxModel
from ..probe import padded_tokens


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import onnxruntime

    model = OnnxModel(settings["path"], threads=settings.get("threads"))
    source, valid_lens = arrays.get("source"), arrays.get("source_valid_lens")
    outputs = {}
    if model.config.has_encoder:
        outputs["encoder"] = model.encode(source, valid_lens, arrays.get("token_types"))
    if model.config.has_decoder:
        outputs["logits"] = model.logits(source, valid_lens, arrays["target"])
    if model.config.has_encoder and model.config.has_decoder:
        outputs["tokens"] = padded_tokens(model.greedy(source, valid_lens, settings["max_steps"]), settings["max_steps"])
    return outputs, {"version": f"by onnxruntime {onnxruntime.__version__}"}
