"""Content of ``--config``: that which no weight file holds."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import parameters
from ..checkpoint.files import read_vocabulary
from ..config import TransformerConfig
from ..data.subwords import SUFFIXES, SubwordVocabulary
from ..data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ..errors import CheckpointError, ConfigError, DataError, PortError, WeightsError
from ..files.regular import read_regular_text
from .safety.port_errors import port_errors

VOCABULARIES = ("source_vocabulary", "target_vocabulary")
# Beside the fields of a TransformerConfig.
EXTRA = {
    "num_heads": "of encoder and decoder alike",
    "source_vocabulary": "a file: a canonical vocabulary, a JSON list of tokens, a tokenizer.json or a SentencePiece .model",
    "target_vocabulary": "likewise",
    "ignore": "names of tensors to leave out, or what such names begin with",
    "weights": "of a file that holds the tensors of several models, such as averaged ones, the entry to take: `ema`",
    "betas": "Adam's, such as `[0.9, 0.98]`, where a file keeps them (`.pt`, `.pdopt`) and its source does not tell them",
    "linear_layout": "`out_in` or `in_out`, where the container does not tell",
    "block_names": "how the result is to call its blocks, such as `block{i}`; `d2l`: all names as in D2L's own classes "
    "(of Keras 2)",
    "keras_version": "`2` has `keras` written for Keras 2",
    "source_embedding": "the name of this layer, or bare parameter, around the stacks of torch.nn or paddle.nn",
    "target_embedding": "likewise",
    "source_positions": "likewise, of learned positions",
    "target_positions": "likewise",
    "source_norm": "likewise, of a normalization after the last layer that is called other than `norm`",
    "target_norm": "likewise",
    "output": "likewise, of the projection to the vocabulary; one tensor may be named for two layers",
    "trained_by": "`transformer_mb`: the file has D2L's names but comes from this project or from code of your own. D2L's own "
    "classes then need not agree with the settings, which are taken on trust",
    "drop_decoding": "names of decoding settings of a transformers folder to leave out: they change its tokens, and are not "
    "done here",
    "source_language": "the code of the source's language, of mBART, NLLB and M2M100: `en_XX`",
    "target_language": "likewise of the target",
    "spelled_tokens": "special tokens of a transformers folder that your texts hold, such as `<sep>`: other names of special "
    "tokens are text",
}
DECODING = ("suppress_ids", "compat_decode")  # what a source records of these may be changed
# Switches that most families and libraries do not have.
OF_FEW = ("ffn_gated", "head_size", "num_kv_heads", "attention_scale", "output_scale", "decoder_embedding_norm")
USUAL = {field.name: field.default for field in dataclasses.fields(TransformerConfig)}
FIELDS = tuple(USUAL)


def usual(*names: str) -> dict[str, Any]:
    """Return these fields as a TransformerConfig has them by itself, which are the book's."""
    return {name: USUAL[name] for name in names}


