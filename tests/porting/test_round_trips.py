"""Weights and Adam's state through every pair of formats, bit for bit, from checkpoints trained in each framework."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.built_in import BUILT_IN
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.porting.files.config_beside import beside
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import CARRYING, find_target, write_target
from transformer_mb.porting.formats import FORMATS

WRITABLE = ["canonical", *(name for name, row in FORMATS.items() if row.write)]
# What each framework itself has written, and whether Adam's state is in it.
NATIVE = [
    ("numpy", "model.npz", True),
    ("torch", "model.pt", False),
    ("torch", "training.pt", True),
    ("paddle", "model.pdparams", False),
    ("mxnet", "model.params", False),
    ("tensorflow", "model.weights.h5", False),
    ("tensorflow", "model.index", False),
    ("jax", "model.msgpack", False),
]
UNSAID = {"num_heads": 2, "max_len": 20, "norm_eps": 1e-5, "dropout": 0.0}


def same(got, expected):
    return set(got) == set(expected) and all(
        got[name].dtype == expected[name].dtype and got[name].tobytes() == expected[name].tobytes() for name in expected
    )


@pytest.mark.long(but=2)
@pytest.mark.parametrize(("backend", "file", "with_adam"), NATIVE)
def test_what_a_framework_saved_is_read_bit_for_bit(trained_on, backend, file, with_adam):
    checkpoint = read_checkpoint(trained_on(backend) / "canonical")
    source = read_source(trained_on(backend) / file, None, UNSAID)
    assert source.family.name == "d2l" and source.model.config == checkpoint.config
    assert same(source.model.weights, checkpoint.weights)
    assert int(checkpoint.optimizer["step"]) == 3 and any(a.any() for n, a in checkpoint.optimizer.items() if n != "step")
    assert (source.model.optimizer is not None) == with_adam
    if with_adam:
        assert same(source.model.optimizer, checkpoint.optimizer)


def through(model, name, place):
    """Written, and read again as another program would."""
    notes = write_target(model, find_target(name), place, {}).notes
    return read_source(place, None, model.config.to_dict()).model, notes


def check_pairs(folder, place, pairs):
    """canonical -> first -> second, for each pair, the second being read back at the end."""
    checkpoint = read_checkpoint(folder)
    original = read_source(folder, None, {}).model
    firsts = {}
    for number, (first, second) in enumerate(pairs):
        if first not in firsts:
            firsts[first] = through(original, first, place / f"{number}.first")[0]
        got, notes = through(firsts[first], second, place / f"{number}.second")
        assert same(got.weights, checkpoint.weights), (first, second)
        assert got.config == checkpoint.config
        if first in CARRYING and second in CARRYING:
            assert same(got.optimizer, checkpoint.optimizer), (first, second)
        elif first in CARRYING:
            assert got.optimizer is None and any("optimizer's state was dropped" in note for note in notes)
    return len(pairs)


PAIRS = [(first, second) for first in WRITABLE for second in WRITABLE if first != second]


def test_the_table_names_what_carries_adam():
    assert CARRYING == ("canonical", "torch", "paddle", "flax", "npz")
    assert len(WRITABLE) == 8 and len(PAIRS) == 56


@pytest.mark.long(but=2)
@pytest.mark.parametrize("backend", ["numpy", "torch", "paddle", "mxnet"])
def test_pairs_of_formats(trained_on, tmp_path, backend):
    """Each pair once over the four; starting torch takes two seconds, so two of its pairs as the second are here."""
    quick = [pair for pair in PAIRS if "torch" not in pair or pair in (("torch", "paddle"), ("flax", "torch"))]
    share = quick[["numpy", "torch", "paddle", "mxnet"].index(backend) :: 4]
    assert check_pairs(trained_on(backend) / "canonical", tmp_path, share) >= 10


@pytest.mark.long
@pytest.mark.parametrize("backend", BUILT_IN)
def test_every_ordered_pair_of_formats(trained_on, tmp_path, backend):
    assert check_pairs(trained_on(backend) / "canonical", tmp_path, PAIRS) == 56


SWITCHES = {
    "pre-norm with final norms": {"norm_position": "pre", "final_norm": True},
    "learned positions, tied": {"position": "learned", "tie_output": True, "output_bias": False},
    "one table for all": {"source_vocab_size": 13, "share_embeddings": True, "tie_output": True},
    "no affine, no ffn bias": {"norm_affine": False, "ffn_bias": False},
    "a gated network": {"ffn_gated": True, "ffn_bias": False},
    "embedding norm, all biases": {"embedding_norm": True, "encoder_attention_bias": True, "decoder_attention_bias": True},
}


@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES)
@pytest.mark.parametrize("name", [name for name in WRITABLE if name not in ("torch", "canonical")])
def test_every_switch_is_read_from_names_and_shapes(tmp_path, name, switches):
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2, "max_len": 20}
    config = tmb.TransformerConfig(**{"source_vocab_size": 11, "target_vocab_size": 13, **sizes, **switches})
    backend = tmb.get_backend("numpy")
    tmb.save(backend.build(config, seed=1), tmp_path / "model")
    model = read_source(tmp_path / "model", None, {}).model
    write_target(model, find_target(name), tmp_path / "file", {})
    beside(tmp_path / "file").unlink(missing_ok=True)
    # What shapes cannot show is said; all that they show is left out.
    said = {"num_heads": 2, "norm_eps": 1e-5, "norm_position": config.norm_position}
    said |= {} if config.position == "learned" else {"max_len": 20}
    got = read_source(tmp_path / "file", None, said).model
    assert got.config == config and same(got.weights, model.weights)


def test_a_tensor_that_was_changed_is_seen():
    array = {"a": np.zeros(2, np.float32)}
    assert same(array, {"a": np.zeros(2, np.float32)})
    assert not same(array, {"a": np.array([0.0, -0.0], np.float32)})
    assert not same(array, {"a": np.zeros(2)}) and not same(array, {})
