"""Which files a model is made of, beside the one that names it: none of them is written over by what is made of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import PortError
from ...files.whole_file import part_of
from ..formats import FORMATS
from ..formats.shards import files_of
from ..settings import VOCABULARIES
from .config_beside import beside
from .sources import resolved


def parts(path: Path) -> list[Path]:
    """The file or folder with what may lie beside it: an optimizer's state, a configuration, the shards of an index."""
    companions = [path.with_suffix(row.companion) for row in FORMATS.values() if row.companion]
    shards = sorted(path.parent.glob(f"{path.stem}.data-*")) if path.suffix == ".index" else []
    listed = [path.parent / name for name in files_of(path)] if path.suffix == ".json" else []
    return [path, beside(path), *companions, *shards, *listed]


def inputs(source: Path, settings: Mapping[str, Any]) -> list[Path]:
    """All that is read with a source: its own parts, and the vocabularies that the settings name."""
    named = [settings.get(name) for name in VOCABULARIES]
    return [source, *parts(resolved(source)), *(Path(one) for one in named if isinstance(one, str))]


def check_apart_from_source(destination: Path, source: Path) -> None:
    """Refuse to write over what is ported, or a part of it."""
    source = resolved(source)
    if destination.exists() and (part_of(destination, parts(source)) or part_of(source, [destination])):
        raise PortError(
            f"The result must go to a place apart from its source, got {destination} for {source}: not even force replaces a "
            "part of it. Name another place."
        )
