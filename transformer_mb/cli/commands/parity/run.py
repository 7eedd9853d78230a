"""``transformer-mb parity``: every backend against the float64 reference, cell by cell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ....columns.ending import TIMEOUT
from ... import options
from ...options import option, with_groups
from ...placing import Placing
from .files import Files
from .sweep import Sweeping

NAME = "parity"


@with_groups
def command(
    backends: options.Backends = None,
    cases: Annotated[
        list[str] | None, option("--cases", "Ids of cells, as --list prints them; * is any text; separate several with |.")
    ] = None,
    list_ids: Annotated[bool, option("--list", "Print the ids of the cells that would run, and run none.")] = False,
    dtype: Annotated[list[str] | None, option("--dtype", "Dtypes separated by commas; default: all.")] = None,
    device: options.Devices = None,
    python: Annotated[list[str] | None, option("--python", "NAME=INTERPRETER; NAME@LABEL=INTERPRETER adds a column.")] = None,
    ssh: Annotated[list[str] | None, option("--ssh", "NAME=HOST, or NAME@LABEL=HOST, as execnet's ssh= takes it.")] = None,
    seed: Annotated[int, option("--seed", "Of weights, inputs, the order of batches and what dropout drops.")] = 0,
    controls: Annotated[
        bool, option("--controls", "Plant known mistakes, which must be caught: all, whatever --cases takes.")
    ] = False,
    part: Annotated[
        str | None, option("--part", "K/N: the K-th of N parts of all this, for several processes or machines.")
    ] = None,
    data: Annotated[Path | None, option("--data", "Pairs for the training job; else the built-in corpus.")] = None,
    *,
    files: Files,
    force: Annotated[bool, option("--force", "Replace files that are no earlier results of this command, too.")] = False,
    every_case: Annotated[bool, option("--every-case", "One line per case.")] = False,
    timeout: Annotated[float, options.timeout("answer")] = TIMEOUT,
    jobs: Annotated[int | None, option("--jobs", "Backends at a time; default: one per core.", min=1)] = None,
    sweeping: Sweeping,
    placing: Placing,
) -> None:
    """Measure every layer, gradient, step and token of every backend against the float64 reference.

    Exit status: 0 all cells passed and all planted mistakes were caught; 1 a cell failed or a mistake was missed, and a
    device, an interpreter, a host or a package that is not there fails its cells; 2 the call was wrong, or selects no
    cell; 130 Ctrl-C, after which the table and all files hold what was executed till then.

    With --seeds the matrix is run for each, and --out keeps a file of each run: the same command goes on where it was ended.
    The status is 1 too where a run could not be done, or, with --collect, where one that was planned has no file.

    Files of earlier results are replaced; a file that holds anything else is not, without --force.
    """
    from ....columns.environment import SETTINGS

    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from ....built_in import EVERY_DTYPE
    from ....columns.gateway import require_execnet
    from ....columns.options import names, parsed_columns
    from ....parity.matrix import plan_of, run_matrix
    from ....parity.selection import WHOLE, Selection, part_of
    from ....registry import entries
    from ...reporting import ended_cleanly
    from .screen import Progress, show_outcome
    from .sweep import check_json, read_sweep, run_sweep, tell_findings

    if sweeping.wanted(placing):
        single: dict[str, Any] = {"--list": list_ids, "--seed": seed, "--part": part}
        single |= {"--junit": files.junit, "--report": files.report, "--dump": files.dump}
        chosen = {"--backends": backends, "--cases": cases, "--dtype": dtype, "--device": device, "--python": python}
        flags = {"--every-case": every_case, "--ssh": ssh, "--controls": controls, "--data": data, "--jobs": jobs}
        given = [option for option, value in [*single.items(), *chosen.items(), *flags.items()] if value]
        sweeping.check(placing, given, [*single, "--every-case"])
        check_json(files.json_file, force, (sweeping.out, sweeping.collect, data))
    if sweeping.collect is not None:
        return tell_findings(read_sweep(sweeping.collect, sweeping.seeds), files.json_file)
    dtypes = tuple(names("--dtype", dtype, EVERY_DTYPE, lambda: EVERY_DTYPE))
    patterns, chosen_part = "|".join(cases) if cases is not None else None, part_of(part) if part else WHOLE
    selection = Selection(dtypes, patterns, seed, controls, data, chosen_part)
    columns = parsed_columns(backends, dtypes, device or [], python or [], ssh or [])
    if sweeping.wanted(placing):
        require_execnet()
        return tell_findings(run_sweep(sweeping, placing, columns, selection, timeout, jobs), files.json_file)
    plan = plan_of(selection, columns)
    plan.check()
    if list_ids:
        offered = {column.label: entries()[column.backend].dtypes or EVERY_DTYPE for column in columns}
        print("\n".join(dict.fromkeys(cell.id for label, own in offered.items() for cell in plan.cells(label, own))))
        return
    require_execnet()
    files.check(plan, force)
    with ended_cleanly():
        with Progress() as progress:
            outcome, _ = run_matrix(
                columns, selection, plan=plan, timeout=timeout, jobs=jobs, progress=progress, dump=files.dump
            )
        show_outcome(outcome, [column.label for column in columns], every_case, seed)
        settings: dict[str, Any] = {
            "seed": seed,
            "cases": selection.cases,
            "dtypes": list(dtypes),
            "job": selection.job,
            "timeout": timeout,
        }
        settings |= {"part": [*chosen_part]} if part else {}
        files.write(outcome, plan, settings)
    if outcome.interrupted is not None:
        raise outcome.interrupted
    if not outcome.holds:
        raise typer.Exit(1)
