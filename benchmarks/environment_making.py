"""Environments as rows of a TOML table: ``column``, ``python``, ``packages``, and ``alone``, without what they ask for.

An environment that was made is kept until its row changes. Where the Python of a row is neither on the path nor among pyenv's,
the running one takes its place.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path


def rows(table):
    with open(table, "rb") as file:
        return tomllib.load(file)["environment"]


def interpreter(version):
    """Find an interpreter of this version that runs, on the path or of pyenv; None where there is none."""
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for candidate in (sys.executable, shutil.which(f"python{version}"), *pyenv):
        if candidate and answer(candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])") == version:
            return str(candidate)
    return None


def answer(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def made(row, folder, *also):
    """The environment's interpreter, and whether it is new; ``also`` is installed with the row's packages."""
    place, asked = folder / row["column"], json.dumps(row)
    python, done = place / "bin" / "python", place / "row.json"
    new = not done.exists() or done.read_text() != asked
    if new:
        shutil.rmtree(place, ignore_errors=True)
        source = interpreter(row["python"]) or sys.executable
        subprocess.run([source, "-m", "venv", place], check=True)
        install(python, *also, *row["packages"])
        if row.get("alone"):
            install(python, "--no-deps", *row["alone"])
        done.write_text(asked)
    return python, new


def install(python, *words):
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words], check=True)
