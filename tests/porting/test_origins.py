"""Where the fields of a configuration come from, what the report says of it, and what contradicts a source."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import BIASES, FEW, made, refused
from transformer_mb.cli.main import main
from transformer_mb.errors import PortError
from transformer_mb.porting.families import d2l, torch_transformer
from transformer_mb.porting.families.inferred_fields import inferred_fields
from transformer_mb.porting.files.config_beside import beside
from transformer_mb.porting.files.sources import read_file, read_source
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.inspection import inspect
from transformer_mb.porting.model import NativeFile
from transformer_mb.presets import PRESETS

SIZES = {**FEW, "encoder_num_heads": 2, "decoder_num_heads": 4}
FIELDS = {field.name for field in dataclasses.fields(tmb.TransformerConfig)}
FARTHEST = ("stepwise_prenorm", "notes_de_en")
CONTAINERS = [name for name, row in FORMATS.items() if row.write]


def config_of(preset, **changes):
    few = {
        f"{side}_num_layers": min(2, getattr(PRESETS[preset](13, 13), f"{side}_num_layers")) for side in ("encoder", "decoder")
    }
    return PRESETS[preset](13, 13, **SIZES, **few, **changes)


@pytest.fixture
def checkpoint(tmp_path):
    write_target(made(config_of("d2l", max_len=20)), find_target("canonical"), tmp_path / "ck", {})
    return tmp_path / "ck"


@pytest.fixture
def bare(checkpoint, tmp_path):
    """The same weights in a file without any configuration."""
    np.savez(tmp_path / "bare.npz", **read_source(checkpoint, None, {}).model.weights)
    return tmp_path / "bare.npz"


HEADS = {"encoder_num_heads": 2, "decoder_num_heads": 4}


def test_every_field_that_no_tensor_shows_is_listed(checkpoint, bare, tmp_path):
    report = tmb.port(bare, tmp_path / "out", to="canonical", config={**HEADS, "activation": "gelu"})
    shown = set(inferred_fields(read_source(checkpoint, None, {}).model.weights, {}))
    assert {name for fields in report.origins.values() for name in fields} == FIELDS - shown
    assert report.origins["given"] == {**HEADS, "activation": "gelu"} and report.origins["recorded"] == {}
    defaults = {field.name: field.default for field in dataclasses.fields(tmb.TransformerConfig)}
    for name, value in report.origins["assumed"].items():
        assert (tuple(value) if name == "suppress_ids" else value) == defaults[name], name
    text = "\n".join(report.lines())
    assert "given, taken on trust: encoder_num_heads = 2, decoder_num_heads = 4, activation = gelu" in text
    for name in ("embedding_scale", "norm_kind", "position", "sinusoid_layout", "position_offset", "max_len"):
        assert f"{name} = {defaults[name]}" in text.partition("assumed, ")[2].partition("\n")[0]
    assert json.loads(json.dumps(report.to_dict()))["origins"]["assumed"]["padding_vector_zero"] is False
    assert inspect(bare, None, HEADS).origins["given"] == HEADS
    again = tmb.port(checkpoint, tmp_path / "x.npz", to="npz")
    assert again.origins["given"] == again.origins["assumed"] == {} and again.origins["recorded"]["max_len"] == 20


def test_inspect_prints_the_origins(bare, tmp_path, capfd):
    (tmp_path / "settings.json").write_text(json.dumps(HEADS))
    assert main(["inspect", str(bare), "--config", str(tmp_path / "settings.json")]) == 0
    text = capfd.readouterr().out
    assert "given, taken on trust: encoder_num_heads = 2" in text and "embedding_scale = True" in text


@pytest.mark.parametrize("format_name", ["keras", "tensorflow", "flax", "torch"])
def test_what_is_assumed_is_the_default_unless_a_table_says_otherwise(format_name):
    """Under names that are not our own model's; those have our own epsilon."""
    config = config_of("d2l")
    got = d2l.read(NativeFile(format=format_name, tensors=made(config).weights), HEADS).config
    assert got == config.replace(norm_eps=d2l.EPSILON.get(format_name, 1e-5))


@pytest.mark.long(but=1)
@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_carries_the_configuration(tmp_path, name):
    """canonical -> container -> canonical, without settings.

    PyTorch's takes two processes each time: of it the two that differ most from what would be assumed.
    """
    for preset in FARTHEST if name == "torch" else PRESETS:
        config = config_of(preset)
        place = tmp_path / f"{preset}{FORMATS[name].suffix}"
        write_target(made(config), find_target(name), place, {})
        assert read_source(place, name, {}).model.config == config, preset
        assert beside(place).exists() == (name not in ("keras", "safetensors"))
    assert len(PRESETS) == 6


