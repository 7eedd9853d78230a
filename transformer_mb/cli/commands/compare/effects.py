"""``transformer-mb compare effects``: what each default that differs does to a small model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import options
from ...reporting import write_report
from ...tables import table_console

if TYPE_CHECKING:
    from ....compare.effects import Study

SEEDS, FEWEST, STEPS = 12, 8, 100

NAME = "effects"
Backend = Annotated[
    str | None,
    typer.Option(
        "--backends",
        "--backend",
        help="The one that trains both; else TRANSFORMER_MB_BACKEND, else numpy.",
        show_default=False,
    ),
]


def command(
    seeds: Annotated[int, typer.Option("--seeds", min=FEWEST, help="Of weights, order and dropout.")] = SEEDS,
    only: Annotated[str, options.only("Effects")] = "*",
    backend: Backend = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Of each training.")] = STEPS,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("the tables")] = None,
    force: options.Force = False,
) -> None:
    """Swap each default that differs for another framework's, and train a small model with both: what bites comes first."""
    from ....compare.effects.measuring import chosen, effects
    from ....compare.effects.page import page
    from ....compare.effects.records import record
    from ....files.whole_file import check_result_file
    from ....registry import requested_name
    from ...counting import Counting

    chosen(only)
    check_result_file(json_file, force)
    check_result_file(markdown, force, never=(json_file,))
    with Counting() as counting:
        study = effects(seeds, only, requested_name(backend), steps, counting.tell)
    show(study)
    write_report(json_file, record(study), markdown, lambda: page(study))


def show(study: Study) -> None:
    from rich import box
    from rich.table import Table

    from ....compare.effects.page import interval, share, signed

    table = Table(box=box.SIMPLE)
    for title in ("what is swapped", "loss moved", "95 % interval", "logits moved", "from", "to"):
        table.add_column(title, justify="right" if "moved" in title else "left")
    for one in study.found:
        effect = one.effect
        table.add_row(effect.name, signed(one.loss.mean), interval(one), share(one), effect.one, effect.other)
    table_console().print(table)
    print(
        f"Loss moved: of held-out pairs after {study.steps} steps, in units of the standard deviation of {len(study.seeds)} "
        f"seeds; backend {study.backend} {study.version}"
    )
