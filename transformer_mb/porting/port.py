"""One port from beginning to end: read, write aside, prove, put in place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..errors import PortError, ProofError
from ..files.made_parents import made_parents
from ..files.staging import staged
from ..files.whole_file import check_result_file, replaced_file
from .files.destination import check_destination, check_suffix, put_in_place, real_place
from .files.parts import check_apart_from_source, inputs, parts
from .files.sources import Source, read_source
from .files.targets import Target, check_names, find_target, write_target
from .formats import FORMATS
from .loading import loading_of
from .odd_numbers import not_finite
from .origins import origins
from .proof.expected_outputs import Expected, read_expected
from .proof.proving import prove
from .report import PortReport
from .safety.port_errors import system_errors, unwritten
from .settings import check_settings, read_settings


def port(
    source_path: Any,
    destination: Any,
    to: str,
    from_: str | None = None,
    *,
    config: Any = None,
    force: bool = False,
    report_file: Any = None,
    expect: Any = None,
) -> PortReport:
    """Port a model and prove it.

    Args:
        source_path: any readable file or folder; ``from_`` names its format or family, None recognizes it.
        destination: a new file or folder; the folders above it are made.
        to: a format, a family or an export (see the tables of ``porting``).
        config: what no weight file holds: a mapping, or a JSON or TOML file (see ``settings``).
        force: replace a destination that is there: a file, or a folder of the kind that is written; and ``report_file``. The
            source is never replaced.
        expect: inputs and outputs of the model as its owner ran it, arrays by name or an .npz file of them (see
            ``proof.expected_outputs``): they must be those of what was read, and bear out what no tensor shows.
        report_file: where the report goes as JSON; where that cannot be written, neither is the destination.
    Returns: the report, which holds: the proof has been made.
    Raises:
        PortError: naming what was expected and what was got; the destination is then as it was.
        OSError: the report's file cannot be written, or is to replace something (DestinationError); likewise.
    """
    settings = dict(config) if isinstance(config, Mapping) else read_settings(None if config is None else Path(config))
    check_settings(settings)
    target = find_target(to)
    check_names(settings, target)
    expected = read_expected(expect)
    source_path, named = Path(source_path), Path(destination)
    destination = real_place(named)
    report_file = None if report_file is None else Path(report_file)
    check_suffix(destination, target)
    check_apart_from_source(destination, source_path)
    check_destination(destination, target, force)
    read = [one for one in (config, expect) if isinstance(one, str | Path)]
    never = [*inputs(source_path, settings), *parts(destination), *read]
    with _stage(destination) as stage:
        check_result_file(report_file, force, never)
        source = read_source(source_path, from_, settings)
        for place in {named, destination}:
            _check_companion(source, target, place)
        report = _ported(source, target, stage / destination.name, (named, destination), settings, expected)
        if not report.holds:
            raise ProofError(
                f"The port of {source_path} to {to} does not hold, and nothing is written: {'; '.join(report.proof.failures)}."
            )
        with _report_written(report_file, report):
            put_in_place(stage, destination, target, force)
    return report


@contextmanager
def _report_written(path: Path | None, report: PortReport) -> Iterator[None]:
    """The report is written before the block, and put in its place after it."""
    if path is None:
        yield
        return
    with replaced_file(path) as file:
        file.write(f"{json.dumps(report.to_dict(), indent=2)}\n".encode())
        file.flush()
        yield


@contextmanager
def _stage(destination: Path) -> Iterator[Path]:
    """Where the result is made, beside its place, whose folders are made too: before any work, and gone if none comes of it."""
    with ExitStack() as kept:
        with system_errors(f"{destination.parent} cannot be written to"):
            kept.enter_context(made_parents(destination))
            stage = kept.enter_context(staged(destination.parent))
        yield stage


def _check_companion(source: Source, target: Target, destination: Path) -> None:
    """An optimizer's file of another model, left beside the new one, would be taken for its own."""
    suffix = FORMATS[target.format].companion if target.format else None
    beside = destination.with_suffix(suffix) if suffix else None
    if beside is not None and beside.exists() and source.model.optimizer is None:
        raise PortError(
            f"{beside} must not be there: it would be taken for the optimizer's state of {destination}, and {source.path} "
            "has none: move it away."
        )


def _ported(
    source: Source,
    target: Target,
    place: Path,
    destinations: tuple[Path, Path],
    settings: Mapping[str, Any],
    expected: Expected | None,
) -> PortReport:
    """``destinations``: as the user calls it, and where that is."""
    named, destination = destinations
    with unwritten(destination):
        kept, dropped = write_target(source.model, target, place, settings)
    proof = prove(source, target, place, settings, expected)
    return PortReport(
        source=source.path,
        destination=destination,
        source_kind=source.family if source.native is None else f"{source.format}, {source.family}",
        kind=target.name,
        tensors=len(source.model.weights),
        numbers=sum(array.size for array in source.model.weights.values()),
        optimizer=kept,
        loading=loading_of(source.model, target, settings, named, kept),
        notes=(*source.model.notes, *not_finite(source.model.weights), *dropped),
        origins=origins(source.model, source.native, settings),
        proof=proof,
    )
