"""``transformer-mb compare effects``: what each default that differs does to a small model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ....reports.output import Output
from ... import options
from ...options import option

if TYPE_CHECKING:
    from ....compare.training.effects import Study

SEEDS, FEWEST, STEPS = 12, 8, 100

NAME = "effects"


def command(
    seeds: Annotated[int, option("--seeds", "Of weights, order and dropout.", min=FEWEST)] = SEEDS,
    only: Annotated[str, options.only("Effects")] = "*",
    backend: Annotated[
        str | None, option("--backends", "--backend", "The one that trains both; else TRANSFORMER_MB_BACKEND, else numpy.")
    ] = None,
    steps: Annotated[int, option("--steps", "Of each training.", min=1)] = STEPS,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("the tables")] = None,
    report: options.Report = None,
    force: options.Force = False,
) -> None:
    """Swap each default that differs for another framework's, and train a small model with both; largest effects first."""
    from ....compare.training.effects import chosen, effects, page, record
    from ....compare.training.report_page import effects_section_of
    from ....registry import requested_name
    from ...counting import Counting

    chosen(only)
    output = Output(json_file, markdown, force, report)
    output.check()
    with Counting() as counting:
        study = effects(seeds, only, requested_name(backend), steps, counting.tell)
    show_study(study)
    output.write(record(study), lambda: page(study), lambda: [effects_section_of(study)])


def show_study(study: Study) -> None:
    from ....compare.training.effects import table

    table(study).show()
    print(
        f"Loss moved: of held-out pairs after {study.steps} steps, in units of the standard deviation of {len(study.seeds)} "
        f"seeds; backend {study.backend} {study.version}"
    )
