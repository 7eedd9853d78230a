"""Who runs the source of a proof, on what, and what the report says of it."""

import importlib.metadata
import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting import d2l_models
from porting.small_model import BIASES, SIZES, made, refused
from transformer_mb.errors import PortError
from transformer_mb.porting import worker
from transformer_mb.porting.families import FAMILIES, d2l_classes
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import find_target, write_target

HEADS = {"num_heads": d2l_models.HEADS}
READERS = (
    "formats.native_loaders.torch:read",
    "formats.native_loaders.keras:read",
    "formats.native_loaders.tensorflow:read",
    "formats.native_loaders.torch:write",
)
REFUSED = [
    ({"norm_eps": 1e-2}, "norm_eps is 1e-05 there, not 0.01"),
    ({"activation": "gelu"}, "activation is relu there, not gelu"),
    ({"norm_position": "pre"}, "norm_position is post there, not pre"),
    ({"embedding_scale": False}, "embedding_scale is True there, not False"),
    ({"sinusoid_layout": "halves"}, "sinusoid_layout is interleaved there, not halves"),
    ({"position_offset": 1}, "position_offset is 0 there, not 1"),
    ({"norm_kind": "std_norm"}, "norm_kind is layer_norm there, not std_norm"),
    ({"compat_decode": "d2l"}, "compat_decode is correct there, not d2l"),
]


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("said", "words"), REFUSED)
@pytest.mark.parametrize("framework", ["mxnet", pytest.param("torch", marks=pytest.mark.long)])
def test_what_d2l_never_computes_is_refused_for_its_files(d2l_made, tmp_path, framework, said, words):
    file = d2l_made(framework) / d2l_models.FILES[framework]
    with pytest.raises(PortError, match=f"those of D2L's own classes, which compute something else .*{words}.*trained_by"):
        tmb.port(file, tmp_path / "out", to="canonical", config={**HEADS, **said})
    assert not (tmp_path / "out").exists()


@pytest.mark.long(but=1)
@pytest.mark.parametrize("heads", [2, 4, 1])
def test_the_number_of_heads_is_all_that_is_taken_on_trust(d2l_made, tmp_path, heads):
    """No tensor shows it, and D2L's classes need to be told too."""
    report = tmb.port(d2l_made("mxnet") / "model.params", tmp_path / "out", to="canonical", config={"num_heads": heads})
    assert report.proof.source_ran == f"d2l {importlib.metadata.version('d2l')} on mxnet 1.9.1"
    assert report.origins["given"] == {"encoder_num_heads": heads, "decoder_num_heads": heads}
    said = f"given, taken on trust: encoder_num_heads = {heads}, decoder_num_heads = {heads}"
    assert f"the proof rests on what is {said}" in report.lines()


@pytest.mark.long
def test_d2l_itself_shows_what_is_read_wrongly(d2l_made, tmp_path, monkeypatch):
    """The mapping of names is on trial too: here keys and values change places in our reading."""
    from transformer_mb.porting.families import d2l

    true = d2l.canonical_name
    swapped = {"W_k": "W_v", "W_v": "W_k"}

    def exchanged(name, format_name):
        reading = true(name, format_name)
        parts = [swapped.get(part, part) for part in reading.name.split(".")]
        return reading._replace(name=".".join(parts))

    monkeypatch.setattr(d2l, "canonical_name", exchanged)
    with pytest.raises(PortError, match="the error of encoder is .*the error of logits is"):
        tmb.port(d2l_made("mxnet") / "model.params", tmp_path / "out", to="canonical", config=HEADS)


@pytest.mark.long
def test_trained_by_is_an_explicit_word(d2l_made, tmp_path):
    file, said = d2l_made("mxnet") / "model.params", {**HEADS, "activation": "gelu"}
    report = tmb.port(file, tmp_path / "out", to="canonical", config={**said, "trained_by": "transformer_mb"})
    assert report.proof.source_ran == "our mxnet backend (mxnet 1.9.1) (D2L's own classes have no activation = gelu)"
    with pytest.raises(PortError, match="trained_by must be transformer_mb, got 'me'"):
        tmb.port(file, tmp_path / "other", to="canonical", config={**said, "trained_by": "me"})


@pytest.mark.long
def test_a_file_that_is_not_of_the_book_is_run_by_our_backend(tmp_path):
    """Its own tensors show it: nothing has to be said."""
    model = small("d2l", final_norm=True, norm_position="pre")
    write_target(model, find_target("mxnet"), tmp_path / "m.params", {})
    (tmp_path / "m.params.config.json").unlink()
    said = {"num_heads": 2, "norm_position": "pre"}
    report = tmb.port(tmp_path / "m.params", tmp_path / "out", to="canonical", config=said)
    assert "D2L's own classes have no norm_position = pre, final_norm = True" in report.proof.source_ran


