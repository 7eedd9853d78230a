"""docs/NATIVE.md: which tools of a framework were tried on our layers, and what came of it. A result that changes fails."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "NATIVE.md"
WORKS = "works"


def results(backend):
    """By tool: ``works``, or the words of the refusal."""
    rows = (line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith(f"| {backend} | "))
    return {tool.strip("`"): result for _, tool, result in rows}


def check(backend, tools, tool, *arguments):
    """Run a tool of the table ``tools``; with what the page says it must end."""
    told = results(backend)
    assert set(told) == set(tools), f"docs/NATIVE.md must list the tools of {backend} that are tried, and no others"
    if told[tool] == WORKS:
        tools[tool](*arguments)
    else:
        with pytest.raises(Exception, match=re.escape(told[tool].removeprefix("refused: "))):
            tools[tool](*arguments)
