"""Settings of a training: a published recipe, then a file, then flags, the later overriding the earlier."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..config import TransformerConfig
from ..data.padding import check_limits
from ..decoding.beam_search import LENGTH_PENALTY, check_search
from ..decoding.coverage_penalty import check_coverage_penalty
from ..errors import ConfigError
from ..fields import check_field_types, check_names
from ..files.pipes import open_to_read
from ..files.regular import LARGEST
from ..inference.text_model import TOO_LONG
from ..inference.translation import Translator
from ..presets import ARCHITECTURES, BOTH_SIDES, PRESETS, RECIPES, check_name, on_both_sides
from ..training_options import DATA, DECODING, EITHER, MODEL, NONE_AS_ZERO, RUN, TRAINING
from .recipe import TrainingRecipe


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """See ``Translator``; as ``evaluate`` takes them, and with its defaults. Raises ConfigError."""

    beam: int = 1
    length_penalty: float = LENGTH_PENALTY
    coverage_penalty: float = 0.0
    max_steps: int | None = None
    too_long: str = "cut"

    def __post_init__(self) -> None:
        check_field_types(self)
        check_search(self.beam, self.length_penalty, 1)
        check_coverage_penalty(self.coverage_penalty)
        check_limits(max_steps=self.max_steps)
        if self.too_long not in TOO_LONG:
            raise ConfigError(f"too_long must be one of {', '.join(TOO_LONG)}, got {self.too_long!r}.")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], places: Mapping[str, str] | None = None) -> DecodingOptions:
        """Make the options of a file's [decoding]; ``places`` names the tables where other options belong."""
        check_names("field(s) of [decoding]", given, (field.name for field in dataclasses.fields(cls)), places)
        values: dict[str, Any] = {name: None if value == 0 and name in NONE_AS_ZERO else value for name, value in given.items()}
        return cls(**values)

    def translator(self, like: Translator) -> Translator:
        """Return a translator of the same model and vocabularies that decodes by these options."""
        vocabularies = like.source_vocabulary, like.target_vocabulary
        return Translator(like.backend, like.model, *vocabularies, max_steps=self.max_steps, too_long=self.too_long)


TABLES = ("model", "training", "data", "decoding")
WHOLE_NUMBERS = ("save_every", "save_every_steps", "processes")
MODEL_OPTIONS = (*BOTH_SIDES, *MODEL)
TOP = "the top level, above the tables"


def places(here: str) -> dict[str, str]:
    """Return where each option belongs in a file, but for those of ``here``."""
    tables = {"[model]": MODEL_OPTIONS, "[data]": DATA, TOP: RUN, "[training]": TRAINING, "[decoding]": DECODING}
    return {name: place for place, names in tables.items() if place != here for name in names}


@dataclass
class Settings:
    """Tables as a file has them: ``model`` (configuration fields; ``num_layers`` and ``num_heads`` of both sides),
    ``training`` (recipe fields), ``data``, ``decoding`` and ``run`` (``DATA``, ``DECODING`` and ``RUN`` of
    ``training_options``; the last at the top level)."""

    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = on_both_sides(self.model)

    def over(self, other: Settings) -> Settings:
        """Return these settings, and the other's where these say nothing."""
        merged = {item.name: {**getattr(other, item.name), **getattr(self, item.name)} for item in fields(self)}
        for names in EITHER:
            if any(self.training.get(name) for name in names):
                merged["training"] |= {name: self.training.get(name) for name in names}
        return Settings(**merged)

    @property
    def preset(self) -> str | None:
        name = self.run.get("preset")
        return check_name(name) if name else None

    def recipe(self) -> TrainingRecipe:
        """The preset's recipe with what was changed."""
        published = RECIPES[self.preset] if self.preset else {}
        check_names("field(s) of [training]", self.training, TRAINING, places("[training]"))
        changed = {name: None if value == 0 and name in NONE_AS_ZERO else value for name, value in self.training.items()}
        for one, other in EITHER:
            if changed.get(other) is not None:
                published = {**published, one: None}  # the default, or the preset's
        return TrainingRecipe.from_dict({**published, **changed})

    def decoding_options(self) -> DecodingOptions:
        return DecodingOptions.from_dict(self.decoding, places("[decoding]"))

    def shares_embeddings(self) -> bool:
        """Tell whether both sides are to have one vocabulary, as the settings or the preset say."""
        return bool({**ARCHITECTURES[self.preset or "d2l"], **self.model}.get("share_embeddings"))

    def config(self, **from_data: Any) -> TransformerConfig:
        """The configuration for vocabularies of the sizes and special ids in ``from_data``."""
        given = set(self.model) - set(from_data)  # those are refused below
        check_names("field(s) of [model]", given, MODEL_OPTIONS, places("[model]"))
        architecture = self.model.get("architecture", "encoder_decoder")
        if architecture != "encoder_decoder":
            raise ConfigError(f"architecture must be encoder_decoder to be trained on sentence pairs, got {architecture!r}.")
        if fixed := sorted(set(self.model) & set(from_data)):
            raise ConfigError(f"[model] must leave out {', '.join(fixed)}: the vocabularies decide.")
        return PRESETS[self.preset or "d2l"](**from_data, **self.model)