@pytest.mark.long
def test_ports_there_and_back_need_no_settings(tmp_path):
    """With both proofs; these two differ most from what would be assumed."""
    for preset in FARTHEST:
        write_target(made(config_of(preset)), find_target("canonical"), tmp_path / preset, {})
        tmb.port(tmp_path / preset, tmp_path / f"{preset}.params", to="mxnet")
        back = tmb.port(tmp_path / f"{preset}.params", tmp_path / f"{preset}.back", to="canonical")
        assert back.origins["given"] == {} and tmb.load(tmp_path / f"{preset}.back").config == config_of(preset)
        assert "our mxnet backend (mxnet 1.9.1) (D2L's own classes have no " in back.proof.source_ran


def test_a_companion_of_other_tensors_is_not_used(checkpoint, tmp_path):
    tmb.port(checkpoint, tmp_path / "m.npz", to="npz")
    weights = dict(read_file(tmp_path / "m.npz").tensors)
    weights["decoder.dense.bias"] = weights["decoder.dense.bias"] + 1
    np.savez(tmp_path / "m.npz", **weights)
    native = read_file(tmp_path / "m.npz")
    doubt = "m.npz.config.json is there but was not used, for it belongs to other tensors: m.npz was changed or damaged"
    assert native.settings == {} and native.doubt.startswith(doubt)
    with pytest.raises(PortError, match=f"^{doubt}.*m.npz.config.json can itself be given.*heads is in no weight file"):
        tmb.port(tmp_path / "m.npz", tmp_path / "back", to="canonical")
    assert len([line for line in inspect(tmp_path / "m.npz").odd if "other tensors" in line]) == 1
    for name, given in (("heads", {"num_heads": 4}), ("itself", beside(tmp_path / "m.npz"))):
        report = tmb.port(tmp_path / "m.npz", tmp_path / name, to="canonical", config=given)
        assert report.notes[0] == native.doubt


def test_what_is_wrong_with_a_file_of_a_folder_begins_with_the_folder(checkpoint, tmp_path):
    words = f"{checkpoint}/model.safetensors is a part of a canonical checkpoint: name the folder {checkpoint},"
    refused(f"^{words}.*number of heads", tmb.port, checkpoint / "model.safetensors", tmp_path / "back", to="npz")
    assert any(line.startswith(words) for line in inspect(checkpoint / "model.safetensors").odd)
    shutil.copy(checkpoint / "model.safetensors", tmp_path / "alone.safetensors")
    refused("^The number of heads", tmb.port, tmp_path / "alone.safetensors", tmp_path / "back", to="npz")


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"[" * 100_000, b'{"format": "other"}', b'{"format": "transformer_mb", "format_version": 9}', None]
)
def test_a_malformed_companion_is_one_clear_error(checkpoint, tmp_path, content):
    tmb.port(checkpoint, tmp_path / "m.npz", to="npz")
    place = beside(tmp_path / "m.npz")
    place.unlink()
    os.mkfifo(place) if content is None else place.write_bytes(content)
    with pytest.raises(
        PortError, match=r"m.npz.config.json .* It says how m.npz is configured: mend it or move it away"
    ) as raised:
        read_source(tmp_path / "m.npz", None, {})
    assert "\n" not in str(raised.value)


def test_fields_of_a_companion_are_checked(checkpoint, tmp_path):
    tmb.port(checkpoint, tmp_path / "m.npz", to="npz")
    described = json.loads(beside(tmp_path / "m.npz").read_text())
    described["config"]["source_vocabulary"] = "/dev/zero"
    beside(tmp_path / "m.npz").write_text(json.dumps(described))
    with pytest.raises(PortError, match="holds no valid configuration: Unknown configuration field.*source_vocabulary"):
        read_source(tmp_path / "m.npz", None, {})


