"""Arguments of a caller as tensors: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)


def token_ids(name: str, given: Any, rows: int | None, like: Any) -> Tensor:
    """Ids [B, T] of a table of ``rows`` rows; lists and NumPy arrays are taken too, onto the device of ``like``."""
    ids = _tensor(name, given, like)
    check_ids(name, ids.shape, _whole(ids), ids.dtype, None if rows is None else _values(ids), rows)
    return ids if ids.dtype in (torch.int32, torch.int64) else ids.long()


def look_up(name: str, table: nn.Module, ids: Tensor) -> Tensor:
    """The rows of these ids. torch refuses an id that is not there, on the CPU, and the sentence is ours."""
    try:
        return table(ids)
    except IndexError:
        if isinstance(table, nn.Embedding):
            check_id_values(name, ids.cpu().numpy(), table.num_embeddings)
        raise


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int, like: Tensor) -> Tensor:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _tensor(name, given, like)
    check_valid_lens(name, lens.shape, _whole(lens), lens.dtype, _values(lens), forms, steps)
    return lens


def attention_mask(given: Any, scores: Sequence[int], like: Tensor) -> Tensor:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given, like)
    check_mask(mask.shape, mask.dtype == torch.bool, mask.dtype, scores)
    return mask.unsqueeze(1) if mask.dim() == 3 and len(scores) == 4 else mask


def features(name: str, X: Tensor, layer: nn.Module | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    check_features(name, X, getattr(layer, "in_features", None))
    floats(name, X, getattr(layer, "weight", None))


def floats(name: str, X: Tensor, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers, or not of the dtype of what they are multiplied with where nothing casts them."""
    if not isinstance(X, Tensor):  # torch says so
        return
    expected = like.dtype if isinstance(like, Tensor) and like.is_floating_point() else None  # a quantized layer has none
    if not X.is_floating_point() or (expected not in (None, X.dtype) and not torch.is_autocast_enabled(X.device.type)):
        refuse_dtype(name, X.dtype, expected, of)


def _tensor(name: str, given: Any, like: Any) -> Tensor:
    device = like.device if isinstance(like, Tensor) else None  # a layer in the place of ours may show no weight
    return given if isinstance(given, Tensor) else torch.as_tensor(as_array(name, given), device=device)


def _whole(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


def _values(tensor: Tensor) -> np.ndarray | None:
    """The numbers, where reading them waits for no device and is no part of a trace."""
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing() or type(tensor) is not Tensor
    if traced or tensor.device.type != "cpu":
        return None
    try:
        return tensor.detach().numpy()
    except RuntimeError:  # inside torch.func's transformations a tensor has no numbers
        return None
