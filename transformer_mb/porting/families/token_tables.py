"""Token tables and the output projection of a folder: which of them are one, and what a file stores of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from .description import Named, TokenTables
from .hugging_face import Fields

HEAD = "head"
OURS = {"encoder": "encoder.embedding.weight", "decoder": "decoder.embedding.weight", HEAD: "decoder.dense.weight"}


def taken(tables: TokenTables, tensors: Named, folder: Path) -> Named:
    """Take the tables of ``tensors`` out, by side and ``head``: one that is not there is the one that it is tied to."""
    shared = tensors.pop(tables.shared, None)
    found = {side: tensors.pop(name, shared) for side, name in tables.sides.items()}
    missing = [name for side, name in tables.sides.items() if found[side] is None]
    if missing:
        either = f"{tables.shared} or " if tables.shared else ""
        raise PortError(f"{folder} must hold {either}{' and '.join(missing)}, but it does not.")
    if tables.output:
        found[HEAD] = tensors.pop(tables.output, found["decoder"])
    return found  # type: ignore[return-value]


def fields_of(tables: TokenTables, found: Mapping[str, np.ndarray], fields: Fields) -> dict[str, Any]:
    """Return the fields of a configuration that the tables show; those that are equal by chance stay apart."""
    pad_id, tied, shared = fields.get("pad_token_id", int), *_said(tables, fields)
    empty = all(table.ndim == 2 and 0 <= pad_id < len(table) and not table[pad_id].any() for table in found.values())
    shown: dict[str, Any] = {"padding_vector_zero": empty}
    if {"encoder", "decoder"} <= set(found):
        shown["share_embeddings"] = shared and _same(found["encoder"], found["decoder"])
    if HEAD in found:
        shown["tie_output"] = tied and _same(found["decoder"], found[HEAD])
    return shown


def stored(found: Mapping[str, np.ndarray], config: TransformerConfig) -> Named:
    """Return what the canonical form stores of the tables, by canonical name."""
    absent = {"decoder" if config.share_embeddings else "", HEAD if config.tie_output else ""}
    return {OURS[side]: table for side, table in found.items() if side not in absent}


def check_ties(tables: TokenTables, fields: Fields, config: TransformerConfig, tensors: Mapping[str, np.ndarray]) -> None:
    """Refuse what a loader would see otherwise; raises PortError.

    transformers ignores the tables of a file that its config.json says are one, and makes up those said to be apart.
    """
    tied, shared = _said(tables, fields)
    apart = [name for name in tables.sides.values() if name not in tensors] if len(tables.sides) > 1 else []
    if tables.share and not shared and apart:
        raise PortError(f"{fields.path}: {tables.share} is false, but the file holds no {' and '.join(apart)}.")
    if tables.output and not tied and tables.output not in tensors:
        raise PortError(f"{fields.path}: tie_word_embeddings is false, but the file holds no {tables.output}.")
    if tables.output and tied and not config.tie_output:
        raise PortError(
            f"{fields.path}: tie_word_embeddings is true, but {tables.output} is not the decoder's embedding table."
        )
    if len(tables.sides) > 1 and tied and shared and not config.share_embeddings:
        said = tables.share or "tie_word_embeddings"
        raise PortError(f"{fields.path}: {said} is true, but the two embedding tables differ.")


def foreign(tables: TokenTables, weights: Named, config: TransformerConfig) -> Named:
    """Return weights with the tables as a file of the family has them: the shared one once, those apart each by its name."""
    tensors = dict(weights)
    if tables.bias in tensors:
        tensors[tables.bias] = tensors[tables.bias].reshape(1, -1)
    if tables.shared and config.share_embeddings:
        tensors[tables.shared] = tensors.pop(tables.sides["encoder"])
        if not config.tie_output:
            # transformers then unties all three tables.
            tensors.update({name: tensors[tables.shared].copy() for name in tables.sides.values()})
    return tensors


def check_written(tables: TokenTables, config: TransformerConfig, title: str) -> None:
    """Refuse ties that the family's fields cannot say; raises PortError."""
    if config.architecture != "encoder_decoder" or tables.share or not tables.shared:
        return
    if config.tie_output and not config.share_embeddings:
        raise PortError(f"A {title} cannot hold this model: share_embeddings must be True where tie_output is, got False.")
    if config.source_vocab_size != config.target_vocab_size:
        sizes = f"{config.source_vocab_size} and {config.target_vocab_size}"
        raise PortError(f"A {title} cannot hold this model: both vocabularies must have one size, got {sizes}.")


def _said(tables: TokenTables, fields: Fields) -> tuple[bool, bool]:
    """Tell whether config.json says that the output is the decoder's table, and that both sides have one."""
    tied = fields.get("tie_word_embeddings", bool, tables.tied_by_itself)
    return tied, bool(tables.shared) and (fields.get(tables.share, bool, True) if tables.share else tied)


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return first is second or np.array_equal(first, second)