def test_without_the_package_the_report_says_so(tmp_path, monkeypatch):
    model = small("d2l")
    write_target(model, find_target("npz"), tmp_path / "m.npz", {})
    source = read_source(tmp_path / "m.npz", None, {})
    native = type(source.native)(format="mxnet", tensors=source.native.tensors)
    true = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "d2l" else true(name))
    assert d2l_classes.why_not(source.model, native, {}) == "D2L's own classes could not: d2l is not installed"


def small(preset, **changes):
    return made(getattr(tmb.presets, preset)(11, 13, **{**SIZES, "encoder_num_heads": 2, "decoder_num_heads": 2}, **changes))


def stacks():
    return small("d2l", final_norm=True, **BIASES)


class Marker:
    """What unpickling would do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


CASES = [
    ("paddle", ".pdparams", small, ("d2l",)),
    ("paddle_transformer", ".pdparams", stacks, ()),
    pytest.param("torch", ".pt", small, ("d2l",), marks=pytest.mark.long),
    ("torch_transformer", ".pt", stacks, ()),
    ("mxnet", ".params", small, ("d2l",)),
    pytest.param("keras", ".weights.h5", small, ("d2l",), marks=pytest.mark.long),
]


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("to", "suffix", "make", "arguments"), CASES)
def test_the_source_is_never_opened_again(tmp_path, monkeypatch, to, suffix, make, arguments):
    """Another file is in its place when the proof begins; no runner is told where it was. (A file that only pickle would be
    harmed by, which our reader takes, is closed in alike.)"""
    place, touched = tmp_path / f"m{suffix}", tmp_path / "executed"
    write_target(make(*arguments), find_target(to), place, {})
    true, requests = worker.call, []

    def replaced_first(runner, arrays, settings, **options):
        if runner not in READERS:
            requests.append(runner)
            place.write_bytes(pickle.dumps({"w": Marker(touched)}, 4))
            assert str(place) not in json.dumps(settings) and any(name.startswith("tensor.") for name in arrays)
        return true(runner, arrays, settings, **options)

    monkeypatch.setattr(worker, "call", replaced_first)
    report = tmb.port(place, tmp_path / "out", to="canonical")
    assert report.holds and requests and not touched.exists()


def test_unpickling_would_execute_the_marker(tmp_path):
    pickle.loads(pickle.dumps(Marker(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()


def test_a_pickle_that_our_reader_takes_is_never_unpickled(tmp_path, monkeypatch):
    """An array of 600 million objects is left at the bottom of the stack: whoever carries it out loses 4.8 GB."""
    model = small("d2l")
    write_target(model, find_target("paddle"), tmp_path / "m.pdparams", {})
    (tmp_path / "m.pdparams.config.json").unlink()
    data = (tmp_path / "m.pdparams").read_bytes()
    bomb = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(J" + (6 * 10**8).to_bytes(4, "little") + b"tC\x01OtR"
    (tmp_path / "m.pdparams").write_bytes(data[:2] + bomb + data[2:].removeprefix(b"\x95" + data[3:11]))
    try:
        source = read_source(tmp_path / "m.pdparams", None, HEADS)
    except PortError:
        return  # refused by the reader is as good
    seen = []

    def stopped(runner, arrays, settings):
        seen.append(settings)
        raise PortError("stopped")

    monkeypatch.setattr(worker, "call", stopped)
    refused("stopped", tmb.port, tmp_path / "m.pdparams", tmp_path / "out", to="canonical", config=HEADS)
    assert source.model.config and "path" not in seen[0]


def test_stacks_are_run_by_their_framework_and_what_is_around_them_by_us(tmp_path):
    write_target(stacks(), find_target("paddle_transformer"), tmp_path / "m.pdparams", {})
    report = tmb.port(tmp_path / "m.pdparams", tmp_path / "out", to="canonical")
    assert (
        report.proof.source_ran.startswith("the stacks of paddle 3") and report.origins["recorded"]["embedding_scale"] is True
    )
    (tmp_path / "m.pdparams.config.json").unlink()
    report = tmb.port(tmp_path / "m.pdparams", tmp_path / "other", to="canonical", config={"num_heads": 2})
    assert {"embedding_scale", "position", "sinusoid_layout"} <= set(report.origins["assumed"])
    assert any("computed by this project's own formula" in note for note in report.notes)


def test_every_family_of_tensors_is_known_to_the_cases():
    assert {name for name, family in FAMILIES.items() if family.kind == "tensors"} == {
        "d2l",
        "marian_npz",  # whose tests are test_marian_npz.py's
        "torch_transformer",
        "paddle_transformer",
    }
    assert np.array_equal(sorted([*d2l_classes.REQUIRES, "flax"]), sorted(d2l_classes.EPSILON))