def _text(path: Path) -> str:
    """Read a file or a pipe, but not one without an end; raises OSError, ValueError."""
    with open_to_read(path) as file:
        content = file.read(LARGEST["configuration"] + 1)
    if len(content) > LARGEST["configuration"]:
        raise ValueError(f"it has more than {LARGEST['configuration']:,} bytes")
    return content.decode("utf-8-sig")


def read_toml(path: Path) -> Settings:
    """Read a file of settings; raises ConfigError that names what is unknown or wrong."""
    try:
        tables = tomllib.loads(_text(path))
    except FileNotFoundError:
        raise ConfigError(f"There is no configuration file {path}.") from None
    except (ValueError, RecursionError) as error:  # ValueError too for a number with thousands of digits
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error).removesuffix(".")
        why = "it holds a number with thousands of digits" if "integer string conversion" in why else why
        raise ConfigError(f"{path} must be TOML, but it is not: {why}. A file of sentence pairs goes to --data.") from None
    _check_size(tables, path)
    check_names(f"table(s) and key(s) of {path}", tables, (*TABLES, *RUN), places(TOP))
    for name in TABLES:
        if not isinstance(tables.setdefault(name, {}), dict):
            raise ConfigError(f"{path}: {name} must be a table, got {tables[name]!r}.")
    _move(tables["data"], "pipeline", tables["training"], path)  # each may stand in either place
    _move(tables["model"], "preset", tables, path)
    settings = Settings(**{name: tables[name] for name in TABLES}, run={name: tables[name] for name in RUN if name in tables})
    _check_data(settings, path)
    return settings


def _check_size(tables: dict[str, Any], path: Path) -> None:
    """TOML's whole numbers have 64 bits; of one with thousands of digits Python could not even say what it is."""
    waiting: list[tuple[str, Any]] = [("the file", tables)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else ((name, one) for one in value)
            waiting.extend(inner)
        elif isinstance(value, int) and abs(value) >= 1 << 63:
            raise ConfigError(f"{path}: {name} must be a whole number of at most 64 bits, got one of {value.bit_length()}.")


def _move(table: dict[str, Any], name: str, place: dict[str, Any], path: Path) -> None:
    if name in table and place.setdefault(name, table[name]) != table.pop(name):
        raise ConfigError(f"{path}: {name} must be said once, got {place[name]!r} and another.")


def _check_data(settings: Settings, path: Path) -> None:
    check_names(f"key(s) of [data] in {path}", settings.data, (*DATA, "pipeline"), places("[data]"))
    listed = ("fields", "columns")  # whose readers say what they must be
    texts = {**{f"data.{name}": value for name, value in settings.data.items() if name not in listed}, **settings.run}
    for name, value in texts.items():
        kind = int if name in WHOLE_NUMBERS else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ConfigError(f"{path}: {name} must be {'a whole number' if kind is int else 'a string'}, got {value!r:.80}.")
        if isinstance(value, int) and value < 1:
            raise ConfigError(f"{path}: {name} must be at least 1, got {value}.")
    names = settings.data.get("fields", ["source", "target"])
    if not isinstance(names, list) or [isinstance(one, str) for one in names] != [True, True]:
        raise ConfigError(f"{path}: data.fields must be a list of two strings, got {names!r:.80}.")


def from_checkpoint(trainer: Mapping[str, Any]) -> Settings:
    """The settings that a training was begun with, from its trainer.json."""
    data = trainer.get("data") or {}
    run = {"preset": data.get("preset"), **(data.get("run") or {})}
    return Settings(
        training=dict(trainer.get("recipe") or {}),
        data={name: value for name, value in data.items() if name in DATA},
        decoding=dict(data.get("decoding") or {}),
        run={name: value for name, value in run.items() if name in RUN},
    )
