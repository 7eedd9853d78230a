"""D2L's own classes as data: they run a file of D2L's names wherever the configuration is one of theirs."""

from __future__ import annotations

import re
from typing import Any

from ...config import TransformerConfig
from ...errors import PortError
from ..kinds import OwnClasses, Settings
from ..model import NativeFile, PortedModel
from ..safety.port_errors import absent
from ..settings import OF_FEW, usual
from .inferred_fields import inferred_fields
from .naming_schemes import canonical_name, is_matrix

# Packages beside d2l, and whether Linear weights lie [in, out], by format.
REQUIRES = {
    "torch": ("torch",),
    "mxnet": ("mxnet",),
    "paddle": ("paddle",),
    "keras": ("tensorflow", "tf_keras"),
    "tensorflow": ("tensorflow", "tf_keras"),
}
TRANSPOSED = ("paddle", "keras", "tensorflow")
# LayerNorm's default where the file comes from, in flax too. Our own models, which no other has the names of, begin with
# that of TransformerConfig in every framework.
EPSILON = {"torch": 1e-5, "mxnet": 1e-5, "paddle": 1e-5, "keras": 1e-3, "tensorflow": 1e-3, "flax": 1e-6}
OURS = {
    "keras": re.compile(r"(en|de)coder/blks/(en|de)coder_block(_\d+)?/.*/ln/vars/"),
    "flax": re.compile(r"(.+/)?(en|de)coder/blks/\d+/.*/ln/"),
}
FIXED = usual(
    *("architecture", "norm_position", "norm_kind", "norm_affine", "final_norm", "embedding_norm", "activation"),
    *("embedding_scale", "share_embeddings", "tie_output", "position", "sinusoid_layout", "position_offset", "ffn_bias"),
    *OF_FEW,
    *("output_bias", "token_types", "pooler", "compat_decode"),  # in training, which is where they can be compared
)


def differing(config: TransformerConfig, format_name: str) -> dict[str, Any]:
    """The fields in which the configuration is not that of D2L's classes, and what theirs is."""
    fixed = {**FIXED, "norm_eps": EPSILON[format_name]}
    return {name: value for name, value in fixed.items() if getattr(config, name) != value}


def names_ours(native: NativeFile) -> bool:
    """Tell whether the names are those of our own model and of no class of D2L's in this framework."""
    return native.format in OURS and any(OURS[native.format].match(name) for name in native.tensors)


def why_not(model: PortedModel, native: NativeFile, settings: Settings) -> str | None:
    """Say why D2L's classes do not run the tensors of a file, "" when they do, None where there are none of the framework.

    Raises PortError where the tensors are those of D2L's classes and nothing but the settings says otherwise.
    """
    if native.format not in REQUIRES:
        return None
    if names_ours(native):
        return "D2L's own classes have other names"
    theirs = differing(model.config, native.format)
    of_tables = {name for name, seen in model.shown.items() if seen}
    shown = {*inferred_fields(model.weights, model.config.to_dict()), *of_tables}
    chosen = {name: value for name, value in theirs.items() if name not in shown}
    if chosen and len(chosen) == len(theirs) and not native.settings and "trained_by" not in settings:
        listed = "; ".join(f"{name} is {value} there, not {getattr(model.config, name)}" for name, value in chosen.items())
        raise PortError(
            f"The tensors are those of D2L's own classes, which compute something else than the settings say: {listed}. Leave "
            'these out of the settings; or say "trained_by": "transformer_mb" if the file is of a model of this project or of '
            "code of your own that does compute so, which is then taken on trust."
        )
    if theirs:
        listed = ", ".join(f"{name} = {getattr(model.config, name)}" for name in theirs)
        return f"D2L's own classes have no {listed}"
    if any(lies_transposed(native, name) != (native.format in TRANSPOSED) for name in native.tensors if _matrix(native, name)):
        return "D2L's own classes have Linear weights that lie the other way round"
    if "linear_layout" in settings:
        return "linear_layout was given, of which D2L's own classes know nothing"
    missing = absent(("d2l", *REQUIRES[native.format]))
    return f"D2L's own classes could not: {', '.join(missing)} is not installed" if missing else ""


def lies_transposed(native: NativeFile, name: str) -> bool:
    return canonical_name(name, native.format).transposed


def _matrix(native: NativeFile, name: str) -> bool:
    return is_matrix(canonical_name(name, native.format).name)


OWN = OwnClasses(runs="proof.reference_runs.d2l_book:run", fixed=(*FIXED, "norm_eps"), why_not=why_not)
