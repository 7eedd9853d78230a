"""Tables are as wide as the terminal, and no wider than a hundred columns."""

import re

import pytest

from transformer_mb.cli.commands.compare.behaviours import show_standings
from transformer_mb.compare.expectations import standings
from transformer_mb.compare.records import read_facts
from transformer_mb.reports.table import WIDEST, table_console


@pytest.mark.parametrize(("columns", "width"), [(60, 60), (100, 100), (240, WIDEST)])
def test_a_terminal_decides_up_to_a_hundred(monkeypatch, columns, width):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the stream for a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    assert table_console().width == width


def test_a_file_has_a_hundred(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert table_console().width == WIDEST


@pytest.mark.parametrize("columns", [70, 100])
def test_the_table_of_all_facts_fits(monkeypatch, capsys, columns, request):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    facts = read_facts(request.config.rootpath / "benchmarks" / "results" / "behaviours.json")
    show_standings(standings(facts))
    table = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()[:-1]
    assert len(table) > 300 and max(map(len, table)) <= columns
