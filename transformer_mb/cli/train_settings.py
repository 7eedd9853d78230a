"""What ``train`` is to do: a published recipe, then the file, then the flags, the later overriding the earlier."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..config import TransformerConfig
from ..errors import ConfigError
from ..fields import check_names
from ..presets import ARCHITECTURES, PRESETS, RECIPES, check_name
from ..training import TrainingRecipe

DATA_FIELDS = ("source", "target", "fields", "validation", "validation_target")
RUN_FIELDS = ("out", "backend", "device", "dtype", "save_every")
TABLES = ("model", "training", "data")
NONE_AS_ZERO = ("num_steps", "num_examples", "clip_norm")  # TOML and flags have no None: 0 says it


@dataclass
class Settings:
    """Tables as a file has them: ``model`` (configuration fields and ``preset``), ``training`` (recipe fields),
    ``data`` (DATA_FIELDS) and ``run`` (RUN_FIELDS, which stand at the file's top level)."""

    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    def over(self, other: Settings) -> Settings:
        """These settings, and the other's where these say nothing."""
        return Settings(**{item.name: {**getattr(other, item.name), **getattr(self, item.name)} for item in fields(self)})

    def recipe(self) -> TrainingRecipe:
        """The preset's recipe with what was changed."""
        preset = self.model.get("preset")
        published = RECIPES.get(check_name(preset), {}) if preset else {}
        changed = {name: None if value == 0 and name in NONE_AS_ZERO else value for name, value in self.training.items()}
        return TrainingRecipe.from_dict({**published, **changed})

    def shares_embeddings(self) -> bool:
        """Whether both sides are to have one vocabulary, as the file or the preset says."""
        published = ARCHITECTURES[check_name(self.model.get("preset", "d2l"))]
        return bool({**published, **self.model}.get("share_embeddings"))

    def config(self, **from_data: int) -> TransformerConfig:
        """The configuration for vocabularies of the sizes and special ids in ``from_data``."""
        preset = check_name(self.model.get("preset", "d2l"))
        changes = {name: value for name, value in self.model.items() if name != "preset"}
        check_names("field(s) of [model]", changes, ["preset", *(item.name for item in fields(TransformerConfig))])
        fixed = sorted(set(changes) & set(from_data))
        if fixed:
            raise ConfigError(f"[model] must leave out {', '.join(fixed)}: the vocabularies decide.")
        return PRESETS[preset](**from_data, **changes)


def read_toml(path: Path) -> Settings:
    """Raises ConfigError that names what is unknown or wrong."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"There is no configuration file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} must be TOML, but it is not: {error}.") from None
    check_names(f"table(s) and key(s) of {path}", tables, (*TABLES, *RUN_FIELDS))
    for name in TABLES:
        if not isinstance(tables.get(name, {}), dict):
            raise ConfigError(f"{path}: {name} must be a table, got {tables[name]!r}.")
    run = {name: tables[name] for name in RUN_FIELDS if name in tables}
    settings = Settings(**{name: tables.get(name, {}) for name in TABLES}, run=run)
    _check_data(settings, path)
    return settings


def _check_data(settings: Settings, path: Path) -> None:
    if "pipeline" in settings.data:  # it may stand in either table
        settings.training.setdefault("pipeline", settings.data.pop("pipeline"))
    check_names(f"key(s) of [data] in {path}", settings.data, (*DATA_FIELDS, "pipeline"))
    texts = {**{f"data.{name}": value for name, value in settings.data.items() if name != "fields"}, **settings.run}
    for name, value in texts.items():
        kind = int if name == "save_every" else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ConfigError(f"{path}: {name} must be {'a whole number' if kind is int else 'a string'}, got {value!r}.")


def from_checkpoint(trainer: Mapping[str, Any]) -> Settings:
    """The settings that a training was begun with, from its trainer.json."""
    data, run = (trainer.get("data") or {}), (trainer.get("data") or {}).get("run") or {}
    kept_data = {name: value for name, value in data.items() if name in DATA_FIELDS}
    kept_run = {name: value for name, value in run.items() if name in RUN_FIELDS}
    return Settings(training=dict(trainer.get("recipe") or {}), data=kept_data, run=kept_run)
