"""The tables of docs/TRAINING.md, made from the options themselves: ``python -m transformer_mb.training.tables``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..config import TransformerConfig
from ..training_options import DECODING, MODEL, NONE_AS_ZERO, TRAINING
from .settings import DecodingOptions


def documented_tables() -> str:
    """The tables with their headings, as Markdown."""
    model = {name: (default_of(TransformerConfig, name), words) for name, words in MODEL.items()}
    training = {name: (row.default, row.words) for name, row in TRAINING.items()}
    decoding = {name: (default_of(DecodingOptions, name), words) for name, words in DECODING.items()}
    tables = {
        "model (`[model]` of a file)": model,
        "training (`[training]` of a file)": training,
        "scoring the validation at the end (`[decoding]` of a file)": decoding,
    }
    return "\n".join(line for title, options in tables.items() for line in _table(title, options)).strip()


def default_of(declared: Any, name: str) -> Any:
    return next(field.default for field in dataclasses.fields(declared) if field.name == name)


def _table(title: str, options: Mapping[str, tuple[Any, str]]) -> Iterator[str]:
    yield from (f"| {title} | default | what |", "| --- | --- | --- |")
    for name, (default, words) in options.items():
        escaped = words.replace("<", "&lt;")  # Markdown would take <eos> for HTML
        yield f"| `{name}` | {_shown(name, default)} | {escaped} |"
    yield ""


def _shown(name: str, default: Any) -> str:
    if default is None:
        return "none" if name in NONE_AS_ZERO else ""
    if default == ():
        return ""
    return str(list(default) if isinstance(default, tuple) else default)


if __name__ == "__main__":
    print(documented_tables())
