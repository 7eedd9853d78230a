"""Cross-attention for people (shaded blocks in a terminal) and for programs (JSON lines)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..files.whole_file import replaced_file
from ..printable import printable

if TYPE_CHECKING:
    from ..translation import Translator

SHADES = " ░▒▓█"


class SentenceAttention(NamedTuple):
    """What looked where in one sentence and its translation.

    source, target: tokens, the last of each being <eos>. inputs: what the decoder read, the start token first; step t read
    ``inputs[t]`` and chose ``target[t]``. weights: by kind as ``Backend.attention`` names them, one [H, T, S] a layer.
    """

    source: list[str]
    inputs: list[str]
    target: list[str]
    weights: dict[str, list[np.ndarray]]


def attention_of(translator: Translator, line: str, translation: str) -> SentenceAttention:
    sides = ((translator.source_vocabulary, line), (translator.target_vocabulary, translation))
    source, target = ([*vocabulary.encode(text), vocabulary.eos_id] for vocabulary, text in sides)
    inputs = [translator.model.config.start_id, *target[:-1]]
    arrays = np.array([source]), np.array([len(source)]), np.array([inputs])
    found = translator.backend.attention(translator.model, *arrays)
    read, chosen = (translator.target_vocabulary.tokens(ids) for ids in (inputs, target))
    weights = {kind: [np.asarray(layer[0]) for layer in layers] for kind, layers in found.items()}
    return SentenceAttention(translator.source_vocabulary.tokens(source), read, chosen, weights)


def cross_attention(translator: Translator, line: str, translation: str) -> tuple[list[str], list[str], list[np.ndarray]]:
    """Source tokens, target tokens and for each layer the weights [H, T, S] with which one looks at the other.

    Row t holds the weights with which target token t was chosen; the last is <eos> on both sides.
    """
    found = attention_of(translator, line, translation)
    return found.source, found.target, found.weights["decoder_cross"]


def shade(weight: float) -> str:
    """A weight from 0 to 1 as one of five steps of grey, which need no color."""
    return SHADES[round(weight * (len(SHADES) - 1))] * 3


def attention_table(source: Sequence[str], target: Sequence[str], weights: np.ndarray) -> Any:
    """A rich table: a row for each target token, a column for each source token. weights: [T, S]."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Where each word was looked up (last layer, mean of the heads)", show_lines=False, pad_edge=False)
    table.add_column("")
    for token in source:
        table.add_column(Text(printable(token)), justify="center", overflow="fold")
    for token, row in zip(target, weights, strict=True):
        table.add_row(Text(printable(token)), *(Text(shade(weight)) for weight in row))
    steps = (f"{block} {step / (len(SHADES) - 1):.2f}" for step, block in enumerate(SHADES) if step)
    table.caption = f"weight, rounded: blank 0, {', '.join(steps)}"
    return table


class AttentionFile:
    """One JSON object a line: ``source``, ``target`` tokens, and ``weights`` [layer][head][target][source].

    With path None nothing is written.
    """

    def __init__(self, path: Path | None, translator: Translator):
        self._path = path
        self._translator = translator
        self._file: IO[bytes] | None = None
        self._whole = ExitStack()

    def __enter__(self) -> AttentionFile:
        if self._path is not None:
            self._file = self._whole.enter_context(replaced_file(self._path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._whole.__exit__(kind, error, trace)

    def write(self, lines: Sequence[str], translations: Sequence[str]) -> None:
        if self._file is None:
            return
        for line, translation in zip(lines, translations, strict=True):
            row: dict[str, Any] = {"source": [], "target": [], "weights": []}
            if line.strip():
                source, target, weights = cross_attention(self._translator, line, translation)
                rounded = [layer.astype(float).round(6).tolist() for layer in weights]
                row = {"source": source, "target": target, "weights": rounded}
            self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
