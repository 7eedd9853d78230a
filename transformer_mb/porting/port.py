"""A port from beginning to end: read, write aside, prove, put in place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ProofError
from ..files.whole_file import check_result_file, replaced_file
from .files.destination import Output, inputs, parts
from .files.sources import Source, read_source
from .files.targets import check_names, fields_at, find_target, write_target
from .kinds import Settings
from .model import not_finite
from .origins import origins
from .proof.expected_outputs import Expected, read_expected
from .proof.proving import prove
from .report import PortReport
from .safety.port_errors import unwritten
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
    source_path, output = Path(source_path), Output(Path(destination), target, force)
    report_file = None if report_file is None else Path(report_file)
    output.check_suffix()
    output.check_apart_from(source_path)
    output.check(output.destination)
    read = [one for one in (config, expect) if isinstance(one, str | Path)]
    never = [*inputs(source_path, settings), *parts(output.destination), *read]
    with output.staged() as written:
        check_result_file(report_file, force, never)
        source = read_source(source_path, from_, settings)
        output.check_companions(source)
        report = _ported(source, output, written, settings, expected)
        if not report.holds:
            raise ProofError(
                f"The port of {source_path} to {to} does not hold, and nothing is written: {'; '.join(report.proof.failures)}."
            )
        with _report_written(report_file, report):
            output.put_in_place(written.parent)
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


def _ported(source: Source, output: Output, written: Path, settings: Settings, expected: Expected | None) -> PortReport:
    """Write the model and prove it; ``written`` is where it lies until then."""
    model, target = source.model, output.target
    with unwritten(output.destination):
        kept, dropped = write_target(model, target, written, settings)
    loading = target.family.loading_of(model, target.format, settings)
    proof = prove(source, target, written, settings, loading, expected)
    return PortReport(
        source=source.path,
        destination=output.destination,
        source_kind=source.family.name if source.native is None else f"{source.native.format}, {source.family.name}",
        kind=target.name,
        tensors=len(model.weights),
        numbers=sum(array.size for array in model.weights.values()),
        optimizer=kept,
        loading=loading.at(fields_at(output.named, model, target), kept),
        notes=(*model.notes, *not_finite(model.weights), *dropped),
        origins=origins(model, source.native, settings),
        proof=proof,
    )