def read_settings(path: Path | None) -> dict[str, Any]:
    """A JSON or TOML file of fields; the config.json of a canonical checkpoint is one. Raises PortError.

    Vocabularies are named by file, relative to this one: a canonical vocabulary, a JSON list of tokens in D2L's order, or a
    tokenizer of subwords.
    """
    if path is None:
        return {}
    try:
        text = read_regular_text(path, "configuration")
        settings = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise PortError(f"The settings {path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise PortError(f"The settings {path} must be JSON, or TOML in a file named .toml: {error}.") from None
    if isinstance(settings, dict) and isinstance(settings.get("config"), dict) and "format" in settings:
        settings = settings["config"]
    if not isinstance(settings, dict):
        raise PortError(f"The settings {path} must be fields and values, got a {type(settings).__name__}.")
    for name in VOCABULARIES:
        if isinstance(settings.get(name), str):
            settings[name] = str(path.parent / settings[name])
    check_settings(settings)
    return settings


def check_settings(settings: Mapping[str, Any]) -> None:
    unknown = sorted(set(settings) - {*FIELDS, *EXTRA})
    if unknown:
        raise PortError(f"Unknown setting(s): {', '.join(unknown)}. There are: {', '.join((*FIELDS, *EXTRA))}.")
    betas_of(settings)
    if not isinstance(settings.get("weights", ""), str):
        raise PortError(f"weights must be the name of an entry of the file, got {settings['weights']!r:.80}.")
    if settings.get("trained_by", "transformer_mb") != "transformer_mb":
        raise PortError(f"trained_by must be transformer_mb, got {settings['trained_by']!r:.80}.")


def betas_of(settings: Mapping[str, Any]) -> tuple[float, float] | None:
    """Adam's two decay rates, where the settings say them."""
    match settings.get("betas"):
        case None:
            return None
        case [int() | float() as one, int() | float() as two] if 0.0 <= one < 1.0 and 0.0 <= two < 1.0:
            return float(one), float(two)
    raise PortError(f"betas must be two numbers from 0 to below 1, got {settings['betas']!r:.80}.")


def names_of(settings: Mapping[str, Any], name: str) -> list[str]:
    """A setting that lists names."""
    names = settings.get(name) or []
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise PortError(f"{name} must be a list of names, got {names!r:.80}.")
    return names


def recorded_fields(text: str | None, where: str) -> dict[str, Any]:
    """Read what a file of weights says of its own model: fields of a TransformerConfig, none for None.

    Anything else is refused: a setting of the user's may name other files, which are opened; a foreign file may not.
    """
    try:
        fields = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise PortError(f"{where} must be a JSON object, got {text!r:.80}.")
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise PortError(
            f"{where} must hold fields of a TransformerConfig alone, but it has {', '.join(map(repr, unknown)):.200}: refused."
        )
    return fields


def build_config(
    inferred: Mapping[str, Any],
    settings: Mapping[str, Any],
    assumed: Mapping[str, Any],
    recorded: Mapping[str, Any] = MappingProxyType({}),
) -> TransformerConfig:
    """The configuration, of what the source shows (``inferred``) and records, of what is given, and of what is assumed.

    Raises PortError that names what is missing (the number of heads is in no weight file) or what contradicts.
    """
    if wrong := _differing(inferred, recorded):
        raise PortError(f"What the file records contradicts its own tensors: {wrong}.")
    of_source = {**recorded, **inferred}
    sides = sides_of(of_source)
    given = given_fields(settings, sides)
    if wrong := _differing({name: value for name, value in of_source.items() if name not in DECODING}, given):
        raise PortError(
            f"The settings contradict what the source itself shows or records: {wrong}. Leave them out of the settings; of "
            f"what a source records only {' and '.join(DECODING)} can be changed."
        )
    fields = {**assumed, **of_source, **given}
    missing = [f"{side}_num_heads" for side in sides if f"{side}_num_heads" not in fields]
    if missing:
        raise PortError(
            f"The number of heads is in no weight file and must be given: put num_heads (or {' and '.join(missing)}), a "
            f'divisor of {fields.get("num_hiddens")}, into the settings (config), such as {{"num_heads": 4}}.'
        )
    for side in {"encoder", "decoder"} - set(sides):
        fields.setdefault(f"{side}_num_heads", fields[f"{sides[0]}_num_heads"])
    try:
        return TransformerConfig.from_dict(fields)
    except (ConfigError, TypeError) as error:
        raise PortError(f"The file and the settings give no valid configuration: {error}") from None


def sides_of(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return {"encoder": ("encoder",), "decoder": ("decoder",)}.get(str(fields.get("architecture")), ("encoder", "decoder"))


def given_fields(settings: Mapping[str, Any], sides: tuple[str, ...]) -> dict[str, Any]:
    """The fields that the settings say; num_heads is that of each side."""
    given = {name: value for name, value in settings.items() if name in FIELDS}
    if "num_heads" in settings:
        both = {f"{side}_num_heads": settings["num_heads"] for side in sides}
        if wrong := _differing(given, both):
            raise PortError(f"num_heads speaks of both sides, but beside it {wrong}.")
        given |= both
    return given


def _differing(those: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name} is {those[name]!r:.80}, not {others[name]!r:.80}"
        for name in those
        if name in others and _plain(those[name]) != _plain(others[name])
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def check_sizes(config: TransformerConfig, tensors: int) -> None:
    """Refuse numbers that no tensor of the file bounds, before anything is made of them: a hostile file may say any."""
    with port_errors(WeightsError):
        parameters.check_sizes(config, tensors)


def check_holds(config: TransformerConfig, needed: Mapping[str, Any], what: str) -> None:
    """Refuse to write a model that ``what`` cannot express, naming every field; a tuple lists the values that it can.

    What few models have (``OF_FEW``) is refused unless it is named.
    """
    wrong = []
    for name, values in {**usual(*OF_FEW), **needed}.items():
        value, choices = getattr(config, name), values if isinstance(values, tuple) else (values,)
        if value not in choices:
            wrong.append(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    if wrong:
        raise PortError(f"{what} cannot hold this model: {'; '.join(wrong)}.")


def vocabularies(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``source_vocabulary`` and ``target_vocabulary`` of the settings, as far as they are there."""
    return {name: _vocabulary(name, settings[name]) for name in VOCABULARIES if settings.get(name) is not None}


def _vocabulary(name: str, given: Any) -> Vocabulary:
    if isinstance(given, Vocabulary):
        return given
    try:
        if isinstance(given, str) and given.endswith(SUFFIXES["sentencepiece"]):
            return SubwordVocabulary.from_file(given)
        content = json.loads(read_regular_text(given, "vocabulary")) if isinstance(given, str) else given
        if isinstance(content, list):
            return Vocabulary(content, "d2l", {role: content.index(token) for role, token in SPECIAL_TOKENS.items()})
        if isinstance(given, str) and isinstance(content, dict) and "model" in content:
            return SubwordVocabulary.from_file(given)
        if isinstance(given, str) and isinstance(content, dict) and "tokenizer" in content:
            with port_errors(CheckpointError):
                return read_vocabulary(Path(given))
        return Vocabulary.from_json(json.dumps(content))
    except OSError as error:
        raise PortError(f"The {name} {given} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError, DataError) as error:
        raise PortError(
            f"The {name} must be a vocabulary, or a list of tokens, {', '.join(SPECIAL_TOKENS.values())} among them: {error}."
        ) from None
