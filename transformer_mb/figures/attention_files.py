"""The file of ``translate --attention``: JSON lines for programs, or pictures for people, as its ending says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PictureError
from ..files.whole_file import check_new, replaced_file
from ..inference.attention import SentenceAttention, attention_of
from ..inference.translation import Translator
from .attention import attention_figure
from .files import ENDINGS, as_svg, check_figure_path, save_figure, save_page
from .kind import Attention

LINES_ENDINGS = (".jsonl", ".json")
ONE_EACH = (".png", ".svg")  # files that hold one sentence
MOST = 200  # sentences drawn; a picture takes a second or so
FIELDS = {
    "weights": "decoder_cross",
    "encoder": "encoder",
    "decoder": "decoder_self",
}  # of a line, by Backend.attention's names
Write = Callable[[Sequence[str], Sequence[str]], None]


def check_attention_path(path: Path | None, force: bool, never: Iterable[Path | str | None] = ()) -> None:
    """Find out before any work what cannot be written after it, the files of further lines included."""
    check_figure_path(path, "--attention", LINES_ENDINGS, force, never)
    if path is not None and path.suffix.lower() in ONE_EACH and not force:
        for number in range(2, MOST + 1):
            check_new(numbered_path(path, number))


def numbered_path(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_stem(f"{path.stem}-{number}")


@contextmanager
def attention_file(path: Path | None, translator: Translator) -> Iterator[Write]:
    """A function to call with lines and their translations, as often as there are more of them; None writes nothing."""
    if path is None:
        yield lambda lines, translations: None
    elif path.suffix.lower() in ENDINGS:
        with _pictures(path, translator) as write:
            yield write
    else:
        with replaced_file(path) as file:

            def write_rows(lines: Sequence[str], translations: Sequence[str]) -> None:
                for line, translation in zip(lines, translations, strict=True):
                    row = json.dumps(_row(translator, line, translation), ensure_ascii=False)
                    file.write(row.encode("utf-8") + b"\n")

            yield write_rows


def _row(translator: Translator, line: str, translation: str) -> dict[str, Any]:
    """``source`` and ``target`` tokens, and the ``weights`` [layer][head][target][source] of the cross-attention.

    ``encoder`` [layer][head][source][source] and ``decoder`` [layer][head][input][input] are those of self-attention, where
    ``inputs`` are the tokens that the decoder read.
    """
    if (attention := attention_of(translator, line, translation)) is None:
        return {"source": [], "target": [], "weights": [], "inputs": [], "encoder": [], "decoder": []}
    weights = {
        field: [layer.astype(float).round(6).tolist() for layer in attention.weights[kind]] for field, kind in FIELDS.items()
    }
    return {"source": attention.source, "target": attention.target, "inputs": attention.inputs, **weights}


@contextmanager
def _pictures(path: Path, translator: Translator) -> Iterator[Write]:
    """A figure for each sentence with all three kinds of attention.

    HTML holds them all, one below the other. PNG and SVG hold one: those of the second line on go to FILE-2, FILE-3, ...
    """
    drawn: list[str] = []
    page, number = path.suffix.lower() == ".html", 0

    def write(lines: Sequence[str], translations: Sequence[str]) -> None:
        nonlocal number
        for line, translation in zip(lines, translations, strict=True):
            number += 1
            if (attention := attention_of(translator, line, translation)) is None:
                continue
            if number > MOST:
                raise PictureError(
                    f"At most {MOST} sentences are drawn, got line {number}. {LINES_ENDINGS[0]} files hold any number."
                )
            figure = sentence_figure(attention, translation, translator.config.compat_decode != "d2l")
            if page:
                drawn.append(as_svg(figure))
            else:
                save_figure(figure, numbered_path(path, number))

    yield write
    if page:
        save_page(drawn, path)


def sentence_figure(attention: SentenceAttention, translation: str, causal: bool = True) -> Any:
    """Draw the three kinds of attention; ``causal``: the decoder saw nothing of what comes after."""
    past, weights = np.tri(len(attention.inputs), dtype=bool) if causal else None, attention.weights
    kinds = [
        Attention("cross-attention, translation to source", attention.target, attention.source, weights["decoder_cross"]),
        Attention("encoder self-attention", attention.source, attention.source, weights["encoder"]),
        Attention("decoder self-attention", attention.inputs, attention.inputs, weights["decoder_self"], past),
    ]
    return attention_figure(kinds, f"{' '.join(attention.source[:-1])}  →  {translation}")
