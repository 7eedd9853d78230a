"""Writing of a model to files: what ``--to`` may name, and writing it into an empty folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ...errors import PortError
from ..exports import EXPORTS
from ..families import DEFAULT, FAMILIES, OF_HUGGING_FACE
from ..formats import FORMATS
from ..kinds import Family, Format, Settings
from ..model import USUAL_BETAS, PortedModel
from ..safety.port_errors import check_installed
from ..settings import betas_of
from .config_beside import beside, write_beside

WRITABLE = {name: row for name, row in FORMATS.items() if row.write}
NAMED = {name: row for name, row in {**FAMILIES, **EXPORTS}.items() if not row.in_any_container}
FOLDERS = {name: row for name, row in NAMED.items() if not row.format}
ROWS: dict[str, Family | Format] = {**FOLDERS, **WRITABLE}
CARRYING = tuple(name for name, row in ROWS.items() if row.optimizer)
OF_NAMES = ("block_names", *(row.version_setting for row in FORMATS.values() if row.version_setting))  # settings
UNTOLD_BETAS = (
    f"The optimizer's state was written for betas = {USUAL_BETAS}, since nothing says others: betas in the settings can."
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A container of a family's tensors, a family's folder, or an export; the latter two have no ``format``."""

    name: str
    title: str
    family: Family
    format: Format | None = None


def find_target(name: str) -> Target:
    """Find what was named; raises PortError with all that there is, or with the packages that it lacks."""
    if name not in WRITABLE and name not in NAMED:
        raise PortError(f"to must be one of {', '.join([*WRITABLE, *NAMED])}, got {name!r}. {OF_HUGGING_FACE}")
    family = NAMED.get(name, DEFAULT)
    container = WRITABLE.get(family.format or name)
    target = Target(name=name, title=(WRITABLE.get(name) or family).title, format=container, family=family)
    requires = container.requires if container else (family.requires or ()) if family.kind == "export" else ()
    check_installed(requires, f"Writing {target.title}")
    return target


def check_names(settings: Settings, target: Target) -> None:
    """Refuse settings about names where the target has names of its own, and names that could not be read back."""
    own = [setting for setting in OF_NAMES if setting in settings]
    if target.format and target.family.check_names:
        target.family.check_names(target.format, settings)
    elif own:
        raise PortError(f"{own[0]} is for a container of this project's own tensors, but {target.title} has fixed names.")


def fields_at(place: Path, model: PortedModel, target: Target) -> dict[str, str]:
    """Return what stands in the lines that load a model from there (see ``Loading``)."""
    companion = place.with_suffix((target.format.companion if target.format else None) or ".none")
    paths = {"path": place, "config": beside(place), "companion": companion}
    fields = {name: repr(value) for name, value in model.config.to_dict().items()}
    return {**fields, **{name: repr(str(path)) for name, path in paths.items()}}


class Written(NamedTuple):
    """The result of writing: whether the optimizer's state came along, and notes of what the target does not hold."""

    optimizer: bool
    notes: tuple[str, ...]


def write_target(model: PortedModel, target: Target, place: Path, settings: Settings) -> Written:
    """Write at ``place``, a name in an empty folder."""
    notes = []
    if target.format is None:
        place.mkdir()
        target.family.write(model, place)
        carried, untold = target.family.optimizer and model.optimizer is not None, False
    else:
        native = target.family.write(model, target.format.name, settings)
        native = replace(native, betas=betas_of(settings) or native.betas)
        native = native if target.format.optimizer else replace(native, optimizer=None)
        assert target.format.write
        target.format.write(place, native)
        write_beside(place, native, model.config)
        carried = native.optimizer is not None
        untold = carried and native.betas is None and target.format.keeps_betas
    heads = [head for head in model.heads if head.task or not head.made_by]
    if heads and not target.family.holds_heads(model):
        parts = ", ".join(head.task or "parts that are not known" for head in heads)
        notes.append(f"Parts for tasks stay behind, which {target.title} has no place for: {parts}.")
    if model.optimizer is not None and not carried:
        notes.append(f"The optimizer's state was dropped: it travels in {', '.join(CARRYING)}, not in {target.name}.")
    if model.generation is not None and not target.family.generation:
        notes.append("The settings of decoding (generation_config.json) stay behind: this holds none.")
    if note := target.family.note(model):
        notes.append(note)
    if model.source_vocabulary is not None and target.format:
        notes.append("The vocabularies stay behind: this file holds tensors alone.")
    return Written(carried, (*notes, *([UNTOLD_BETAS] if untold else [])))
