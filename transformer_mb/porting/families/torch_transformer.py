"""torch.nn.Transformer and torch.nn.TransformerEncoder: projections of one attention packed, rows q, k, v."""

from __future__ import annotations

import numpy as np

from ...errors import PortError
from ..model import Arrays, NativeFile
from .nn_transformer import SIZES, SIZES_OF_BOTH, Stacks
from .stack_layout import stems_of
from .stack_lines import family_of

PACKED = ("in_proj_weight", "in_proj_bias")
PROJECTIONS = ("q_proj", "k_proj", "v_proj")


def recognize(native: NativeFile) -> bool:
    packed = any(name.endswith(".self_attn.in_proj_weight") for name in native.tensors)
    return packed and bool(stems_of(native.tensors))


def _split(tensors: Arrays) -> dict[str, np.ndarray]:
    separate: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        if leaf not in PACKED:
            separate[name] = array
            continue
        if array.ndim not in (1, 2) or array.shape[0] % 3:
            raise PortError(f"{name} must hold the rows of q, k and v, got shape {list(array.shape)}.")
        for projection, part in zip(PROJECTIONS, np.split(array, 3), strict=True):
            separate[f"{layer}.{projection}.{leaf.removeprefix('in_proj_')}"] = part
    return separate


def _packed(tensors: Arrays) -> dict[str, np.ndarray]:
    packed: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        attention, _, projection = layer.rpartition(".")
        if projection not in PROJECTIONS:
            packed[name] = array
        elif projection == "q_proj":
            parts = [tensors[f"{attention}.{one}.{leaf}"] for one in PROJECTIONS]
            packed[f"{attention}.in_proj_{leaf}"] = np.concatenate(parts)
    return packed


OPTIONS = "layer_norm_eps={norm_eps}, batch_first=True, norm_first={pre}"
STACKS = Stacks(
    framework="torch",
    title="torch.nn.Transformer",
    cross="multihead_attn",
    transposed=False,
    packed=_packed,
    split=_split,
    both=f"torch.nn.Transformer({SIZES_OF_BOTH}, {OPTIONS})",
    stack=f"torch.nn.Transformer{{kind}}(torch.nn.Transformer{{kind}}Layer({SIZES}, {OPTIONS}), {{layers}}, norm={{norm}})",
    final_norm="torch.nn.LayerNorm({num_hiddens}, {norm_eps})",
    dictionary="torch.nn.ModuleDict",
    load=lambda model: ("model.load_state_dict(torch.load({path}))", "model.eval()"),
    first="batch_first=True, ",
)
ROW = family_of(STACKS, recognize, "torch.nn.Transformer, torch.nn.TransformerEncoder")
