"""A part of a model is never taken for all of it, and what is concluded from absence is said."""

import json
import pickle
import re

import msgpack
import numpy as np
import pytest
from safetensors.numpy import save_file

import transformer_mb as tmb
from porting.small_model import CONFIG, built, refused
from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.formats.adam_powers import inferred, powers_after
from transformer_mb.porting.inspection import inspect

HEADS = {"num_heads": 4}


@pytest.fixture(scope="module")
def weights():
    return built(CONFIG).weights


def without(weights, *parts):
    return {name: array for name, array in weights.items() if not any(part in name for part in parts)}


def shards(folder, weights, names=("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"), save=save_file):
    """As ``save_pretrained`` lays them, the output by itself."""
    folder.mkdir(exist_ok=True)
    parts = {names[0]: without(weights, "decoder.dense"), names[1]: {n: a for n, a in weights.items() if "decoder.dense" in n}}
    for name, part in parts.items():
        save(part, folder / name)
    places = {tensor: name for name, part in parts.items() for tensor in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "m-00001-of-00002.safetensors",
        "m_1_of_3.safetensors",
        "m.00001-of-00002",
        "pytorch_model-00002-of-00002.bin",
        "part2of2.x",
    ],
)
def test_a_name_of_one_of_several_is_refused_and_inspected_as_such(tmp_path, weights, name):
    save_file(without(weights, "decoder.dense"), tmp_path / name)
    refused(r"by its name part [12] of [23] of a model: name the index", read_source, tmp_path / name, None, HEADS)
    found = inspect(tmp_path / name, settings=HEADS)
    assert found.config is None and any("by its name part" in odd for odd in found.odd)


@pytest.mark.parametrize("name", ["model-00001-of-00001.safetensors", "epoch-3-of-10.safetensors", "fold_1of5.safetensors"])
def test_a_whole_file_with_numbers_in_its_name_is_read(tmp_path, weights, name):
    save_file(weights, tmp_path / name)
    assert not read_source(tmp_path / name, None, HEADS).model.notes


def test_shards_are_read_whole_by_their_folder_and_by_their_index(tmp_path, weights):
    folder = shards(tmp_path / "whole", weights, names=("a.safetensors", "b.safetensors"))
    for path in (folder, folder / "model.safetensors.index.json"):
        model = read_source(path, None, HEADS).model
        assert all(np.array_equal(model.weights[name], array) for name, array in weights.items()) and not model.notes
    with pytest.raises(
        PortError, match=r"one of 2 files of a model, which model.safetensors.index.json lists: name .*index.json"
    ):
        read_source(folder / "a.safetensors", None, HEADS)
    (folder / "b.safetensors").unlink()
    refused(r"lists 2 files, but 1 of them are not there: b.safetensors", read_source, folder, None, HEADS)
    save_file({"other": np.zeros(2, np.float32)}, folder / "b.safetensors")
    refused(r"lists 2 tensors that its files do not hold: decoder.dense", read_source, folder, None, HEADS)


def test_an_index_names_no_file_outside_of_its_folder(tmp_path, weights):
    folder = shards(tmp_path / "whole", weights)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../x.safetensors", "b": "y"}}))
    refused("weight_map must give a file of this folder", read_source, folder / "model.safetensors.index.json", None, HEADS)


def test_the_source_of_a_port_is_all_of_its_shards(tmp_path, weights):
    folder = shards(tmp_path / "whole", weights)
    shard = folder / "model-00002-of-00002.safetensors"
    before = shard.read_bytes()
    refused("apart from its source", tmb.port, folder, shard, to="safetensors", config=HEADS, force=True)
    assert shard.read_bytes() == before


CONCLUDED = {
    "tie_output = true: the file has no decoder.dense.weight": ("decoder.dense.weight",),
    "output_bias = false: the file has no decoder.dense.bias": ("decoder.dense.bias",),
    "ffn_bias = false: ": ("ffn.dense1.bias", "ffn.dense2.bias"),
    "norm_kind = rms_norm: the file has no shift": ("ln.bias",),
    "architecture = encoder: the file has no tensor of the decoder": ("decoder.",),
}


@pytest.mark.parametrize("words", CONCLUDED)
def test_what_is_concluded_from_absence_is_said(tmp_path, weights, words):
    np.savez(tmp_path / "m.npz", **without(weights, *CONCLUDED[words]))
    model = read_source(tmp_path / "m.npz", None, HEADS).model
    assert words in " ".join(model.notes) and words in " ".join(inspect(tmp_path / "m.npz", settings=HEADS).odd)
    said = {**HEADS, words.split(" = ")[0]: getattr(model.config, words.split(" = ")[0])}
    assert words not in " ".join(read_source(tmp_path / "m.npz", None, said).model.notes)


