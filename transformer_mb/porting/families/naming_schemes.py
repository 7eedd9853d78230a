"""Names of tensors: how each framework writes the canonical names, and how all of these are read back.

Reading knows every spelling whatever the container, since users rename; writing uses the one that our own model of the
framework has, or where it is asked for that of the framework's D2L code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ...parameters import parameter_shapes
from ..formats.wrappers import SILENT
from ..model import Arrays


@dataclass(frozen=True, kw_only=True)
class NamingScheme:
    """The names that one framework's model gives its tensors.

    Attributes:
        separator: between the levels of a name. block: what stands for ``block{i}``; ``{side}`` and ``{number}``
            (empty for the first, then ``_1``) may stand in it. joined: the block is part of the level ``blks``.
        transposed: Linear weights are [in, out]. leaves: the last word by (kind, canonical last word).
        norm_level: a level of its own below ``ln``, in its place. side: what stands for ``encoder`` and ``decoder``.
        pooler: what stands for that level.
        shared: a shared tensor has its canonical name alone (``once``), is listed under each of its names (``each``), or has
            the first of them by the alphabet, as in frameworks that walk a model's attributes in this order (``first``).
        table_as_is: an output that is tied to an embedding keeps the table's layout [V, D] in a file of [in, out].
    """

    separator: str = "."
    block: str = "block{i}"
    joined: bool = False
    transposed: bool = False
    leaves: tuple[tuple[tuple[str, str], str], ...] = ()
    norm_level: str | None = None
    side: str = "{side}"
    pooler: str = "pooler"
    shared: str = "once"
    table_as_is: bool = False


VARS = (
    (("linear", "weight"), "vars/0"),
    (("linear", "bias"), "vars/1"),
    (("norm", "weight"), "vars/0"),
    (("norm", "bias"), "vars/1"),
    (("embedding", "weight"), "vars/0"),
)
GAMMA = ((("norm", "weight"), "gamma"), (("norm", "bias"), "beta"))
KERNEL = ((("linear", "weight"), "kernel"), (("norm", "weight"), "scale"), (("embedding", "weight"), "embedding"))
NAMING_SCHEMES = {
    "torch": NamingScheme(shared="each"),
    "npz": NamingScheme(),
    "safetensors": NamingScheme(),
    "paddle": NamingScheme(transposed=True, shared="each", table_as_is=True),
    "mxnet": NamingScheme(block="{i}", leaves=GAMMA, shared="each"),
    "keras": NamingScheme(
        separator="/",
        block="{side}_block{number}",
        transposed=True,
        leaves=VARS,
        pooler="layers/pooler",
        shared="first",
    ),
    "flax": NamingScheme(separator="/", block="{i}", transposed=True, leaves=KERNEL, shared="first"),
}
# What D2L's own classes call them where that is something else.
D2L_SCHEMES = {
    "paddle": NamingScheme(block="{i}", transposed=True, shared="each", table_as_is=True),
    "keras": NamingScheme(  # of Keras 2
        separator="/", block="{side}_block{number}", transposed=True, leaves=VARS, side="layers/transformer_{side}"
    ),
    "flax": NamingScheme(separator="/", joined=True, transposed=True, leaves=KERNEL, norm_level="LayerNorm_0"),
}
# Words whose weight is [in, out] whatever the container, and those that only the container tells.
KERNELS = {"kernel", "_kernel", "vars/0"}
TRANSPOSED_FORMATS = {name for name, scheme in NAMING_SCHEMES.items() if scheme.transposed and not scheme.leaves}
LEAVES = {"gamma": "weight", "scale": "weight", "kernel": "weight", "embeddings": "weight", "beta": "bias"}
LEAVES |= {"_kernel": "weight", "_embeddings": "weight"}  # Keras 3 in a TensorFlow checkpoint
SIDES = {"transformer_encoder": "encoder", "transformer_decoder": "decoder"}
BLOCK = re.compile(r"(?:block)?(\d+)|(?:encoder|decoder)_?block(?:_(\d+))?|transformer_?block(?:_(\d+))?")
NORMS, EMBEDDINGS = {"ln", "norm", "embedding_norm"}, {"embedding", "pos_embedding", "relative_bias", "type_embedding"}


class Meaning(NamedTuple):
    """The canonical name, and whether the array lies transposed."""

    name: str
    transposed: bool


def kind_of(canonical: str) -> str:
    """``norm``, ``embedding`` or ``linear``."""
    layer = canonical.split(".")[-2] if "." in canonical else canonical
    return "norm" if layer in NORMS else "embedding" if layer in EMBEDDINGS else "linear"


def is_matrix(canonical: str) -> bool:
    """Tell whether the tensor is a Linear's weight, which frameworks keep either way round."""
    return canonical.endswith(".weight") and kind_of(canonical) == "linear"


def canonical_name(native: str, format_name: str) -> Meaning:
    """Return the meaning of a native name; one that means nothing comes back with its levels joined by dots."""
    levels, leaf = _levels(native)
    kind = kind_of(".".join([*levels[-1:], leaf]))
    if leaf.startswith("vars/"):
        word = {"vars/0": "weight", "vars/1": "bias"}.get(leaf, leaf)
    elif leaf == "embedding" and kind == "embedding":
        word = "weight"
    else:
        word = LEAVES.get(leaf, leaf)
    matrix = kind == "linear" and word == "weight"
    transposed = matrix and (leaf in KERNELS or format_name in TRANSPOSED_FORMATS)
    return Meaning(".".join([*levels, word]), transposed)


