"""From a model to files: what ``--to`` may name, and writing it into an empty folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import PortError
from ..exports import EXPORTS
from ..families import DEFAULT, FAMILIES, OF_HUGGING_FACE, Family, d2l
from ..families.marian_tokenizers import without_tokenizers
from ..formats import FORMATS
from ..model import USUAL_BETAS, NativeFile, PortedModel
from ..safety.port_errors import not_installed
from ..settings import betas_of
from .config_beside import write_beside

CARRYING = ("canonical", *(name for name, row in FORMATS.items() if row.optimizer and row.writable))
KEEP_BETAS = ("torch", "paddle")  # whose optimizers take them from the file over what a training sets
UNTOLD_BETAS = (
    f"The optimizer's state was written for betas = {USUAL_BETAS}, since nothing says others: betas in the settings can."
)
FOLDERS = {name: row for name, row in {**FAMILIES, **EXPORTS}.items() if row.kind != "tensors"}


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is written: a container of a family's tensors, a family's folder, or an export, which has no ``format``."""

    name: str
    title: str
    family: Family
    format: str | None = None


def find_target(name: str) -> Target:
    """Raises PortError with all that there is, and what is missing for the one that was named."""
    writable = {row.name: row for row in FORMATS.values() if row.writable}
    families = {row.name: row for row in (*FAMILIES.values(), *EXPORTS.values()) if row is not DEFAULT}
    if name not in writable and name not in families:
        raise PortError(f"to must be one of {', '.join([*writable, *families])}, got {name!r}. {OF_HUGGING_FACE}")
    format_name = name if name in writable else families[name].format
    title = writable[name].title if name in writable else families[name].title
    target = Target(name=name, title=title, format=format_name, family=families.get(name, DEFAULT))
    requires = FORMATS[format_name].requires if format_name else EXPORTS[name].requires if name in EXPORTS else ()
    missing = [package for package in requires if importlib.util.find_spec(package) is None]
    if missing:
        raise PortError(f"Writing {target.title} takes {', '.join(missing)}, {not_installed(missing)}")
    return target


def check_names(settings: Mapping[str, Any], target: Target) -> None:
    """Refuse settings about names where the target has names of its own, and names that nobody could read back."""
    own = [setting for setting in ("block_names", "keras_version") if setting in settings]
    if own and (target.format is None or target.family is not DEFAULT):
        raise PortError(f"{own[0]} is for a container of this project's own tensors, but {target.title} has fixed names.")
    if "keras_version" in settings and target.format != "keras":
        raise PortError(f"keras_version is for keras, got it for {target.name}.")
    if target.format is not None and target.family is DEFAULT:
        d2l.check_block_names(target.format, settings)


class Written(NamedTuple):
    """Whether the optimizer's state came along, and notes of what the target does not hold."""

    optimizer: bool
    notes: tuple[str, ...]


def write_target(model: PortedModel, target: Target, place: Path, settings: Mapping[str, Any]) -> Written:
    """Write at ``place``, a name in an empty folder."""
    if target.format is None:
        place.mkdir()
        target.family.module.write(model, place)
        return _dropped(model, target, optimizer=target.name == "canonical", vocabularies=True)
    native = native_file(model, target, settings)
    FORMATS[target.format].module.write(place, native)
    write_beside(place, native, model.config)
    written = _dropped(model, target, optimizer=native.optimizer is not None, vocabularies=False)
    untold = native.optimizer is not None and native.betas is None and target.format in KEEP_BETAS
    return written._replace(notes=(*written.notes, UNTOLD_BETAS)) if untold else written


def native_file(model: PortedModel, target: Target, settings: Mapping[str, Any]) -> NativeFile:
    assert target.format is not None
    native = target.family.module.write(model, target.format, settings)
    native = replace(native, betas=betas_of(settings) or native.betas)
    return native if FORMATS[target.format].optimizer else replace(native, optimizer=None)


def _dropped(model: PortedModel, target: Target, optimizer: bool, vocabularies: bool) -> Written:
    notes = []
    if model.optimizer is not None and not optimizer:
        notes.append(f"The optimizer's state was dropped: it travels in {', '.join(CARRYING)}, not in {target.name}.")
    if (
        target.name == "canonical"
        and model.config.architecture == "encoder_decoder"
        and None
        in (
            model.source_vocabulary,
            model.target_vocabulary,
        )
    ):
        notes.append(
            "Vocabularies did not come along, without which no text can be translated: name them in the settings (config) as "
            "source_vocabulary and target_vocabulary."
        )
    if target.name == "marian" and (note := without_tokenizers(model)):
        notes.append(note)
    if model.source_vocabulary is not None and not vocabularies:
        notes.append("The vocabularies stay behind: this file holds tensors alone.")
    return Written(optimizer and model.optimizer is not None, tuple(notes))
