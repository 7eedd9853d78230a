"""What lies in an export is compared with the weights, and the engine runs all that it can show."""

from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import made
from transformer_mb.errors import PortError
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.model_cases import CONFIGS, DECODER, ENCODER
from transformer_mb.porting.exports import EXPORTS, ctranslate2_variables, onnx
from transformer_mb.porting.files.targets import NAMED, find_target, write_target

ENGINES = list(EXPORTS)
SMALL = ENCODER.replace(max_len=20)
CHANGES = {
    "the pooler negated": ("pooler.dense.weight", lambda array: -array),
    "token types three times": ("encoder.type_embedding.weight", lambda array: 3 * array),
    "positions from 8 on": ("encoder.pos_embedding.weight", lambda array: np.concatenate([array[:8], -array[8:]])),
}


@pytest.fixture
def checkpoint(tmp_path):
    def make(config):
        write_target(made(config), find_target("canonical"), tmp_path / "ck", {})
        return tmp_path / "ck"

    return make


def plant(monkeypatch, engine, change):
    """Weights that change on their way into the export."""
    true = EXPORTS[engine]

    def write(model, folder):
        true.write(replace(model, weights=change(model.weights)), folder)

    monkeypatch.setitem(NAMED, engine, replace(true, write=write))


@pytest.mark.long(but=2)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_that_change_in_an_export_are_seen_twice(checkpoint, tmp_path, monkeypatch, engine, change):
    """In what is stored, and in what the engine computes."""
    name, changed = CHANGES[change]
    plant(monkeypatch, engine, lambda weights: {**weights, name: changed(weights[name])})
    with pytest.raises(PortError, match=r"the error of (encoder|pooled) is .* tensors? read back different: ") as raised:
        tmb.port(checkpoint(SMALL), tmp_path / "out", to=engine)
    assert name in str(raised.value) and not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_bit_that_no_output_shows_is_seen(checkpoint, tmp_path, monkeypatch, engine):
    name = "decoder.blks.block1.attention2.W_v.weight"

    def one_bit(weights):
        array = np.array(weights[name], np.float32)
        array[0, 0] = np.nextafter(array[0, 0], np.float32(9))
        return {**weights, name: array}

    plant(monkeypatch, engine, one_bit)
    with pytest.raises(PortError, match=f"nothing is written: . tensors? read back different: .*{name}"):
        tmb.port(checkpoint(CONFIGS["d2l"]), tmp_path / "out", to=engine)


KINDS = {
    "encoder, types scaled": SMALL.replace(embedding_scale=True),
    "decoder alone": DECODER,
    "shared, tied, one token never": CONFIGS["shared and tied, padding"],
    "no affine, no biases": CONFIGS["no affine, no ffn bias"],
    "learned from 2": CONFIGS["learned positions, tied"].replace(position_offset=2),
}


@pytest.mark.long(but=4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_weight_is_found_and_nothing_else(checkpoint, tmp_path, engine, kind):
    config = KINDS[kind]
    report = tmb.port(checkpoint(config), tmp_path / "out", to=engine)
    assert set(report.proof.checksums) == set(parameter_shapes(config)) and not report.proof.changed
    assert ("pooled" in report.proof.errors) == config.pooler


def test_what_cannot_be_explained_is_a_failure(checkpoint, tmp_path, monkeypatch):
    true = onnx.encoder_graph

    def with_more(model):
        graph = true(model)
        graph.table("stowaway", np.ones(3))
        return graph

    monkeypatch.setattr(onnx, "encoder_graph", with_more)
    with pytest.raises(PortError, match="1 stored tensor is not of the model: stowaway of encoder.onnx"):
        tmb.port(checkpoint(CONFIGS["d2l"]), tmp_path / "out", to="onnx")


def test_weights_beside_an_onnx_file_are_read_too(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx, "LARGEST", 1000)
    report = tmb.port(checkpoint(CONFIGS["d2l"].replace(num_hiddens=32)), tmp_path / "out", to="onnx")
    assert (tmp_path / "out" / "encoder.onnx.data").exists() and len(report.proof.checksums) == report.tensors


@pytest.mark.parametrize("content", [b"", b"\x06\0\0\0", b"\x05\0\0\0" + bytes(9), b"\x06\0\0\0\xff\xff" + bytes(99)])
def test_a_damaged_model_bin(tmp_path, content):
    (tmp_path / "model.bin").write_bytes(content)
    with pytest.raises(ValueError):
        ctranslate2_variables.read_variables(tmp_path / "model.bin")
