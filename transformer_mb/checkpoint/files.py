"""The files of a checkpoint folder: their names, and reading and writing each of them."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..config import TransformerConfig
from ..data.subwords import SUFFIXES, SubwordVocabulary, vocabulary_of
from ..data.vocabulary import Vocabulary
from ..decoding.generation_config import GenerationConfig
from ..errors import CheckpointError, ConfigError, DataError
from ..files.regular import LARGEST, is_address, read_regular_file, read_regular_text
from ..files.whole_folder import current_folder

FORMAT = "transformer_mb"
FORMAT_VERSION = 1
CONFIG, MODEL, GENERATION = "config.json", "model.safetensors", "generation_config.json"
VOCABULARIES = {"source": "source_vocabulary.json", "target": "target_vocabulary.json"}
OPTIMIZER, TRAINER, LAST = "optimizer.safetensors", "trainer.json", "last.safetensors"
# Beside a vocabulary of subwords: what makes them of text, a file of one kind or the other.
TOKENIZERS = tuple(f"{side}_tokenizer{suffixes[0]}" for side in VOCABULARIES for suffixes in SUFFIXES.values())
KEPT = "kept-*.safetensors"
HEADS, CARRIED = "heads.safetensors", "carried.safetensors"  # of a ported model: see ``beside``
OF_PORT = (GENERATION, HEADS, CARRIED)
OF_TRAINING = (OPTIMIZER, TRAINER, LAST, KEPT)
FILES = (CONFIG, MODEL, GENERATION, *VOCABULARIES.values(), *TOKENIZERS, *OF_TRAINING, HEADS, CARRIED)


def kept_name(step: int) -> str:
    """The file of the weights that are kept beside the model, of the validation after ``steps`` steps."""
    return KEPT.replace("*", str(step))


def kept_steps(folder: Path) -> list[int]:
    """Return the steps of the validations whose weights a folder keeps, the earliest first."""
    found = (path.name.removeprefix("kept-").removesuffix(".safetensors") for path in folder.glob(KEPT))
    return sorted(int(step) for step in found if step.isdecimal())


def check_folder_name(folder: Any) -> None:
    """Refuse what names no folder: ``Path("")`` would be the current one. Raises ConfigError."""
    if not isinstance(folder, str | PathLike) or not isinstance(name := fspath(folder), str) or not name:
        raise ConfigError(f"The folder of a checkpoint must be a path, got {folder!r:.80}.")
    if is_address(name):
        raise ConfigError(f"The folder of a checkpoint must be a path on this machine, got the address {name}.")


def holds_checkpoint(folder: Path) -> bool:
    """Tell whether a folder has a checkpoint of any version, readable or not in its other files."""
    try:
        return read_object(current_folder(folder) / CONFIG).get("format") == FORMAT
    except CheckpointError:
        return False


def check_nothing_lost(folder: Path, *, vocabularies: bool, training: bool, ported: bool = False) -> None:
    """Refuse a folder with vocabularies, the state of a training or what a port brought, where none are to replace them."""
    place = current_folder(folder)
    lost = []
    if not vocabularies and any((place / name).exists() for name in VOCABULARIES.values()):
        lost.append("vocabularies")
    if not training and any(any(place.glob(name)) for name in OF_TRAINING):
        lost.append("the state of its training")
    if not ported and any((place / name).exists() for name in OF_PORT):
        lost.append("parts for tasks, settings of decoding or files of the library that it is from")
    if lost and holds_checkpoint(folder):
        raise CheckpointError(
            f"The folder must be a new one, but {folder} holds a checkpoint with {' and '.join(lost)}, which would be lost: "
            "nothing is written. Name another folder, or replace it with force."
        )


def check_destination(folder: Path) -> None:
    """Refuse to save where something lies that is not a checkpoint."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"{folder} must be a folder, but it is a file.")
    if folder.resolve().is_mount():  # "." alone would look like one
        raise CheckpointError(f"{folder} is a mount point, which cannot be replaced as a whole: name a folder inside it.")
    if folder.is_dir() and any(folder.iterdir()) and not holds_checkpoint(folder):
        raise CheckpointError(
            f"{folder} must be a new folder, an empty one or a checkpoint, but it holds other files: nothing is written."
        )


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
        got = f"{described.get('format')!r}{_whose(described, path)}"
        raise CheckpointError(f'{path} must say "format": "{FORMAT}", got {got}.')
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


def _whose(described: dict[str, Any], path: Path) -> str:
    """Say what a file of another format seems to be, as the end of a sentence; or ""."""
    if path.name != CONFIG or "model_type" not in described:
        return ""
    return (
        f": it is a Hugging Face folder's, of model_type {described['model_type']!r:.60}. Where port reads such a model, "
        f"`transformer-mb port {path.parent} NEW --to canonical` makes a checkpoint of it"
    )


def read_generation(path: Path) -> GenerationConfig | None:
    """Read generation_config.json, None where there is none. Raises CheckpointError."""
    if not path.exists():
        return None
    try:
        return GenerationConfig.from_dict(read_object(path))
    except ConfigError as error:
        raise CheckpointError(f"{path} holds no valid settings of decoding: {error}") from None


def write_vocabularies(folder: Path, **vocabularies: Vocabulary | None) -> None:
    """Write the vocabularies of the sides ``source`` and ``target``, with their tokenizers."""
    for side, vocabulary in vocabularies.items():
        if vocabulary is not None:
            write_text(folder / VOCABULARIES[side], vocabulary.to_json())
            write_tokenizer(folder, side, vocabulary)


def write_tokenizer(folder: Path, side: str, vocabulary: Vocabulary | None) -> None:
    """Write the tokenizer of a vocabulary of subwords; other vocabularies have none."""
    if isinstance(vocabulary, SubwordVocabulary):
        (folder / f"{side}_tokenizer{vocabulary.suffix}").write_bytes(vocabulary.content)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary of words or of subwords, whose tokenizer lies beside it. Raises CheckpointError."""

    def tokenizer(suffix: str) -> bytes:
        file = path.with_name(path.name.replace("vocabulary.json", f"tokenizer{suffix}"))
        try:
            return bytes(read_regular_file(file, LARGEST["vocabulary"]))
        except FileNotFoundError:
            raise CheckpointError(f"{file} is missing: {path.name} says that it makes the tokens.") from None
        except OSError as error:
            raise CheckpointError(f"{file} cannot be read: {error.strerror or error}.") from None

    try:
        return vocabulary_of(_read_text(path), tokenizer)
    except DataError as error:
        raise CheckpointError(f"{path} holds no valid vocabulary: {error}") from None
