"""Options of a Marian model, which lie as YAML in its .npz: what a model is, and what nothing here computes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ..model import NativeFile
from ..safety.port_errors import check_installed

OPTIONS = "special:model.yml"
LONGEST = 1 << 20  # bytes; a file's own are two thousand
SIZES = {
    "num_hiddens": "dim-emb",
    "ffn_num_hiddens": "transformer-dim-ffn",
    "encoder_num_heads": "transformer-heads",
    "decoder_num_heads": "transformer-heads",
    "encoder_num_layers": "enc-depth",
    "decoder_num_layers": "dec-depth",
}
RATES = {
    "dropout": "transformer-dropout",
    "attention_dropout": "transformer-dropout-attention",
    "ffn_dropout": "transformer-dropout-ffn",
}
ACTIVATIONS = {"relu": "relu", "swish": "silu"}  # its gelu is x * sigmoid(1.702 x), which nothing here computes
# Options that change what is computed, and the values with which they do not; the first is what an absent one means.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-preprocess": ("", None),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d", "", None),
    "transformer-postprocess-top": ("", None),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-tied-layers": ([], None),
    "transformer-no-projection": (False,),
    "transformer-train-positions": (False,),
    "transformer-train-position-embeddings": (False,),
    "transformer-decoder-dim-ffn": (0,),
    "right-left": (False,),
    "ulr": (False,),
    "lemma-dim-emb": (0,),
    "factors-combine": ("sum",),
    "output-omit-bias": (False,),
}


def options_of(native: NativeFile) -> dict[str, Any]:
    """Parse the options; raises PortError."""
    check_installed(("yaml",), "Reading a model of Marian's")
    raw = native.tensors[OPTIONS]
    if raw.dtype.itemsize != 1 or raw.size > LONGEST:
        raise PortError(f"{OPTIONS} must be at most {LONGEST} bytes of text, got {raw.size} of {raw.dtype.name}.")
    yaml = importlib.import_module("yaml")
    try:
        options = yaml.safe_load(raw.astype(np.uint8).tobytes().rstrip(b"\0").decode("utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise PortError(f"{OPTIONS} must be YAML, but it is not: {str(error)!r:.200}.") from None
    if not isinstance(options, dict):
        raise PortError(f"{OPTIONS} must hold options by name, got a {type(options).__name__}.")
    return options


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration that the options say; raises PortError by the name of what nothing here computes."""
    for name, values in REQUIRED.items():
        if (got := options.get(name, values[0])) not in values:
            raise PortError(f"{OPTIONS}: {name} must be {values[0]!r} for this family, got {got!r:.60}.")
    fields: dict[str, Any] = {ours: _number(options, theirs, int) for ours, theirs in SIZES.items()}
    fields |= {ours: _number(options, theirs, float) if theirs in options else 0.0 for ours, theirs in RATES.items()}
    sizes = options.get("dim-vocabs")
    if not isinstance(sizes, list) or len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise PortError(f"{OPTIONS}: dim-vocabs must be two whole numbers, got {sizes!r:.60}.")
    activation = options.get("transformer-ffn-activation", "swish")
    if activation not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        raise PortError(f"{OPTIONS}: transformer-ffn-activation must be one of {names}, got {activation!r:.60}.")
    every, source, target = (bool(options.get(f"tied-embeddings{which}")) for which in ("-all", "-src", ""))
    sides = dict(zip(("source_vocab_size", "target_vocab_size"), sizes, strict=True))
    ties = {"share_embeddings": every or source, "tie_output": every or target}
    return {**fields, **sides, **ties, "activation": ACTIVATIONS[activation]}


def _number(options: Mapping[str, Any], name: str, kind: type) -> Any:
    got = options.get(name)
    if isinstance(got, bool) or not isinstance(got, (int, float) if kind is float else int):
        raise PortError(f"{OPTIONS}: {name} must be {'a' if kind is float else 'a whole'} number, got {got!r:.60}.")
    return kind(got)


def text_of(config: TransformerConfig, own: bytes | None) -> np.ndarray:
    """Return the options of a model as Marian's int8 text: ``own``, those that it was read with, where they say the same."""
    fields = {theirs: getattr(config, ours) for ours, theirs in SIZES.items()}
    fields |= {theirs: getattr(config, f"{ours}_rate", getattr(config, ours)) for ours, theirs in RATES.items()}
    both = config.pad_id == config.start_id
    rows = [(config.source_vocab_size or 0) - (1 if both else 0), (config.target_vocab_size or 0) - 1]
    activation = next(theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation)
    every = config.share_embeddings and config.tie_output
    fields |= {"dim-vocabs": rows, "transformer-ffn-activation": activation, "tied-embeddings-all": every}
    fields |= {"tied-embeddings-src": config.share_embeddings and not every, "tied-embeddings": config.tie_output and not every}
    if own is not None:
        wanted = checked({**{name: values[0] for name, values in REQUIRED.items()}, **fields})
        native = NativeFile(format="npz", tensors={OPTIONS: np.frombuffer(own, np.int8)})
        if checked(options_of(native)) == wanted:
            return np.frombuffer(own, np.int8)
    plain = {name: values[0] for name, values in REQUIRED.items()}
    lines = [f"{name}: {_yaml(value)}" for name, value in sorted({**plain, **fields, "version": "v1.12.0"}.items())]
    return np.frombuffer(("\n".join(lines) + "\n").encode() + b"\0", np.int8)


def _yaml(value: Any) -> str:
    """Write a plain value as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return '""' if value == "" else f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
