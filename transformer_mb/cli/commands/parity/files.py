"""Files of a parity run: their places, checked before the work, and what they hold then.

A result is measured anew and again, by CI under the same name: an earlier result of this command is replaced. Any other
file that holds something stays, without ``--force``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ....reports.output import Output, each_written
from ....reports.page.document import NAME
from ... import options
from ...options import option

if TYPE_CHECKING:
    from ....parity.outcome import Outcome
    from ....parity.plan import Plan

TABLE, CURVES = "matrix.md", "free-running-{}.png"
# How what this command writes begins.
EARLIER = {
    "--json": r'{\s*"cells":',
    "--junit": r'(<\?xml[^>]*>\s*)?<testsuite name="parity"',
    "--report": r"\| row \| dtype \|",
}
READ = 200  # bytes


@dataclass(frozen=True)
class Files:
    """Places of the results; None is no file."""

    json_file: options.JsonFile = None
    junit: Annotated[Path | None, option("--junit", "Write the cells as JUnit XML.")] = None
    report: Annotated[
        Path | None, option("--report", "A folder for a page (index.html), the table as Markdown and curves.")
    ] = None
    dump: Annotated[Path | None, option("--dump", "A folder for inputs and outputs: one folder per model that failed.")] = None

    @property
    def by_option(self) -> dict[str, Path]:
        """The file that decides whether an option's place may be written."""
        table = self.report and self.report / TABLE
        files = {"--json": self.json_file, "--junit": self.junit, "--report": table}
        return {option: path for option, path in files.items() if path is not None}

    def check(self, plan: Plan, force: bool) -> None:
        """Make the folders. Raises ParityError where nothing can be written, or where another file is."""
        from ....errors import ParityError
        from ....figures.style import require_matplotlib
        from ....files.whole_file import check_apart, check_writable
        from ....reports.page import require_jinja

        self._check_names()
        if self.report is not None:
            require_jinja()
        for path in self.by_option.values():
            check_apart(path, (plan.selection.data,))
        if missed := [] if force else self._missed(plan):
            option, path = missed[0]
            raise ParityError(
                f"{option} must be new, or hold an earlier result of this option, but {path} does not; --force replaces it."
            )
        if self.report is not None and plan.free:
            require_matplotlib()
        places = {**self.by_option, **({"--dump": self.dump / "a model's folder"} if self.dump else {})}
        for option, path in places.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                check_writable(path)
            except OSError as error:
                given = path if option in ("--json", "--junit") else path.parent
                raise ParityError(f"{option} must be a place that can be written, got {given}: {error.strerror}.") from None

    def _missed(self, plan: Plan) -> list[tuple[str, Path]]:
        found = [(option, path) for option, path in self.by_option.items() if is_missed(path, EARLIER[option])]
        if self.report is not None and not (self.report / TABLE).exists():  # curves of ours lie beside a table
            curves = [self.report / NAME, *(self.report / CURVES.format(dtype) for dtype in plan.free)]
            found += [("--report", path) for path in curves if path.exists()]
        return found

    def _check_names(self) -> None:
        from ....errors import ParityError

        places: dict[Path, str] = {}
        for name, path in (*self.by_option.items(), *([("--dump", self.dump)] if self.dump else [])):
            other = places.setdefault(path.resolve(), name)
            if other != name and not path.is_char_device():
                raise ParityError(f"{other} and {name} must be two places, got {path} for both.")

    def write(self, outcome: Outcome, plan: Plan, settings: Mapping[str, Any]) -> None:
        from ....parity.report import markdown, to_json, write_junit
        from ....parity.report_page import section

        run = to_json(outcome, settings, plan.free_running()) if self.json_file or self.report else {}
        with each_written() as attempt:
            attempt(lambda: Output(self.json_file).write(run))
            if (junit := self.junit) is not None:
                attempt(lambda: write_junit(junit, outcome))
            if (report := self.report) is not None:
                from ....files.whole_file import write_whole
                from ....reports.page import write_page

                attempt(lambda: write_whole(report / TABLE, markdown(run)))
                attempt(lambda: write_page(report, [section(run)]))
                attempt(lambda: self._draw(outcome, plan, report))

    def _draw(self, outcome: Outcome, plan: Plan, report: Path) -> None:
        from ....figures.curves import divergence_figure
        from ....figures.files import save_figure
        from ....parity.verdict.bands import TIMES

        for dtype in plan.free:
            if curves := dict(plan.free[dtype].curves):
                # Of a run that was interrupted as much as there is: to compute the rest takes longer than anybody waits.
                losses = plan.recording.losses if outcome.interrupted is None else plan.recording.recorded
                save_figure(divergence_figure(dtype, curves, losses, TIMES), report / CURVES.format(dtype))


def is_missed(path: Path, earlier: str) -> bool:
    """Tell whether a file is there that this command has not written and that holds anything."""
    stream = path.absolute().parts[1] in ("dev", "proc")  # /dev/stdout, where a shell has opened whatever it leads to
    if stream or not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        return not re.match(earlier, file.read(READ).decode("utf-8", errors="replace"))
