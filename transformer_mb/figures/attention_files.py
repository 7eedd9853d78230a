"""The file of ``translate --attention``: JSON lines for programs, or pictures for people, as its ending says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PictureError
from ..files.whole_file import check_writable
from .attention import Attention, attention_figure, require_matplotlib
from .files import ENDINGS, as_svg, save_figure, save_page
from .sentences import AttentionFile, attention_of

if TYPE_CHECKING:
    from ..translation import Translator

LINES_ENDINGS = (".jsonl", ".json")
MOST = 200  # sentences drawn; a picture takes a second or so


def check_attention_path(path: Path | None) -> None:
    """Find out before a model is loaded what cannot be written."""
    if path is None:
        return
    known = (*LINES_ENDINGS, *ENDINGS)
    if path.suffix.lower() not in known:
        raise PictureError(f"--attention must name a file that ends in one of {', '.join(known)}, got {str(path)!r}.")
    if not path.absolute().parent.is_dir():
        raise PictureError(f"--attention must name a file in a folder that exists, but there is no {path.absolute().parent}.")
    check_writable(path)
    if path.suffix.lower() in ENDINGS:
        require_matplotlib()


def attention_writer(path: Path | None, translator: Translator) -> AttentionFile | AttentionPictures:
    pictures = path is not None and path.suffix.lower() in ENDINGS
    return AttentionPictures(path, translator) if path is not None and pictures else AttentionFile(path, translator)


class AttentionPictures:
    """A figure for each sentence with all three kinds of attention.

    HTML holds them all, one below the other. PNG and SVG hold one: those of the second line on go to FILE-2, FILE-3, ...
    """

    def __init__(self, path: Path, translator: Translator):
        self._path = path
        self._translator = translator
        self._line = 0
        self._drawn: list[str] = []

    def __enter__(self) -> AttentionPictures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and self._path.suffix.lower() == ".html":
            save_page(self._drawn, self._path)

    def write(self, lines: Sequence[str], translations: Sequence[str]) -> None:
        for line, translation in zip(lines, translations, strict=True):
            self._line += 1
            if not line.strip():
                continue
            if self._line > MOST:
                raise PictureError(
                    f"At most {MOST} sentences are drawn, got line {self._line}. {LINES_ENDINGS[0]} files hold any number."
                )
            figure = sentence_figure(self._translator, line, translation)
            if self._path.suffix.lower() == ".html":
                self._drawn.append(as_svg(figure))
            else:
                save_figure(figure, self._numbered())

    def _numbered(self) -> Path:
        return self._path if self._line == 1 else self._path.with_stem(f"{self._path.stem}-{self._line}")


def sentence_figure(translator: Translator, line: str, translation: str) -> Any:
    found = attention_of(translator, line, translation)
    past = None if translator.model.config.compat_decode == "d2l" else np.tri(len(found.inputs), dtype=bool)
    weights = found.weights
    kinds = [
        Attention("cross-attention, translation to source", found.target, found.source, weights["decoder_cross"]),
        Attention("encoder self-attention", found.source, found.source, weights["encoder"]),
        Attention("decoder self-attention", found.inputs, found.inputs, weights["decoder_self"], past),
    ]
    return attention_figure(kinds, f"{' '.join(found.source[:-1])}  →  {translation}")
