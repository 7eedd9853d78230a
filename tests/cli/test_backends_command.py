"""``backends`` asks each in a process of its own and survives whatever that process does."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.cli.commands import backends
from transformer_mb.errors import BackendError
from transformer_mb.registry import load_backend_class


def test_numpy_is_usable():
    assert backends.examine("numpy") == {
        "name": "numpy",
        "usable": True,
        "version": np.__version__,
        "devices": ["cpu"],
        "dtypes": ["float32", "float64"],
        "without_gpu": "NumPy computes on processors alone",
        "reason": None,
    }


def test_the_list_says_why_there_is_no_gpu(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    answers = [{**UNUSABLE, "usable": True, "dtypes": ["float32"], "name": "x", "without_gpu": "built for processors alone"}]
    backends._show(answers)
    assert "no GPU: built for processors alone" in " ".join(capsys.readouterr().out.split())


def test_the_list_says_once_what_is_missing(capsys, monkeypatch):
    """The reason's first words are the row's name, and its last ones the other rows."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setitem(BUILT_IN, "jax", dataclasses.replace(BUILT_IN["jax"], requires=("no_jax", "no_flax")))
    with pytest.raises(BackendError) as refused:
        load_backend_class("jax")
    backends._show([{**UNUSABLE, "name": "jax", "reason": str(refused.value)}])
    shown = " ".join(capsys.readouterr().out.split())
    assert "no_jax, no_flax are not installed. Install them with: pip" in shown
    assert "Installed here: " in str(refused.value) and "Installed here" not in shown and "cannot be used" not in shown


def test_an_unknown_one_says_why():
    found = backends.examine("no_such_backend")
    assert found["usable"] is False and "must be one of numpy" in found["reason"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -SEGV $$", "The process of torch was ended by SIGSEGV."),
        ("kill -KILL $$", "was ended by SIGKILL, as the system ends a process when memory runs out."),
        ("echo cannot load libcudart >&2; exit 3", "ended with status 3; its stderr ends with: cannot load libcudart."),
        ("echo '[1, 2]'", "ended with status 0, without an answer."),
        ("sleep 20", "did not answer within 0.2 seconds and was ended."),
    ],
)
def test_a_process_that_goes_wrong_becomes_a_reason(interpreter, monkeypatch, script, words):
    monkeypatch.setattr(sys, "executable", interpreter(script))
    monkeypatch.setattr(backends, "IMPORT_TIMEOUT", 0.2 if "sleep" in script else 60)
    answer = backends.examine("torch")
    assert answer["usable"] is False and answer["reason"].endswith(words)


def test_a_python_that_is_not_there_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert "The process of torch could not be started" in backends.examine("torch")["reason"]


def test_the_framework_may_talk_before_the_answer(interpreter, monkeypatch):
    script = f'echo WARNING: something; echo more >&2; exec {sys.executable} "$@"'
    monkeypatch.setattr(sys, "executable", interpreter(script))
    assert backends.examine("numpy")["usable"] is True


def test_the_list_has_every_backend_and_goes_to_the_table_and_the_file(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "examine", lambda name: {**UNUSABLE, "name": name, "reason": f"[no] {name} at all"})
    outcome = cli("backends", "--json", tmp_path / "found.json")
    assert outcome.status == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert [one["name"] for one in found] == list(BUILT_IN)
    assert all(set(one) == {*UNUSABLE, "name", "reason"} for one in found)
    assert all(name in outcome.out for name in BUILT_IN) and "[no] numpy at all" in outcome.out


UNUSABLE = {"usable": False, "version": None, "devices": [], "dtypes": [], "without_gpu": None}
