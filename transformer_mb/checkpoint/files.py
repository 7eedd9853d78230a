"""The files of a checkpoint folder: their names, and reading and writing each of them."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..config import TransformerConfig
from ..data.vocabulary import Vocabulary
from ..errors import CheckpointError, ConfigError, DataError
from ..files.regular import read_regular_text
from ..files.whole_folder import current_folder

FORMAT = "transformer_mb"
FORMAT_VERSION = 1
CONFIG, MODEL = "config.json", "model.safetensors"
VOCABULARIES = {"source": "source_vocabulary.json", "target": "target_vocabulary.json"}
OPTIMIZER, TRAINER, LAST = "optimizer.safetensors", "trainer.json", "last.safetensors"
FILES = (CONFIG, MODEL, *VOCABULARIES.values(), OPTIMIZER, TRAINER, LAST)


def check_folder_name(folder: Any) -> None:
    """Refuse what names no folder: ``Path("")`` would be the current one. Raises ConfigError."""
    if not isinstance(folder, str | PathLike) or not isinstance(name := fspath(folder), str) or not name:
        raise ConfigError(f"The folder of a checkpoint must be a path, got {folder!r:.80}.")


def holds_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint of any version, readable or not in its other files."""
    try:
        return read_object(current_folder(folder) / CONFIG).get("format") == FORMAT
    except CheckpointError:
        return False


def described_config(config: TransformerConfig) -> str:
    """The text of config.json."""
    return json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, "config": config.to_dict()}, indent=2)


def write_text(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")


def _read_text(path: Path) -> str:
    kind = "configuration" if path.name.endswith(CONFIG) else "training state" if path.name == TRAINER else "vocabulary"
    try:
        return read_regular_text(path, kind)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: {path.parent} is not a complete checkpoint.") from None
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} must be UTF-8 text, but byte {error.start} is not: {error.reason}.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from None


def read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} must be JSON, but it is not: {error}.") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object, but it holds a {type(value).__name__}.")
    return value


def read_config(path: Any) -> TransformerConfig:
    """The configuration in a checkpoint's config.json, or in the one beside a ported file. Raises CheckpointError."""
    return config_of(read_object(Path(path)), Path(path))


def config_of(described: dict[str, Any], path: Path) -> TransformerConfig:
    """The configuration in what ``path`` holds."""
    if described.get("format") != FORMAT:
        raise CheckpointError(f'{path} must say "format": "{FORMAT}", got {described.get("format")!r}.')
    version = described.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CheckpointError(f"{path} must say a format_version from 1 to {FORMAT_VERSION}, got {version!r}.")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format_version {version}, but this transformer_mb reads versions up to {FORMAT_VERSION}: "
            "a newer transformer_mb wrote it and can read it."
        )
    try:
        return TransformerConfig.from_dict(described.get("config", {}))
    except (ConfigError, TypeError) as error:
        raise CheckpointError(f"{path} holds no valid configuration: {error}") from None


def read_vocabulary(path: Path) -> Vocabulary | None:
    if not path.exists():
        return None
    try:
        return Vocabulary.from_json(_read_text(path))
    except DataError as error:
        raise CheckpointError(f"{path} holds no valid vocabulary: {error}") from None