WRONG = [
    ({"num_heads": 4}, "encoder_num_heads is 2, not 4"),
    ({"encoder_num_heads": 4, "decoder_num_heads": 2}, "encoder_num_heads is 2, not 4; decoder_num_heads is 4, not 2"),
    ({"norm_position": "pre", "activation": "gelu"}, "norm_position is 'post', not 'pre'; activation is 'relu', not 'gelu'"),
    ({"norm_eps": 0.1}, "norm_eps is 1e-05, not 0.1"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """One model in each kind of file that records its configuration."""
    folder = tmp_path_factory.mktemp("recorded")
    for kind in ("canonical", "safetensors", "keras", "npz"):
        write_target(made(config_of("d2l", max_len=20)), find_target(kind), folder / kind, {})
    return folder


@pytest.mark.parametrize(("settings", "words"), WRONG)
@pytest.mark.parametrize("kind", ["canonical", "safetensors", "keras", "npz"])
def test_what_the_source_records_is_not_overruled(recorded, tmp_path, kind, settings, words):
    place = recorded / kind
    with pytest.raises(PortError, match=f"settings contradict what the source itself shows or records: .*{words}"):
        tmb.port(place, tmp_path / "out", to="canonical", config=settings)
    assert not (tmp_path / "out").exists()


def test_a_setting_that_repeats_the_source_is_no_contradiction_and_decoding_may_change(checkpoint, tmp_path):
    tmb.port(checkpoint, tmp_path / "m.safetensors", to="safetensors", config=checkpoint / "config.json")
    said = {"suppress_ids": [5], "compat_decode": "d2l"}
    report = tmb.port(tmp_path / "m.safetensors", tmp_path / "out", to="canonical", config=said)
    assert report.origins["given"] == said and tmb.load(tmp_path / "out").config.suppress_ids == (5,)


def test_num_heads_beside_another_number_is_refused(bare):
    with pytest.raises(PortError, match="num_heads speaks of both sides, but beside it encoder_num_heads is 4, not 2"):
        read_source(bare, None, {"num_heads": 2, "encoder_num_heads": 4})


def test_num_heads_of_an_encoder_alone_is_that_of_its_side(tmp_path):
    """Of the side that is not there nothing is said."""
    config = tmb.TransformerConfig(architecture="encoder", source_vocab_size=11, num_hiddens=8, encoder_num_heads=2)
    write_target(made(config), find_target("canonical"), tmp_path / "ck", {})
    assert read_source(tmp_path / "ck", None, {"num_heads": 2}).model.config == config


def test_ignore_is_for_buffers_and_names_them(checkpoint, tmp_path):
    weights = dict(read_source(checkpoint, None, {}).model.weights)
    buffers = {f"encoder.pos_encoding.P{i}": np.zeros((1, 20, 7), np.float32) for i in range(30)}
    np.savez(tmp_path / "m.npz", **weights, **buffers, **{"other.mask": np.ones(3, bool)})
    for start in ("encoder.blks.block1", "decoder.dense.bias", "encoder.embedding", "encoder."):
        with pytest.raises(PortError, match="ignore is for buffers, but it names .* a part of the model"):
            read_source(tmp_path / "m.npz", None, {**HEADS, "ignore": [start]})
    notes = read_source(tmp_path / "m.npz", None, {**HEADS, "ignore": ["encoder.pos_encoding", "other.mask"]}).model.notes
    assert any("31 tensors were left out, as ignore says: encoder.pos_encoding.P0, " in n and "and 11 more" in n for n in notes)


def test_a_layout_that_no_shape_shows_is_said(tmp_path):
    config = tmb.presets.d2l(14, 14, num_hiddens=14, ffn_num_hiddens=14, encoder_num_heads=2, decoder_num_heads=2)
    np.savez(tmp_path / "square.npz", **made(config).weights)
    model = read_source(tmp_path / "square.npz", None, {"num_heads": 2}).model
    assert any("linear_layout = out_in was assumed" in note for note in model.notes)
    model = read_source(tmp_path / "square.npz", None, {"num_heads": 2, "linear_layout": "in_out"}).model
    assert not any("linear_layout" in note for note in model.notes)
    np.savez(tmp_path / "other.npz", **made(config_of("d2l")).weights)
    assert not read_source(tmp_path / "other.npz", None, HEADS).model.notes


@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool])
def test_whole_numbers_and_truth_values_are_no_weights(checkpoint, tmp_path, dtype):
    weights = {name: (array * 100).astype(dtype) for name, array in read_source(checkpoint, None, {}).model.weights.items()}
    np.savez(tmp_path / "m.npz", **weights)
    with pytest.raises(PortError, match=f"must be floating-point numbers, but {len(weights)} tensors are not: .*decoder.dense"):
        tmb.port(tmp_path / "m.npz", tmp_path / "out.npz", to="npz", config=HEADS)
    assert not (tmp_path / "out.npz").exists()


def test_in_the_stacks_of_torch(tmp_path):
    config = config_of("d2l", **BIASES, final_norm=True).replace(decoder_num_heads=2)
    native = torch_transformer.ROW.write(made(config), "torch", {})
    tensors = {**native.tensors, "transformer.encoder.norm.bias": np.arange(8)}
    with pytest.raises(PortError, match=r"but 1 tensor is not: 'transformer.encoder.norm.bias' .int64"):
        torch_transformer.ROW.read(NativeFile(format="torch", tensors=tensors), {"num_heads": 2})
    model = torch_transformer.ROW.read(native, {"num_heads": 2})
    assert any("computed by this project's own formula" in note for note in model.notes)