def _levels(native: str) -> tuple[list[str], str]:
    """The levels above the last word, in canonical spelling, and the last word."""
    parts = re.split(r"[./]", native.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
    if len(parts) > 2 and parts[-2] == "vars":
        parts[-2:] = [f"vars/{parts[-1]}"]
    if len(parts) > 2 and parts[-1] == "value":  # an nnx variable
        parts.pop()
    *levels, leaf = parts
    while levels and levels[0] in SILENT:
        levels.pop(0)
    canonical: list[str] = []
    for number, level in enumerate(levels):
        if number == 0:
            level = SIDES.get(level, level)
        if level.startswith("blks_") and level[5:].isdecimal():
            canonical += ["blks", f"block{int(level[5:])}"]
        elif canonical and canonical[-1] == "blks" and (match := BLOCK.fullmatch(level)):
            canonical.append(f"block{int(next((group for group in match.groups() if group), 0))}")
        elif re.fullmatch(r"(LayerNorm|layer_norm|layer_normalization)(_\d+)?", level) and canonical:
            canonical.append("ln")
        else:
            canonical.append(level)
    return canonical, leaf


def native_name(canonical: str, scheme: NamingScheme, block_names: str | None = None) -> str:
    """The framework's name of a canonical tensor."""
    *levels, leaf = canonical.split(".")
    kind = kind_of(canonical)
    leaf = dict(scheme.leaves).get((kind, leaf), leaf)
    native: list[str] = []
    for level in levels:
        if native and native[-1] == "blks" and level.startswith("block"):
            i = int(level.removeprefix("block"))
            if scheme.joined:
                native[-1] = f"blks_{i}"
                continue
            number = f"_{i}" if i else ""
            level = (block_names or scheme.block).format(i=i, side=levels[0], number=number)
        native.append(scheme.norm_level if level == "ln" and scheme.norm_level else level)
    if native[0] in ("encoder", "decoder"):
        native[0] = scheme.side.format(side=native[0])
    elif native[0] == "pooler":
        native[0] = scheme.pooler
    return scheme.separator.join([*native, leaf])


SOURCE, TARGET, OUTPUT = "encoder.embedding.weight", "decoder.embedding.weight", "decoder.dense.weight"
BIAS = "decoder.dense.bias"
INNER = "decoder.dense.embedding.weight"  # of an output that holds the embedding itself


def table_of(config: TransformerConfig) -> str:
    """The canonical name of the tensor that is shared, where one is."""
    return SOURCE if config.share_embeddings else TARGET


def under_each_name(config: TransformerConfig, weights: Arrays) -> dict[str, np.ndarray]:
    """A shared tensor under each of its names, in the order of ``state_dict``."""
    names = parameter_shapes(config.replace(share_embeddings=False, tie_output=False))
    shared = {name: table_of(config) for name in (TARGET, OUTPUT)}
    return {name: weights[name if name in weights else shared[name]] for name in names}


def first_names(config: TransformerConfig, scheme: NamingScheme) -> dict[str, str]:
    """Return by canonical name its stand-in where a framework walks attributes by the alphabet, decoder before encoder."""
    if scheme.shared != "first" or not (config.share_embeddings or config.tie_output):
        return {}
    if not config.tie_output:
        return {SOURCE: TARGET}
    # Numbered variables begin at 0, which is the bias where the output has no weight of its own.
    numbered = {BIAS: OUTPUT} if ("linear", "bias") in dict(scheme.leaves) else {}
    return {table_of(config): INNER, **numbered}


def under_own_names(weights: dict[str, np.ndarray], format_name: str) -> dict[str, np.ndarray]:
    """``first_names`` undone: a shared table has the name of the first layer that uses it."""
    scheme = NAMING_SCHEMES.get(format_name)
    first = INNER if INNER in weights else TARGET
    if scheme is None or scheme.shared != "first" or first not in weights:
        return weights
    encoder = any(name.startswith("encoder.") for name in weights)
    own = {first: SOURCE if encoder and SOURCE not in weights else TARGET}
    if first == INNER and OUTPUT in weights and weights[OUTPUT].ndim == 1:
        own[OUTPUT] = BIAS
    return {own.get(name, name): array for name, array in weights.items()}


def untied(weights: dict[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Drop the second name of a tensor that two layers share; equal to the last bit is taken for shared."""
    notes = []
    table = SOURCE if SOURCE in weights else TARGET
    for field, second in (("share_embeddings", TARGET), ("tie_output", OUTPUT)):
        first = table if field == "share_embeddings" or TARGET not in weights else TARGET
        if first == second or first not in weights or second not in weights or settings.get(field) is False:
            continue
        if np.array_equal(weights[first], weights[second]):
            weights = {name: array for name, array in weights.items() if name != second}
            notes.append(f"{second} equals {first} in every bit: read as one shared tensor ({field}).")
        elif settings.get(field):
            raise PortError(f"{field} is set, but {second} and {first} differ.")
    return weights, notes


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