def test_moments_of_what_is_not_there_speak_against_it(tmp_path, weights):
    moments = {f"optimizer.{slot}.{name}": np.abs(array) for slot in "mv" for name, array in weights.items()}
    rest = without(weights, "decoder.dense.weight")
    np.savez(tmp_path / "m.npz", **rest, **moments, **{"optimizer.step": np.array(3)})
    with pytest.raises(PortError, match=r"speaks of a larger model \(moments of decoder.dense.weight\).* tie_output = true"):
        read_source(tmp_path / "m.npz", None, HEADS)


def test_a_side_with_fewer_blocks_is_said(tmp_path, weights):
    more = {name.replace("block0", "block1"): array for name, array in weights.items() if "decoder.blks" in name}
    np.savez(tmp_path / "m.npz", **weights, **more)
    notes = read_source(tmp_path / "m.npz", None, HEADS).model.notes
    assert notes == ("encoder_num_layers = 1: the file has no encoder.blks.block1.",)


def packed(array):
    return msgpack.ExtType(1, msgpack.packb((array.shape, array.dtype.name, array.tobytes()), use_bin_type=True))


def nested(weights):
    tree = {}
    for name, array in weights.items():
        *levels, leaf = name.split(".")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        place[leaf] = packed(array)
    return tree


def test_another_entry_of_any_container_speaks_against_a_tie(tmp_path, weights):
    head = {"weight": weights["decoder.dense.weight"]}
    rest = without(weights, "decoder.dense")
    (tmp_path / "a.pdparams").write_bytes(pickle.dumps({"model": rest, "generator": head}, 4))
    tree = {"params": nested(rest), "generator": {"weight": packed(head["weight"])}}
    (tmp_path / "b.msgpack").write_bytes(msgpack.packb(tree))
    for name in ("a.pdparams", "b.msgpack"):
        settings = {**HEADS, "linear_layout": "out_in"}
        refused("a part of the model elsewhere, in generator: tie_output = true", read_source, tmp_path / name, None, settings)
        said = read_source(tmp_path / name, None, {**settings, "tie_output": True, "output_bias": False}).model
        assert re.search(r"left out: generator \(1 tensor, others\)", " ".join(said.notes))


OUTER = {
    "net.": lambda name: f"net.{name}",
    "_orig_mod": lambda name: name.replace("encoder.", "encoder._orig_mod."),
    "_fsdp_wrapped_module": lambda name: name.replace("block0.", "block0._fsdp_wrapped_module._checkpoint_wrapped_module."),
    "module": lambda name: f"module.model._orig_mod.{name}",
}


@pytest.mark.parametrize("ending", ["npz", "safetensors", "pdparams", "msgpack"])
@pytest.mark.parametrize("outer", OUTER)
def test_wrappers_and_outer_modules_are_no_part_of_a_name_in_any_container(tmp_path, weights, outer, ending):
    named = {OUTER[outer](name): array for name, array in weights.items()}
    moments = {f"optimizer.{slot}.{name}": np.abs(array) for slot in "mv" for name, array in named.items()}
    path = tmp_path / f"m.{ending}"
    if ending == "npz":
        np.savez(path, **named, **moments, **{"optimizer.step": np.array(3)})
    elif ending == "safetensors":
        save_file(named, path)
    else:
        content = pickle.dumps(named, 4) if ending == "pdparams" else msgpack.packb(nested(named))
        path.write_bytes(content)
    model = read_source(path, None, {**HEADS, "linear_layout": "out_in"}).model
    assert all(np.array_equal(model.weights[name], array) for name, array in weights.items())
    entry = ending == "msgpack" and outer in ("net.", "module")  # there these are entries that models usually have
    assert entry or outer in " ".join(model.notes)
    assert ending != "npz" or all(np.array_equal(model.optimizer[f"m.{n}"], np.abs(a)) for n, a in weights.items())


@pytest.mark.parametrize(
    ("slot", "number", "words"),
    [
        ("m", np.nan, "moments must be finite, but those of decoder.dense.weight are not"),
        ("v", np.inf, "moments must be finite, but those of decoder.dense.weight are not"),
        ("v", -1e-9, "a mean of squares cannot be negative, but that of decoder.dense.weight is"),
    ],
)
def test_moments_that_no_training_can_go_on_from_stay_behind(tmp_path, weights, slot, number, words):
    moments = {f"optimizer.{kind}.{name}": np.ones_like(array) for kind in "mv" for name, array in weights.items()}
    state = {"optimizer.step": np.int64(3), **moments}
    np.savez(tmp_path / "good.npz", **weights, **state)
    assert read_source(tmp_path / "good.npz", None, HEADS).model.optimizer
    state[f"optimizer.{slot}.decoder.dense.weight"].flat[5] = number
    np.savez(tmp_path / "odd.npz", **weights, **state)
    model = read_source(tmp_path / "odd.npz", None, HEADS).model
    assert model.optimizer is None and f"The optimizer's state was left out: {words}." in model.notes


