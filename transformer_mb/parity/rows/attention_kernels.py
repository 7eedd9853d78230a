"""The rows of whole models whose attention each of a GPU's kernels computes in turn; dropout off, since masks rule them out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from ...config import TransformerConfig
from ..computing.messages import Request
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .fast_steps import FastComparison
from .model_cases import SMALL, ModelCase
from .models import model_request

# Heads of 16, for cuDNN and PyTorch's flash attention take multiples of 8; gradients without ReLU, see ``layer_cases.SMOOTH``.
CONFIG = TransformerConfig(**{**SMALL, "num_hiddens": 32, "ffn_num_hiddens": 48}, activation="gelu")
CASE = ModelCase("", CONFIG, rows=3, source_steps=16, target_steps=8, dropout=False)
# Without an encoder, whose lengths come as a mask also where nothing is padded.
UNMASKED = CONFIG.replace(architecture="decoder", source_vocab_size=None)
PADDED = np.array([16, 9, 0])  # the last row attends to nothing
# PyTorch's flash attention takes no mask, and so no padding; it and cuDNN take formats of two bytes alone.
KERNELS = {
    "math": (("float32", "bfloat16", "float16"), ("padding", "no padding")),
    "flash": (("bfloat16", "float16"), ("no padding",)),
    "memory-efficient": (("float32", "bfloat16", "float16"), ("padding", "no padding")),
    "cuDNN": (("bfloat16", "float16"), ("padding", "no padding")),
}


def kernel_experiments(dtype: str, seed: int, on_gpu: Collection[str]) -> list[Comparison]:
    return [
        FastComparison(
            f"{kernel} attention, {padding}",
            dtype,
            rows_of("model", dtype),
            partial(kernel_request, kernel, padding, dtype, seed),
            redrawn=True,
            option=kernel,
            on_gpu=on_gpu,
        )
        for kernel, (dtypes, paddings) in KERNELS.items()
        if dtype in dtypes
        for padding in paddings
    ]


def kernel_request(kernel: str, padding: str, dtype: str, seed: int, attempt: int = 0) -> Request:
    case = replace(CASE, name=f"{kernel} attention, {padding}")
    if padding == "no padding":
        return model_request(replace(case, config=UNMASKED), dtype, seed, True, attempt).in_setting(kernel)
    request = model_request(case, dtype, seed, True, attempt)
    return replace(request.in_setting(kernel), arrays={**request.arrays, "batch.source_valid_lens": PADDED})
