"""Files of a library's folder that travel with a model, so that the same family has them back as they were."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ...files.regular import LARGEST, read_regular_file
from ..safety.port_errors import system_errors
from .generation import CHANGING, GENERATION, SUPPRESSED
from .hugging_face import ACTIVATIONS, CONFIG

OF_WORDS = (
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "chat_template.*", "merges.txt"),
    *("*vocab*.json", "*vocab*.txt", "*.spm", "*.model"),
)
OF_DECODING = {*CHANGING, *SUPPRESSED}  # which read back would be another model's, or refused


def carried_files(folder: Path, words_given: bool) -> dict[str, bytes]:
    """Read the configuration of a folder, and the files of its tokenizer unless other vocabularies are given."""
    names = [CONFIG, GENERATION]
    if not words_given:
        names += sorted(path.name for path in folder.iterdir() if _of_words(path.name) and path.is_file())
    found = {}
    for name in names:
        if (folder / name).is_file():
            with system_errors(f"{folder / name} cannot be read"):
                found[name] = bytes(read_regular_file(folder / name, LARGEST["vocabulary"]))
    return found


def write_carried(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the tokenizer's files back; names that are none of theirs are a damaged checkpoint's, and are left out."""
    for name, content in files.items():
        if _of_words(name):
            (folder / name).write_bytes(content)


def _of_words(name: str) -> bool:
    plain = name == Path(name).name and not name.startswith(".")
    return plain and any(fnmatchcase(name, pattern) for pattern in OF_WORDS)


def merged_config(
    files: Mapping[str, bytes], made: Mapping[str, Any], modern: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a config.json that was carried, with what is ``made`` of the model where that says something else.

    Settings of decoding are the model's own or another file's, and are not taken from it.
    """
    try:
        values = json.loads(files.get(CONFIG, b"{}"))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return dict(made)
    meant = modern({name: value for name, value in values.items() if value is not None})
    kept = {name: value for name, value in values.items() if name not in OF_DECODING or name in made}
    own = {"architectures"} & set(meant)  # its heads come along
    other = {name: value for name, value in made.items() if name not in own and not _same(meant.get(name), value)}
    return {**kept, **other}


def _same(first: Any, second: Any) -> bool:
    """Tell equal values, and two names of one activation."""
    return first == second or any(first in names and second in names for names in ACTIVATIONS.values())
