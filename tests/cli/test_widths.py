"""Presets and every table fit a terminal of 80 columns; sentences may be longer, and wrap there."""

import pytest

TABLES = {
    "backends": ("backends",),
    "behaviours": ("compare", "behaviours", "--backends", "numpy", "--only", "longer draw|variance of 0 and 2"),
    "parity": ("parity", "--backends", "numpy", "--cases", "layer forward: layer norm, another epsilon*", "--dtype", "float64"),
}


@pytest.fixture
def narrow(cli, monkeypatch):
    """The lines that a command shows in a terminal of so many columns."""

    def shown(*words, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        outcome = cli(*words)
        assert outcome.status == 0, outcome.err
        return outcome.out.splitlines()

    return shown


def test_presets_are_as_wide_as_the_terminal(narrow):
    lines = narrow("presets")
    assert max(map(len, lines)) <= 80 < max(map(len, narrow("presets", columns=200))) <= 110
    assert "".join("".join(lines).split()) == "".join("".join(narrow("presets", columns=200)).split())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits(narrow, name, monkeypatch):
    from transformer_mb.cli.commands import backends

    without = {"usable": False, "version": None, "devices": [], "dtypes": [], "without_gpu": None}
    monkeypatch.setattr(backends, "examine", lambda name: {**without, "name": name, "reason": "It cannot be used. " * 9})
    lines = narrow(*TABLES[name])
    start = next(at for at, line in enumerate(lines) if set(line.strip()) & set("─━"))
    table = [line for line in lines[start - 1 :] if line.startswith((" ", "┏", "┃", "┡", "│", "└"))]
    assert len(table) >= 3 and max(map(len, table)) <= 80
