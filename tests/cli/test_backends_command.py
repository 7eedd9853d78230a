"""``backends`` asks each in a process of its own and survives whatever that process does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from transformer_mb.cli import backends
from transformer_mb.registry import BUILT_IN


def interpreter(folder: Path, script: str) -> str:
    """Stands for a Python that a framework ruins."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_numpy_is_usable():
    assert backends.examine("numpy") == {
        "name": "numpy",
        "usable": True,
        "version": np.__version__,
        "devices": ["cpu"],
        "dtypes": ["float32", "float64"],
        "reason": None,
    }


def test_an_unknown_one_says_why():
    found = backends.examine("no_such_backend")
    assert found["usable"] is False and "must be one of numpy" in found["reason"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -SEGV $$", "ended by SIGSEGV: it said nothing"),
        ("echo cannot load libcudart >&2; exit 3", "ended with status 3: cannot load libcudart"),
        ("echo '[1, 2]'", "ended with status 0"),
        ("exit 0", "ended with status 0"),
        ("sleep 20", "did not answer within 0.2 seconds"),
    ],
)
def test_a_process_that_goes_wrong_becomes_a_reason(tmp_path, monkeypatch, script, words):
    monkeypatch.setattr(backends.sys, "executable", interpreter(tmp_path, script))
    monkeypatch.setattr(backends, "PATIENCE", 0.2 if "sleep" in script else 60)
    found = backends.examine("torch")
    assert found["usable"] is False and words in found["reason"]


def test_the_framework_may_talk_before_the_answer(tmp_path, monkeypatch):
    answer = json.dumps({"usable": True, "version": "1", "devices": ["cpu"], "dtypes": ["float32"], "reason": None})
    script = f"echo WARNING: something; echo '{answer}'"
    monkeypatch.setattr(backends.sys, "executable", interpreter(tmp_path, script))
    assert backends.examine("torch")["usable"] is True


def test_the_list_has_every_backend_and_goes_to_the_table_and_the_file(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "examine", lambda name: {**UNUSABLE, "name": name, "reason": f"[no] {name} at all"})
    outcome = cli("backends", "--json", tmp_path / "found.json")
    assert outcome.status == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert [one["name"] for one in found] == list(BUILT_IN)
    assert all(set(one) == {"name", "usable", "version", "devices", "dtypes", "reason"} for one in found)
    assert all(name in outcome.out for name in BUILT_IN) and "[no] numpy at all" in outcome.out


UNUSABLE = {"usable": False, "version": None, "devices": [], "dtypes": []}
