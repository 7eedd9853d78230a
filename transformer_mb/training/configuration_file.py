"""The settings of a run as a complete TOML file, which gives the same run again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ..registry import requested_name
from ..training_options import DATA, DECODING, MODEL, NONE_AS_ZERO, RUN, RUN_DEFAULTS, TRAINING
from .settings import Settings

ANY_VOCABULARY = 1 << 20  # tokens: only for checking the settings; the run's own sizes come from its data


def configuration_text(settings: Settings) -> str:
    """Every option with its value in this run; raises ConfigError where the settings contradict one another."""
    config = settings.config(source_vocab_size=ANY_VOCABULARY, target_vocab_size=ANY_VOCABULARY)
    recipe = settings.recipe()
    run = {**RUN_DEFAULTS, **settings.run, "backend": requested_name(settings.run.get("backend"))}
    model = {**config.to_dict(), "suppress_ids": settings.model.get("suppress_ids")}
    lines = [
        *_table(RUN, run),
        *("[model]", *_table(MODEL, model)),
        *("[training]", *_table({name: row.words for name, row in TRAINING.items()}, recipe.to_dict())),
        *("[data]", *_table(DATA, settings.data)),
        *("[decoding]", *_table(DECODING, asdict(settings.decoding_options()))),
    ]
    return "\n".join(lines)


def example() -> str:
    """examples/train.toml."""
    head = """\
# Every option of `transformer-mb train`, with its default; all may be left out but data. `transformer-mb train
# --print-config` writes such a file of the options that it is given. In place of none stands 0, or a comment.
# Made by `python -m transformer_mb.training.configuration_file`.

"""
    return head + configuration_text(Settings(run={"backend": "numpy"}))


def _table(words: Mapping[str, str], values: Mapping[str, Any]) -> Iterator[str]:
    """An option that is left out stands as a comment."""
    for name, sentence in words.items():
        value = values.get(name)
        yield f"# {sentence}"
        if value is None and name in NONE_AS_ZERO:
            value = 0
        yield f"# {name} = (not set)" if value is None else f"{name} = {_literal(value)}"
    yield ""


def _literal(value: Any) -> str:
    """Numbers, strings and lists of them are written in TOML as in JSON, but for one control character."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


if __name__ == "__main__":
    print(example(), end="")
