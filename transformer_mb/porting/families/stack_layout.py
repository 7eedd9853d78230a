"""Places of the stacks in a file of torch.nn.Transformer or paddle.nn.Transformer, and what lies around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import PortError
from ..kinds import Settings
from ..model import Arrays

# A layer of a stack, whatever holds it: ``encoder.layers.0``, ``transformer_encoder.layers.0``, ``blocks.0`` of a ModuleList.
LAYER = re.compile(r"^(?P<stem>(?:.*\.)?)\d+\.linear1\.weight$")
# The setting that names a layer around the stacks, which is also its name when we write it, and its canonical name.
AROUND = {
    "source_embedding": "encoder.embedding",
    "target_embedding": "decoder.embedding",
    "source_positions": "encoder.pos_embedding",
    "target_positions": "decoder.pos_embedding",
    "source_norm": "encoder.norm",
    "target_norm": "decoder.norm",
    "output": "decoder.dense",
}
OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class StackLayout:
    """``stems``: by side, what stands before the numbers of its layers; ``around``: native tensors by canonical name."""

    stems: Mapping[str, str]
    around: Mapping[str, str]

    @property
    def single(self) -> str | None:
        """The side of a file that has one stack."""
        return next(iter(self.stems)) if len(self.stems) == 1 else None

    def inner(self, native: str) -> tuple[str, str] | None:
        """The side of a stack's tensor, and its name from ``layers.`` or ``norm.`` on."""
        for side, stem in self.stems.items():
            if native.startswith(stem) and re.match(r"\d+\.", rest := native.removeprefix(stem)):
                return side, f"layers.{rest}"
            outer = stem.removesuffix("layers.")
            if stem.endswith("layers.") and re.fullmatch(r"norm\.(weight|bias)", rest := native.removeprefix(outer)):
                return (side, rest) if native.startswith(outer) else None
        return None

    def width(self, tensors: Arrays) -> int:
        """D, of the first layer's normalization, which torch and paddle always give a scale."""
        stem = next(iter(self.stems.values()))
        return next(
            (array.size for name, array in tensors.items() if re.match(rf"{re.escape(stem)}\d+\.norm1\.weight$", name)), 0
        )


def stems_of(names: Iterable[str]) -> list[str]:
    """Return what stands before the numbers of the layers, once for each stack."""
    return list(dict.fromkeys(match["stem"] for name in names if (match := LAYER.match(name))))


def layout_of(tensors: Arrays, settings: Settings, cross: str) -> StackLayout:
    """``cross``: what the framework calls the second attention of a decoder. Raises PortError that names what is amiss."""
    stems = stems_of(tensors)
    crossed = [stem for stem in stems if any(re.match(rf"{re.escape(stem)}\d+\.{cross}\.", name) for name in tensors)]
    plain = [stem for stem in stems if stem not in crossed]
    if not stems:
        raise PortError("Layers must be called layers.0.linear1.weight and so on, got none.")
    if len(crossed) > 1 or len(plain) > 1:
        listed = ", ".join(f"{stem}* ({'with' if stem in crossed else 'without'} cross-attention)" for stem in sorted(stems))
        raise PortError(f"There must be one encoder, one decoder, or one of each, got the stacks {listed:.300}.")
    if crossed and not plain:
        raise PortError(
            f"The layers {crossed[0]}* have cross-attention ({cross}), which takes an encoder, and the file has no other stack."
        )
    sides = {"decoder" if settings.get("architecture") == "decoder" and not crossed else "encoder": plain[0]}
    layout = StackLayout(stems={**sides, **({"decoder": crossed[0]} if crossed else {})}, around={})
    return StackLayout(stems=layout.stems, around=_around(tensors, settings, layout.single))


def _around(tensors: Arrays, settings: Settings, single: str | None) -> dict[str, str]:
    around: dict[str, str] = {}
    for setting, layer in AROUND.items():
        native = _named(tensors, setting, settings)
        if not native:
            continue
        side, _, rest = layer.partition(".")
        if single == "encoder" and setting == OUTPUT:
            raise PortError(
                f"output names {next(iter(native.values()))}, which takes a decoder, but the file has one stack without "
                'cross-attention. Say "architecture": "decoder" if it is a language model that is called with a causal mask; '
                "if it is an encoder, leave output out and name the layer with ignore."
            )
        for leaf, name in native.items():
            # Of a single stack the settings may speak of either side.
            around[f"{single or side}.{rest}.{leaf}"] = name
    return around


def _named(tensors: Arrays, setting: str, settings: Settings) -> dict[str, str]:
    """Return by last word the tensors of the layer that a setting names; a bare nn.Parameter is a weight."""
    name = settings.get(setting, setting if f"{setting}.weight" in tensors else None)
    if name is None:
        return {}
    name = str(name)
    layer = name.removesuffix(".weight")
    if f"{layer}.weight" not in tensors:
        if name not in tensors:
            raise PortError(f"{setting} names {name}, but the file holds no tensor {name} or {layer}.weight.")
        return {"weight": name}
    return {leaf: f"{layer}.{leaf}" for leaf in ("weight", "bias") if f"{layer}.{leaf}" in tensors}


def flat_table(array: np.ndarray) -> np.ndarray:
    """[rows, D], of a table that its owner gave axes of one, as [1, T, D], [T, 1, D] or [1, 1, T, D]."""
    sizes = [size for size in array.shape if size != 1]
    return array.reshape(sizes) if array.ndim > 2 and len(sizes) == 2 else array
