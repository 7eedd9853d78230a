"""What ``--config`` says: that which no weight file holds."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import TransformerConfig
from ..data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ..errors import ConfigError, DataError, PortError

VOCABULARIES = ("source_vocabulary", "target_vocabulary")
# Beside the fields of a TransformerConfig.
EXTRA = {
    "num_heads": "of encoder and decoder alike",
    "source_vocabulary": "a file: a canonical vocabulary, or a JSON list of tokens",
    "target_vocabulary": "likewise",
    "ignore": "names of tensors to leave out, or what such names begin with",
    "linear_layout": "`out_in` or `in_out`, where the container does not tell",
    "block_names": "how `--to` is to call the blocks, such as `block{i}`",
    "keras_version": "`2` has `--to keras` write for Keras 2",
    "source_embedding": "the name of this layer around torch.nn.Transformer or paddle.nn.Transformer",
    "target_embedding": "likewise",
    "source_positions": "likewise, of learned positions",
    "target_positions": "likewise",
    "output": "likewise, of the projection to the vocabulary",
    "drop_decoding": "decoding settings of a MarianMT folder that change its tokens and may stay behind",
}
LONGEST = 1 << 16  # positions whose table is made from the number alone
FIELDS = tuple(field.name for field in dataclasses.fields(TransformerConfig))


def read_settings(path: Path | None) -> dict[str, Any]:
    """A JSON or TOML file of fields; the config.json of a canonical checkpoint is one. Raises PortError.

    Vocabularies are named by file, relative to this one: a canonical vocabulary, or a JSON list of tokens in D2L's order.
    """
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise PortError(f"The settings {path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise PortError(
            f"The settings {path} must be JSON, or TOML in a file named .toml, but they are not: {error}."
        ) from None
    if isinstance(found, dict) and isinstance(found.get("config"), dict) and "format" in found:
        found = found["config"]
    if not isinstance(found, dict):
        raise PortError(f"The settings {path} must be fields and values, but a {type(found).__name__} came.")
    for name in VOCABULARIES:
        if isinstance(found.get(name), str):
            found[name] = str(path.parent / found[name])
    check_settings(found)
    return found


def check_settings(settings: Mapping[str, Any]) -> None:
    unknown = sorted(set(settings) - {*FIELDS, *EXTRA})
    if unknown:
        raise PortError(f"Unknown setting(s): {', '.join(unknown)}. There are: {', '.join((*FIELDS, *EXTRA))}.")


def made_config(found: Mapping[str, Any], settings: Mapping[str, Any], assumed: Mapping[str, Any]) -> TransformerConfig:
    """The configuration: what is assumed, what was found in the file, and over both what the settings say.

    Raises PortError that names what is missing: the number of heads is in no weight file.
    """
    fields = {**assumed, **found}
    heads = settings.get("num_heads", fields.pop("num_heads", None))
    for side in ("encoder", "decoder"):
        if heads is not None:
            fields[f"{side}_num_heads"] = heads
    fields.update({name: value for name, value in settings.items() if name in FIELDS})
    sides = {"encoder": ("encoder",), "decoder": ("decoder",)}.get(str(fields.get("architecture")), ("encoder", "decoder"))
    missing = [f"{side}_num_heads" for side in sides if f"{side}_num_heads" not in fields]
    if missing:
        raise PortError(
            f"The number of heads is in no weight file and must be given: put num_heads (or {' and '.join(missing)}), a "
            f'divisor of {fields.get("num_hiddens")}, into a file such as {{"num_heads": 4}} and name it with --config.'
        )
    for side in {"encoder", "decoder"} - set(sides):
        fields[f"{side}_num_heads"] = fields[f"{sides[0]}_num_heads"]
    try:
        return TransformerConfig.from_dict(fields)
    except (ConfigError, TypeError) as error:
        raise PortError(f"The file and the settings give no valid configuration: {error}") from None


def check_sizes(config: TransformerConfig, tensors: int) -> None:
    """Refuse numbers that no tensor of the file bounds, before anything is made of them: a hostile file may say any."""
    for side in ("encoder", "decoder"):
        layers = getattr(config, f"{side}_num_layers")
        if getattr(config, f"has_{side}") and layers > tensors:
            raise PortError(f"{side}_num_layers must be at most the {tensors} tensors of the file, but {layers} came.")
    if config.position == "sinusoidal" and config.max_len > LONGEST:
        raise PortError(f"max_len must be at most {LONGEST} to be ported, but {config.max_len} came.")


def check_agreement(found: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse settings that contradict what names and shapes show."""
    wrong = [
        f"{name} is {found[name]}, not {settings[name]}" for name in found if settings.get(name, found[name]) != found[name]
    ]
    if wrong:
        raise PortError(f"The settings contradict the tensors of the file: {'; '.join(wrong)}.")


def assumption(assumed: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[str, ...]:
    """A note of what was assumed and not said."""
    silent = {name: value for name, value in assumed.items() if name not in settings}
    if not silent:
        return ()
    listed = ", ".join(f"{name} = {value}" for name, value in silent.items())
    return (f"No weight file holds these, so they were assumed; --config changes them: {listed}.",)


def vocabularies(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``source_vocabulary`` and ``target_vocabulary`` of the settings, as far as they are given."""
    return {name: _vocabulary(name, settings[name]) for name in VOCABULARIES if settings.get(name) is not None}


def _vocabulary(name: str, given: Any) -> Vocabulary:
    if isinstance(given, Vocabulary):
        return given
    try:
        content = json.loads(Path(given).read_text(encoding="utf-8")) if isinstance(given, str) else given
        if isinstance(content, list):
            return Vocabulary(content, "d2l", {role: content.index(token) for role, token in SPECIAL_TOKENS.items()})
        return Vocabulary.from_json(json.dumps(content))
    except OSError as error:
        raise PortError(f"The {name} {given} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError, DataError) as error:
        raise PortError(
            f"The {name} must be a vocabulary, or a list of tokens with {', '.join(SPECIAL_TOKENS.values())} among them, but "
            f"it is not: {error}."
        ) from None
