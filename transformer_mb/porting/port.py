"""One port from beginning to end: read, write aside, prove, put in place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import PortError
from .formats import FORMATS
from .origins import origins
from .placing import check_destination, put_in_place, staged
from .proof import prove
from .report import PortReport
from .settings import check_settings, read_settings
from .sources import Source, read_source
from .targets import Target, find_target, write_target


def port(
    source_path: Any,
    destination: Any,
    to: str,
    from_: str | None = None,
    *,
    config: Any = None,
    force: bool = False,
) -> PortReport:
    """Port a model and prove it.

    Args:
        source_path: any readable file or folder; ``from_`` names its format or family, None recognises it.
        destination: a new file or folder. to: a format, a family or an export (see the tables of ``porting``).
        config: what no weight file holds: a mapping, or a JSON or TOML file (see ``settings``).
        force: replace a destination that is there.
    Returns: the report, which holds: the proof has been made.
    Raises:
        PortError: naming what was expected and what came; the destination is then as it was.
    """
    settings = dict(config) if isinstance(config, Mapping) else read_settings(None if config is None else Path(config))
    check_settings(settings)
    target = find_target(to)
    source_path, destination = Path(source_path), Path(destination)
    check_destination(destination, target.format is None, force)
    source = read_source(source_path, from_, settings)
    _check_companion(source, target, destination)
    with staged(destination) as stage:
        report = _ported(source, target, stage / destination.name, destination, settings)
        if not report.holds:
            raise PortError(
                f"The port of {source_path} to {to} does not hold, and nothing is written: {'; '.join(report.proof.failures)}."
            )
        put_in_place(stage, destination, force)
    return report


def _check_companion(source: Source, target: Target, destination: Path) -> None:
    """An optimizer's file of another model, left beside the new one, would be taken for its own."""
    suffix = FORMATS[target.format].companion if target.format else None
    beside = destination.with_suffix(suffix) if suffix else None
    if beside is not None and beside.exists() and source.model.optimizer is None:
        raise PortError(
            f"{beside} must not be there: it would be taken for the optimizer's state of {destination}, and {source.path} "
            "has none: move it away."
        )


def _ported(source: Source, target: Target, place: Path, destination: Path, settings: Mapping[str, Any]) -> PortReport:
    try:
        dropped = write_target(source.model, target, place, settings)
    except OSError as error:
        raise PortError(f"{destination} cannot be written: {error.strerror or error}.") from None
    proof = prove(source, target, place, settings)
    kept = source.model.optimizer is not None and not any("optimizer's state was dropped" in note for note in dropped)
    return PortReport(
        source=source.path,
        destination=destination,
        source_kind=source.family if source.native is None else f"{source.format}, {source.family}",
        kind=target.name,
        tensors=len(source.model.weights),
        numbers=sum(array.size for array in source.model.weights.values()),
        optimizer=kept,
        notes=(*source.model.notes, *dropped),
        origins=origins(source.model, source.native, settings),
        proof=proof,
    )
