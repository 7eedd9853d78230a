"""Batch invariance: what is counted as the same, and the committed table of six backends."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare import invariance
from transformer_mb.compare.invariance import PADDED, SENTENCES, THREADS, from_record, measured, page, record, sentences

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "invariance.json"


@pytest.fixture
def fake(monkeypatch):
    """A backend whose log-probability is what a function says of the rows, the width and the threads."""

    def installed(says):
        threads = []

        class Fake:
            def __init__(self, dtype):
                self.dtype = dtype

            def version(self):
                return "1.0"

            def build(self, config, seed):
                return None

            def hypotheses(self, model, source, lengths, steps, beam, penalty, n_best):
                score = says(len(source), source.shape[1], threads[-1], lengths.max())
                return [[SimpleNamespace(ids=[int(row[:length].sum())], log_probability=score)] for row, length in
                        zip(source, lengths, strict=True)]  # fmt: skip

        def call(function, arrays, asked, name, environment):
            threads.append(int(environment["OMP_NUM_THREADS"]))
            return invariance.compute(arrays, asked)

        monkeypatch.setattr(invariance, "load_backend_class", lambda name: Fake)
        monkeypatch.setattr(invariance, "call", call)
        return measured("numpy", "float32")

    return installed


TINY = 2.0**-52
WAYS = [*invariance.WAYS, PADDED, THREADS]


@pytest.mark.parametrize(
    ("says", "others"),
    [
        (lambda rows, width, threads, longest: -1.0, []),
        (lambda rows, width, threads, longest: -1.0 - TINY * (rows > 1), ["in 8", "in 32", "in pieces of 5"]),
        (lambda rows, width, threads, longest: -1.0 - TINY * (rows > 8), ["in 32"]),
        (lambda rows, width, threads, longest: -1.0 - TINY * (width > longest), [PADDED]),
        (lambda rows, width, threads, longest: -1.0 - TINY * (threads > 1), [THREADS]),
    ],
)
def test_a_bit_that_depends_on_the_way_is_counted_there_alone(fake, says, others):
    found = fake(says)
    assert {way for way in WAYS if found.same[way] != SENTENCES} == set(others)
    assert {way: found.apart[way] for way in WAYS} == {way: TINY * (way in others) for way in WAYS}


def test_sentences_are_of_every_length_and_padded_behind():
    ids, lengths = sentences()
    assert set(lengths) == set(range(3, 25)) and len(ids) == SENTENCES
    assert all((row[length:] == 1).all() and (row[:length] >= 4).all() for row, length in zip(ids, lengths, strict=True))


def test_a_process_of_numpy_is_the_same_to_itself():
    """Two threads are compared on the same cases as one, in a process of their own."""
    asked = {"backend": "numpy", "dtype": "float64"}
    once, again = (invariance.compute({}, {**asked, "ways": ways})[1] for ways in (True, False))
    assert once["found"]["alone"] == again["found"]["alone"] and once["price"] > 0 and list(again["found"]) == ["alone"]
    scores = np.array([float.fromhex(score) for _, score in once["found"]["alone"]])
    assert np.isfinite(scores).all() and len(set(scores)) == SENTENCES


def test_the_committed_table_is_of_six_backends_and_the_page_is_made_of_it():
    found = from_record(json.loads(RESULTS.read_text()))
    assert {(one.backend, one.dtype) for one in found} >= {
        (name, dtype) for name in BUILT_IN for dtype in ("float32", "float64")
    }
    assert page(found) == (ROOT / "docs" / "INVARIANCE.md").read_text()
    assert record(found) == json.loads(RESULTS.read_text())


@pytest.mark.parametrize(("content", "words"), [({}, "must be a list"), ([{"backend": "numpy"}], "measurement 1 must have")])
def test_another_record_is_refused(content, words):
    with pytest.raises(ValueError, match=words):
        from_record(content)
