"""Names and layouts of Marian's tensors: matrices [in, out], vectors as rows [1, n], and no row for the start of decoding."""

from __future__ import annotations

import numpy as np

from ...config import TransformerConfig

TABLES = {"encoder.embedding.weight": "encoder_Wemb", "decoder.embedding.weight": "decoder_Wemb"}
SHARED, OUTPUT, BIAS = "Wemb", "decoder_ff_logit_out_W", "decoder_ff_logit_out_b"
LEAVES = {"weight": "W", "bias": "b"}
LAYERS = {"attention": "self", "attention1": "self", "attention2": "context"}
NORMS = {
    **{("encoder", f"addnorm{i}"): part for i, part in enumerate(("self_Wo", "ffn_ffn"), 1)},
    **{("decoder", f"addnorm{i}"): part for i, part in enumerate(("self_Wo", "context_Wo", "ffn_ffn"), 1)},
}


def foreign_name(canonical: str, shared: bool) -> str:
    """Return Marian's name of a tensor."""
    if canonical in TABLES:
        return SHARED if shared else TABLES[canonical]
    if canonical.startswith("decoder.dense."):
        return OUTPUT if canonical.endswith("weight") else BIAS
    side, _, block, layer, *parts, leaf = canonical.split(".")
    path = f"{side}_l{int(block.removeprefix('block')) + 1}"
    if layer == "ffn":
        return f"{path}_ffn_{LEAVES[leaf]}{parts[0].removeprefix('dense')}"
    if layer in LAYERS:
        return f"{path}_{LAYERS[layer]}_{LEAVES[leaf]}{parts[0][-1]}"
    return f"{path}_{NORMS[side, layer]}_ln_{'scale' if leaf == 'weight' else 'bias'}"


def has_start(name: str, config: TransformerConfig) -> bool:
    """Tell whether the last row of a tensor stands for the start of decoding."""
    of_target = name.startswith("decoder.dense") or name == "decoder.embedding.weight"
    return of_target or (name == "encoder.embedding.weight" and config.pad_id == config.start_id)


def with_start(name: str, array: np.ndarray, config: TransformerConfig) -> np.ndarray:
    """Return a tensor with the row of zeros that the canonical form has for the start."""
    return np.concatenate([array, np.zeros_like(array[:1])]) if has_start(name, config) and array.ndim else array


def turned(name: str, array: np.ndarray) -> np.ndarray:
    """Return a tensor as the other side has it: matrices transposed, and a vector [n] as a row [1, n]."""
    if name in TABLES:
        return array
    return array.reshape(1, -1) if array.ndim == 1 else array.reshape(-1) if _is_vector(name) else np.ascontiguousarray(array.T)


def _is_vector(name: str) -> bool:
    return name.endswith(".bias") or ".ln." in name
