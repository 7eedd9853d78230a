"""The commands' options and the package's public names grow on purpose: both are listed here, and a change changes its list.

Make the lists again with: python tests/meta/test_frozen.py
"""

import importlib
from pathlib import Path

import pytest
import typer

FOLDER = Path(__file__).parent / "frozen"
PUBLIC = (
    "transformer_mb",
    "transformer_mb.check",
    "transformer_mb.checkpoint",
    "transformer_mb.compare",
    "transformer_mb.data",
    "transformer_mb.parity",
    "transformer_mb.parity",
    "transformer_mb.training",
)


def options():
    """Yield ``COMMAND OPTION`` for each option, and ``COMMAND NAME`` for each argument, of all commands."""
    from transformer_mb.cli.main import app

    def of(name, command):
        for parameter in command.params:
            yield f"{name} {'/'.join([*parameter.opts, *parameter.secondary_opts])}".strip()
        for part, inner in getattr(command, "commands", {}).items():
            yield from of(f"{name} {part}".strip(), inner)

    return sorted(of("", typer.main.get_command(app)))


def names():
    return sorted(f"{module}.{name}" for module in PUBLIC for name in importlib.import_module(module).__all__)


FROZEN = {"options.txt": options, "public_names.txt": names}


@pytest.mark.parametrize("file", FROZEN)
def test_what_users_call_is_what_is_listed(file):
    listed, found = set((FOLDER / file).read_text().splitlines()), set(FROZEN[file]())
    assert len(found) > 30 and found == listed, {"new": sorted(found - listed), "gone": sorted(listed - found)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, make in FROZEN.items():
        (FOLDER / file).write_text("\n".join(make()) + "\n")
