"""The report of what is committed, with a sentence's attention: made once, by the command itself."""

import json

import pytest

from reports.records import ATTENTION, CHECK, COMMITTED, RESULTS, WITHIN


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """The path of the whole report's page."""
    from transformer_mb.cli.main import main

    folder = tmp_path_factory.mktemp("report")
    lines = folder / "attention.jsonl"
    lines.write_text(f"{json.dumps(ATTENTION | WITHIN)}\n{json.dumps({**ATTENTION, 'target': ['elle', 'est', '<eos>']})}\n")
    (folder / "check.json").write_text(json.dumps(CHECK))
    runs, losses = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("runs", "losses"))
    (folder / "runs.json").write_text(json.dumps({**runs, "curves": losses["curves"]}))
    rows = [{"test": f"test_port.py::{name}", "name": name, "verdict": "different", "report": CHECK} for name in ("one", "two")]
    (folder / "comparisons.json").write_text(json.dumps(rows))
    files = [str((folder if name == "runs" else RESULTS) / f"{name}.json") for name in COMMITTED]
    assert (
        main(
            [
                "report",
                *files,
                str(folder / "check.json"),
                str(folder / "comparisons.json"),
                str(lines),
                "--out",
                str(folder / "out"),
            ]
        )
        == 0
    )
    return folder / "out" / "index.html"


@pytest.fixture(scope="session")
def address(report):
    return report.as_uri()
