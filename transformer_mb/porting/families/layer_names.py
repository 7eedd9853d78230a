"""Names of a foreign model's layers, as tables; the same table reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PROJECTIONS = {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "out_proj"}


def projections(ours: str, theirs: str) -> dict[str, str]:
    """The rows of one attention."""
    return {f"{ours}.{projection}": f"{theirs}.{name}" for projection, name in PROJECTIONS.items()}


@dataclass(frozen=True, kw_only=True)
class LayerNames:
    """Canonical layers and what they are called.

    Attributes:
        block: the path of a block, with ``{side}`` and ``{number}`` in it. blocks: by side, its layers.
        outer: layers outside of the blocks, or whole names of tensors.
    """

    block: str
    blocks: Mapping[str, Mapping[str, str]]
    outer: Mapping[str, str]

    def layer(self, canonical: str) -> str:
        """The foreign name of a layer."""
        if canonical in self.outer:
            return self.outer[canonical]
        side, _, block, layer = canonical.split(".", 3)
        return self.block.format(side=side, number=block.removeprefix("block")) + self.blocks[side][layer]

    def tensor(self, canonical: str) -> str:
        """The foreign name of a tensor."""
        if canonical in self.outer:
            return self.outer[canonical]
        layer, _, leaf = canonical.rpartition(".")
        return f"{self.layer(layer)}.{leaf}"

    def canonical(self, foreign: str) -> str:
        """The name of a tensor that ``tensor`` gives this one; what means nothing stays as it is."""
        layer, _, leaf = foreign.rpartition(".")
        outer = {theirs: ours for ours, theirs in self.outer.items()}
        if layer in outer:
            return f"{outer[layer]}.{leaf}"
        path = self.block.replace(".", r"\.").format(side="(encoder|decoder)", number=r"(\d+)")
        if match := re.fullmatch(f"{path}(.+)", layer):
            side, number, inner = match.groups()
            blocks = {theirs: ours for ours, theirs in self.blocks[side].items()}
            return f"{side}.blks.block{number}.{blocks.get(inner, inner)}.{leaf}"
        return foreign
