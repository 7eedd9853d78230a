"""Blocks of a page that a reader types: found in its text, run in a folder, and compared with what the page shows.

In what a page shows, ``...`` stands for any text, alone in a line for any lines, and a number for any number.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from site_pages import DOCS

BLOCK = re.compile(r"^ *```(console|python)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\\?\.\d+)?(?:e\\?[-+]?\d+)?")
TYPED = re.compile(r"^ *\$ ((?:.*\\\n)*.*)\n?", re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")  # the first line of a block that is a file, and not a program


def commands(block):
    """The commands after ``$ ``, with the lines on which they go on, and all other lines as what they print."""
    return [re.sub(r"\s*\\\n\s*", " ", typed) for typed in TYPED.findall(block)], TYPED.sub("", block).splitlines()


def pattern(shown):
    """A regular expression for output that a page shows."""
    parts = []
    for line in shown:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            words = NUMBER.sub(r"[-+\\d.e]+", re.escape(line.strip())).replace(r"\.\.\.", ".*")
            parts.append(r"[ \t]*" + re.sub(r"(?:\\ )+", "[ ]+", words) + r"[ \t]*\n")
    return re.compile("".join(parts) + r"\Z")


def run(kind, block, folder, shown=None):
    """Run a block in the folder; ``shown``: what to expect in place of what the block shows."""
    typed, expected = commands(block) if kind == "console" else ([], ["..."])
    named = FILE.match(block) if kind == "python" else None
    if named:
        (folder / named[1]).write_text(block)
        return
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(DOCS.parent), "."]), "COLUMNS": "120"}
    command = ["bash", "-ec", "\n".join(typed)] if kind == "console" else [sys.executable, "-c", block]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    assert pattern(shown or expected).match(done.stdout), f"{block}\nprinted\n{done.stdout}"