def test_names_that_are_shared_in_safetensors_are_read_from_its_metadata(tmp_path, weights):
    """As ``safetensors.torch.save_model`` writes a tied model."""
    rest = without(weights, "embedding.weight")
    tied = {"decoder.dense.weight": "encoder.embedding.weight", "decoder.embedding.weight": "encoder.embedding.weight"}
    table = rest.pop("decoder.dense.weight")
    kept = {**rest, "decoder.dense.weight": table}
    left = dict.fromkeys(("encoder.embedding.weight", "decoder.embedding.weight"), "decoder.dense.weight")
    save_file(kept, tmp_path / "m.safetensors", {"format": "pt", **left})
    model = read_source(tmp_path / "m.safetensors", None, HEADS).model
    assert model.config.share_embeddings and model.config.tie_output and len(tied) == len(left)
    assert np.array_equal(model.weights["encoder.embedding.weight"], table)
    assert not any("the file has no" in note for note in model.notes)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.9, 0.98), (0.8, 0.95), (0.95, 0.99), (0.9, 0.997)])
def test_steps_and_decay_rates_come_back_from_their_powers(betas):
    for step in (0, 1, 2, 7, 60, 300):
        powers = tuple(np.cumprod(np.full(step + 1, beta, np.float32))[-1:] for beta in betas)  # as Paddle multiplies them
        assert [float(p[0]) for p in powers] == [float(powers_after(step, beta)[0]) for beta in betas]
        assert inferred(powers, None) == (step, betas) and inferred(powers, betas) == (step, betas)
        assert "no number of steps" in str(inferred(powers, (betas[0], 0.9995)))


def test_powers_that_are_too_small_tell_nothing_false():
    """After 5,000 steps beta1's power is stuck; beta2's is one of few, or out of numbers itself."""
    powers = np.float32([5.6e-45]), powers_after(5000, 0.999)
    assert inferred(powers, None) == (5000, (0.9, 0.999))
    assert "too small to tell" in str(inferred((np.float32([5.6e-45]), powers_after(5000, 0.98)), None))
    assert "too small to tell" in str(inferred((np.float32([0.0]), np.float32([0.0])), None))
    assert "say the rates as betas" in str(inferred((np.float32([0.0]), np.float32([0.123])), None))


def test_a_header_of_numpy_that_cannot_be_read_is_told_without_advice_to_trust_it(tmp_path):
    import zipfile

    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" + b" " * 20_000 + b"\n"
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(4))
    with pytest.raises(PortError, match="must begin with a header of at most 10,000 bytes") as raised:
        read_native(tmp_path / "m.npz")
    assert "pickle" not in str(raised.value) and "trust" not in str(raised.value)


def test_a_state_of_optax_whose_count_is_no_number_leaves_the_weights(tmp_path, weights):
    for count in ({"a": packed(np.zeros(1))}, 2.5, packed(np.zeros(2, np.int32))):
        state = {"0": {"count": count, "mu": nested(weights), "nu": nested(weights)}, "1": {}}
        (tmp_path / "m.msgpack").write_bytes(msgpack.packb({"params": nested(weights), "opt_state": state}))
        model = read_source(tmp_path / "m.msgpack", None, {**HEADS, "linear_layout": "out_in"}).model
        assert model.optimizer is None and "its count must be one whole number" in " ".join(model.notes)


@pytest.mark.parametrize(
    "name",
    ["mp_rank_00_model_states.safetensors", "model.part1.safetensors", "consolidated.00.safetensors", "m_tp00.safetensors"],
)
def test_a_name_of_parallel_training_is_believed_where_something_is_missing(tmp_path, weights, name):
    save_file(without(weights, "decoder.dense"), tmp_path / name)
    with pytest.raises(PortError, match=r"may be one of several, as \S+ in its name says: tie_output = true: the file has no"):
        read_source(tmp_path / name, None, HEADS)
    assert read_source(tmp_path / name, None, {**HEADS, "tie_output": True, "output_bias": False}).model.config.tie_output
    save_file(weights, tmp_path / name)
    assert not read_source(tmp_path / name, None, HEADS).model.notes


def test_an_output_that_ignore_leaves_out_makes_no_tied_model(tmp_path, weights):
    file, ignored = tmp_path / "m.npz", {**HEADS, "ignore": ["generator"]}
    others = without(weights, "decoder.dense")
    np.savez(file, **others, **{"generator.weight": weights["decoder.dense.weight"]})
    refused("ignore must not name the output, but generator.weight may be it", read_source, file, None, ignored)
    np.savez(file, **others, **{"generator.weight": weights["decoder.embedding.weight"]})  # once more: it is tied indeed
    assert read_source(file, None, ignored).model.config.tie_output
