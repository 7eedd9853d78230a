"""``transformer-mb report``: one page for a browser from what other commands wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...printable import counted
from ...reports.output import Output
from .. import options
from ..options import argument, option

if TYPE_CHECKING:
    from ...reports.page import Section

NAME = "report"
# A file by what it holds: its kind, the names that it has, and the command that writes it.
KINDS = {
    "parity": (("results", "control_results", "bisections"), "parity --json"),
    "versions": (("versions", "behaviours"), "compare versions --json"),
    "behaviours": (("behaviours",), "compare behaviours --json"),
    "effects": (("effects", "steps", "backend"), "compare effects --json"),
    "runs": (("job", "lines", "costs", "runs"), "compare runs --json"),
    "losses": (("job", "curves", "versions"), "benchmarks/results/losses.json"),
    "speed": (("machine", "rows"), "benchmarks/bench.py --json"),
    "costs": (("machine", "results"), "benchmarks/curves.py --json"),
    "certificate": (("certified", "port", "figures"), "check --json or --certificate"),
    "check": (("verdict", "reference", "candidate", "figures"), "Report.to_dict of transformer_mb.check"),
    "comparisons": (("test", "name", "report"), "pytest --parity-report"),
    "attention": (("source", "target", "weights"), "translate --attention FILE.jsonl"),
}


def command(
    files: Annotated[list[Path], argument("FILE...", "What parity, compare or translate --attention wrote.")],
    out: Annotated[Path, option("--out", "A folder for the page, index.html.")],
    force: options.Force = False,
) -> None:
    """Join results into one page for a browser, which needs nothing else: no network, no server, no second file.

    FILE may be what `parity` and the commands of `compare` write with --json, the lines of `translate --attention FILE.jsonl`,
    and the speeds and costs that benchmarks/ writes.
    """
    output = Output(None, force=force, report=out)
    output.check(*files)
    made = list(sections([(path, *recognized(path)) for path in files]))
    output.write(None, sections=lambda: made)
    print(f"{counted(len(made), 'part')}: {out / 'index.html'}")


def recognized(path: Path) -> tuple[str, Any]:
    """Read a file; return its kind and its content, of attention the list of its lines.

    Raises ConfigError for a file of none of the kinds, OSError for one that cannot be read.
    """
    from ...errors import ConfigError
    from ...files.regular import read_regular_text
    from ...files.typed_record import loaded

    try:
        text = read_regular_text(path, "facts")
        content = [loaded(line) for line in text.splitlines() if line] if path.suffix == ".jsonl" else loaded(text)
    except ValueError as error:
        raise ConfigError(f"{path} must be JSON, got what is none: {error}.") from None
    first = content[0] if isinstance(content, list) and content else content
    if isinstance(first, dict):
        for kind, (names, _) in KINDS.items():
            if all(name in first for name in names):
                return kind, [content] if kind == "attention" and first is content else content
    writers = "; ".join(words for _, words in KINDS.values())
    raise ConfigError(f"{path} must be what one of these writes, got other JSON: {writers}.")


def sections(files: list[tuple[Path, str, Any]]) -> Iterator[Section]:
    """Yield the sections of files in the order of ``makers_of``; effects order the behaviours beside them.

    Raises ConfigError for a file whose record is damaged.
    """
    from ...errors import ConfigError

    makers = makers_of(next((content for _, kind, content in files if kind == "effects"), None))
    for kind in makers:
        for path, own, content in files:
            if own == kind:
                try:
                    yield from makers[kind](content)
                except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                    words = f"{path} must be what {KINDS[kind][1]} writes, got other JSON, in which this is missing or wrong"
                    raise ConfigError(f"{words}: {error}.") from None


def makers_of(effects: Any) -> Mapping[str, Callable[[Any], list[Section]]]:
    """Return by kind what makes sections of a record."""
    from ...compare import report_page as behaviours
    from ...compare.installed import report_page as versions
    from ...compare.training import report_page as runs
    from ...parity import report_page as parity
    from ...reports.page.attention import attention_section
    from ...reports.page.checked import certificate_section, check_section, comparisons_section
    from ...reports.page.measured import costs_section, speed_section

    return {
        "parity": lambda run: [parity.section(run)],
        "behaviours": lambda content: [behaviours.section(content, effects)],
        "effects": lambda content: [runs.effects_section(content)],
        "runs": lambda content: [runs.section(content)],
        "losses": lambda content: [runs.losses_section(content)],
        "versions": versions.sections,
        "speed": lambda content: [speed_section(content)],
        "costs": lambda content: [costs_section(content)],
        "check": lambda content: [check_section(content)],
        "certificate": lambda content: [certificate_section(content)],
        "comparisons": lambda rows: [comparisons_section(rows)],
        "attention": lambda lines: [attention_section(lines)],
    }
