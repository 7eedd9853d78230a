"""A failing case in a file: what is written is read, and what is damaged or made up is refused in a sentence."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from transformer_mb import check
from transformer_mb.check.case_file import FIELD, StoredCase, read_case, write_case
from transformer_mb.check.cases import Case
from transformer_mb.check.weight_map import weight_map
from transformer_mb.errors import CheckpointError, DestinationError

SHAPES, THERE = {"w": (6, 2), "b": (4,)}, {"q": (2, 3), "k": (2, 3), "b": (4,)}


def stored():
    weights = weight_map({"w": check.stack("q.T", check.weight("k").T * 0.5), "b": "b"}, SHAPES, THERE)
    case = Case({"w": np.arange(12.0).reshape(6, 2), "b": np.ones(4)}, {"x": np.eye(2), "lens": np.array([1, 2])}, seed=7)
    subjects = check.torch("library:Block", 4, heads=(1, 2)).compiled(), check.flax("port:Block").calling("x", mask="lens")
    return StoredCase(*subjects, weights, case, {"module": "attn", "what": "values"}, {"reference": "2.13"})


@pytest.fixture
def file(tmp_path):
    write_case(tmp_path / "case.safetensors", stored())
    return tmp_path / "case.safetensors"


def test_what_is_written_is_read(file):
    before, after = stored(), read_case(file)
    assert (after.reference, after.candidate, after.way, after.versions) == (
        before.reference,
        before.candidate,
        before.way,
        before.versions,
    )
    assert after.case.seed == 7 and list(after.case.inputs) == ["x", "lens"]
    for kind in ("weights", "inputs"):
        ours, theirs = getattr(before.case, kind), getattr(after.case, kind)
        assert set(ours) == set(theirs) and all(
            np.array_equal(ours[n], theirs[n]) and ours[n].dtype == theirs[n].dtype for n in ours
        )
    given = {"w": np.random.default_rng(0).standard_normal((6, 2)), "b": np.arange(4.0)}
    expected, found = before.weights.to_candidate(given), after.weights.to_candidate(given)
    assert set(expected) == set(found) and all(np.array_equal(expected[name], found[name]) for name in expected)
    assert np.array_equal(found["q"], given["w"][:3].T) and np.array_equal(found["k"], given["w"][3:].T / 0.5)


def test_a_file_that_is_there_is_kept_unless_it_may_be_replaced(file):
    before = file.read_bytes()
    with pytest.raises(DestinationError):
        write_case(file, stored())
    assert file.read_bytes() == before
    write_case(file, stored(), force=True)


def changed(file, change, tensors=None):
    arrays = load_file(file) | (tensors or {})
    content = json.loads(read_metadata(file))
    change(content)
    save_file(arrays, file, {FIELD: json.dumps(content)})


def read_metadata(file):
    data = file.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"][FIELD]


@pytest.mark.parametrize(
    ("change", "tensors", "words"),
    [
        (lambda c: c.update(format=2), None, "format must be 1"),
        (lambda c: c.pop("way"), None, "must have way"),
        (lambda c: c.update(seed="7"), None, "seed"),
        (lambda c: c.update(inputs=["x", "mask"]), None, "inputs must be"),
        (lambda c: c["reference"].update(options="__import__('os').system('touch gone')"), None, "Subject.to_dict"),
        (lambda c: c["reference"].update(kind="pickle"), None, "kind"),
        (lambda c: c["shapes"].update(w=[3, 4]), None, "reference's shapes"),
        (lambda c: c["there"].update(q=[1, 1]), None, "at most once"),
        (lambda c: None, {"places.b": np.array([12, 12, 13, 14])}, "at most once"),
        (lambda c: None, {"places.b": np.array([-1, 12, 13, 14])}, "at most once"),
        (lambda c: None, {"factors.b": np.zeros(4)}, "factors of b"),
        (lambda c: None, {"factors.b": np.full(4, np.nan)}, "factors of b"),
    ],
)
def test_a_case_that_is_made_up_is_refused(file, change, tensors, words):
    changed(file, change, tensors)
    with pytest.raises(CheckpointError, match=words):
        read_case(file)


def test_other_files_are_refused(tmp_path, file):
    with pytest.raises(CheckpointError, match="not there"):
        read_case(tmp_path / "none")
    save_file({"x": np.ones(2)}, tmp_path / "other")
    with pytest.raises(CheckpointError, match="no case"):
        read_case(tmp_path / "other")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(CheckpointError, match="damaged"):
        read_case(file)
