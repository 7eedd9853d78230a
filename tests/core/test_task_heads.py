"""Parts for tasks on top of a model's states: sums by hand, the states that they are given, and their files."""

import json
import math

import numpy as np
import pytest
from safetensors.numpy import save_file

import transformer_mb as tmb
from transformer_mb.checkpoint.beside import Carried, read_carried, read_heads, write_carried, write_heads
from transformer_mb.errors import CheckpointError, ConfigError
from transformer_mb.task_heads import ACTIVATIONS, Head, Step, decoder_states, task_outputs

SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2, "max_len": 12}
ENCODER = tmb.TransformerConfig(architecture="encoder", source_vocab_size=11, pooler=True, **SIZES)
SOURCE, LENS = np.array([[4, 5, 3, 6], [7, 3, 1, 1]]), np.array([4, 2])
WEIGHT, BIAS = np.arange(16.0).reshape(2, 8), np.array([0.5, -1.0])
HEAD = Head(task="labels", takes="first", steps=(Step("linear", "w", "b"),), tensors={"w": WEIGHT, "b": BIAS})


def with_takes(takes, **changes):
    return Head(task=takes, takes=takes, steps=HEAD.steps, tensors=HEAD.tensors, **changes)


@pytest.fixture(scope="module")
def numpy():
    return tmb.get_backend("numpy", dtype="float64")


def test_a_linear_step_by_hand():
    states = np.eye(8)[:2]
    assert HEAD.apply(states, ENCODER).tolist() == [[0.5, 7.0], [1.5, 8.0]]


def test_the_steps_are_done_in_turn():
    """tanh after the linear layer, and a normalization of numbers whose mean is 2 and whose variance is 1."""
    head = Head(task="x", steps=(*HEAD.steps, Step("tanh")), tensors=HEAD.tensors)
    assert np.allclose(head.apply(np.eye(8)[:1], ENCODER), np.tanh([[0.5, 7.0]]))
    norm = Head(task="x", steps=(Step("norm", "g", "b"),), tensors={"g": np.full(2, 3.0), "b": np.full(2, 10.0)})
    epsilon = ENCODER.norm_eps
    assert np.allclose(norm.apply(np.array([[1.0, 3.0]]), ENCODER), 10 + np.array([[-3.0, 3.0]]) / math.sqrt(1 + epsilon))


def test_a_tied_step_takes_the_table():
    head = Head(task="x", steps=(Step("tied", "w", "b"),), tensors={"b": np.zeros(3)})
    table = np.arange(24.0).reshape(3, 8)
    assert np.array_equal(head.apply(np.eye(8)[:1], ENCODER, table), table.T[:1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("relu", [0.0, 0.0, 2.0]),
        ("gelu", [-0.1586552539, 0.0, 1.9544997361]),  # x * the normal distribution's integral up to x
        ("gelu_tanh", [-0.1588080094, 0.0, 1.9545976940]),
        ("silu", [-0.2689414214, 0.0, 1.7615941560]),
    ],
)
def test_the_activations(name, expected):
    assert np.allclose(ACTIVATIONS[name](np.array([-1.0, 0.0, 2.0])), expected, atol=1e-9)


def test_each_head_is_given_its_states(numpy):
    model = numpy.build(ENCODER, seed=3)
    states = numpy.encode(model, SOURCE, LENS)
    heads = tuple(map(with_takes, ("all", "first", "last", "pooled", "end")))
    found = task_outputs(numpy, model, heads, SOURCE, LENS)
    weights = numpy.get_weights(model)
    pooled = np.tanh(states[:, 0] @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    places = {"first": [0, 0], "last": [3, 1], "end": [2, 1]}  # the end token is 3
    for name, columns in places.items():
        assert np.allclose(found[name], states[[0, 1], columns] @ WEIGHT.T + BIAS, atol=1e-13)
    assert np.allclose(found["pooled"], pooled @ WEIGHT.T + BIAS, atol=1e-13)
    assert np.allclose(found["all"][0], states[0] @ WEIGHT.T + BIAS, atol=1e-13) and not found["all"][1, 2:].any()


@pytest.mark.parametrize("rows", [5, 23])
def test_the_states_of_a_decoder_are_those_before_its_output(rows, numpy):
    """The batches have fewer tokens than the model is wide, and more."""
    config = tmb.TransformerConfig(source_vocab_size=11, target_vocab_size=rows, tie_output=True, **SIZES)
    model = numpy.build(config, seed=1)
    target = np.array([[2, 4, 1], [2, 3, 3]])
    weights = numpy.get_weights(model)
    states = decoder_states(numpy, config, weights, SOURCE, target, LENS)
    logits = states @ weights["decoder.embedding.weight"].T + weights["decoder.dense.bias"]
    assert states.shape == (2, 3, 8)
    assert np.allclose(logits, numpy.logits(model, SOURCE, target, LENS), atol=1e-13)


def test_a_decoder_reads_the_source_a_step_later(numpy):
    config = tmb.TransformerConfig(source_vocab_size=11, target_vocab_size=11, **SIZES)
    model = numpy.build(config, seed=1)
    shifted = np.array([[config.start_id, 4, 5, 3], [config.start_id, 7, 3, 1]])
    states = decoder_states(numpy, config, numpy.get_weights(model), SOURCE, shifted, LENS)
    found = task_outputs(numpy, model, (with_takes("end"),), SOURCE, LENS)["end"]
    assert np.allclose(found, states[[0, 1], [2, 1]] @ WEIGHT.T + BIAS, atol=1e-13)


def test_a_row_without_its_end_is_refused(numpy):
    with pytest.raises(ConfigError, match="Each row must hold its end token 3, but 1 do not"):
        task_outputs(numpy, numpy.build(ENCODER), (with_takes("end"),), SOURCE, np.array([2, 2]))


def test_what_is_not_known_is_not_run(numpy):
    assert task_outputs(numpy, numpy.build(ENCODER), (Head(task="", tensors={"x": WEIGHT}),), SOURCE, LENS) == {}
    with pytest.raises(ConfigError, match="A step must be one of linear, .*got 'exec'"):
        Head(task="x", steps=(Step("exec"),))
    with pytest.raises(ConfigError, match="takes must be one of all, first"):
        Head(task="x", takes="some")


def test_heads_come_back_from_their_file(tmp_path):
    heads = (HEAD, Head(task="", tensors={"kept.weight": WEIGHT.astype(np.float32)}))
    write_heads(tmp_path, heads)
    back = read_heads(tmp_path)
    assert [(one.task, one.takes, one.steps) for one in back] == [(one.task, one.takes, one.steps) for one in heads]
    assert all(np.array_equal(back[0].tensors[name], HEAD.tensors[name]) for name in HEAD.tensors)
    assert read_heads(tmp_path / "nowhere") == ()


@pytest.mark.parametrize(
    "described",
    ["", "{}x", "[1]", json.dumps([{"task": "x"}]), json.dumps([{**{"task": "x", "made_by": ""}, "takes": "gone"}])],
)
def test_a_file_of_heads_that_says_nothing_is_refused(described, tmp_path):
    save_file({"w": WEIGHT}, tmp_path / "heads.safetensors", {"heads": described})
    with pytest.raises(CheckpointError, match="must say in its metadata what its parts compute"):
        read_heads(tmp_path)


def test_carried_files_come_back_as_they_were(tmp_path):
    files = {"config.json": b'{"a": 1}', "empty.txt": b"", "spiece.model": bytes(range(256))}
    write_carried(tmp_path, Carried(files, "bart"))
    assert read_carried(tmp_path) == Carried(files, "bart")
    save_file({"config.json": WEIGHT}, tmp_path / "carried.safetensors")
    with pytest.raises(CheckpointError, match="must hold files as bytes"):
        read_carried(tmp_path)


def test_a_model_saved_over_them_would_lose_them(numpy, tmp_path):
    model = numpy.build(ENCODER)
    tmb.save(model, tmp_path / "model")
    for name in ("heads.safetensors", "generation_config.json"):
        write_heads(tmp_path / "model", (HEAD,) if name.startswith("heads") else ())
        (tmp_path / "model" / "generation_config.json").write_text("{}")
        with pytest.raises(CheckpointError, match="parts for tasks, settings of decoding or files of the library"):
            tmb.save(model, tmp_path / "model")
        tmb.save(model, tmp_path / "model", force=True)
        assert not (tmp_path / "model" / name).exists()
