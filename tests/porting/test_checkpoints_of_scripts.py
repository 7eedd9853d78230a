"""Files as training scripts make them: what is taken for the model, what is left out and said, and what can be chosen."""

import re

import numpy as np
import pytest

from elsewhere import elsewhere
from transformer_mb.porting.files.sources import read_source, read_tensors
from transformer_mb.porting.formats.held import held

HEADS = {"num_heads": 2}


@pytest.fixture(scope="module")
def of_torch(tmp_path_factory):
    """See ``save_checkpoints``."""
    return elsewhere("porting.save_checkpoints:make_torch", folder=tmp_path_factory.mktemp("scripts"))[1]


TAKEN = {
    "averaged beside": ("model", r"left out: ema \(72 tensors, of the same names\)"),
    "averaged beside ema": ("ema", "weights of the settings chose ema"),
    "averaged alone": ("ema", "ema. was taken off the names of 72 tensors"),
    "averaged deep": ("model", r"left out: callbacks \(72 tensors, of the same names\)"),
    "averaged deep callbacks": ("ema", "EMA.shadow. was taken off"),
    "averaged in one ema": ("ema", "73 tensors that do not belong to 'ema' were left out"),
    "averaged in one online": ("model", "73 tensors that do not belong to 'online' were left out"),
    "averaged as a layer": ("model", "72 tensors .* were left out, and weights in the settings can choose 'ema_model'"),
    "swa": ("model", "n_averaged was left out: the weights are torch's AveragedModel's, of 1 models"),
    "configuration": ("model", ""),
    "two sides": ("model", ""),
    "lightning": ("model", "betas = .0.9, 0.98."),
    "two optimizers": ("model", "state was left out: optimizer_states hold 2, and none is told apart"),
    "unusual key": ("model", "betas = .0.9, 0.98."),
    "number": ("model", r"left out: log \(1 tensor, others\)"),
    "options": ("model", ""),
    "arrays": ("model", ""),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_model_is_found_and_all_else_that_has_tensors_is_named(name, of_torch):
    same, words = TAKEN[name]
    assert of_torch[name].get("same") == [same], of_torch[name]
    assert re.search(words, of_torch[name]["notes"]) and bool(words) == bool(of_torch[name]["notes"])
    assert of_torch[name]["step"] == ([3, [0.9, 0.98]] if name in ("lightning", "unusual key") else None)


REFUSED = {
    "averaged beside x": "weights must name tensors of the file beside its model, which are 'ema', got 'x'",
    "averaged in one": "the blocks of 2 models, behind 'online', 'ema': weights in the settings .* must say which one",
    "generator": "a part of the model elsewhere, in generator: tie_output = true: the file has no decoder.dense.weight",
    "larger optimizer": "optimizer's state speaks of a larger model .*decoder.dense.* tie_output = true: the file has no",
    "no tensors": "must hold tensors by name, got none: its keys are epoch, config",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_open_is_refused_and_says_what_there_is(name, of_torch):
    assert re.search(REFUSED[name], of_torch[name].get("error", "")), of_torch[name]


@pytest.fixture(scope="module")
def of_paddle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paddle_scripts")
    elsewhere("porting.save_checkpoints:make_paddle", folder=folder)
    return folder


PADDLE = {
    "first": (3, (0.9, 0.98), "3 were computed from the powers"),
    "second": (60, (0.8, 0.95), "60 were computed"),
    "usual": (60, (0.9, 0.999), "60 were computed"),
    "adamw": (3, (0.9, 0.999), "Whether it is Adam or AdamW, no such file tells"),
    "both": (3, (0.9, 0.999), r"left out: ema \(72 tensors, of the same names\)"),
    "amsgrad": (None, None, "state was left out: plain Adam has no moment2_max"),
    "bfloat16": (None, None, "72 tensors of bfloat16 were widened to float32"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PADDLE)
def test_what_paddle_itself_saved_is_read_with_its_own_decay_rates(name, of_paddle):
    step, betas, words = PADDLE[name]
    model = read_source(of_paddle / f"{name}.pdparams", None, HEADS).model
    assert (model.optimizer and int(model.optimizer["step"])) == step and model.betas == betas
    assert re.search(words, " ".join(model.notes))
    if name == "bfloat16":
        with np.load(of_paddle / "bfloat16.npz") as true:
            tensors = read_tensors(of_paddle / "bfloat16.pdparams", None, {}).tensors
            assert all(np.array_equal(tensors[key], true[key]) for key in true.files)


@pytest.fixture(scope="module")
def of_flax(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flax_scripts")
    elsewhere("porting.save_checkpoints:make_jax", folder=folder)
    return folder


@pytest.mark.long
def test_what_flax_itself_saved_is_read_with_whole_numbers_as_names_and_with_every_kind_of_adam_told(of_flax):
    pure, adam, adamw, amsgrad = (
        read_source(of_flax / f"{name}.msgpack", None, HEADS).model for name in ("pure", "adam", "adamw", "amsgrad")
    )
    assert all(np.array_equal(pure.weights[name], array) for name, array in adam.weights.items()) and not pure.notes
    assert int(adam.optimizer["step"]) == 1 and re.search(
        r"left out: ema_params \(72 tensors, of the same", " ".join(adam.notes)
    )
    assert int(adamw.optimizer["step"]) == 1 and "chains more than adam does" in " ".join(adamw.notes)
    assert amsgrad.optimizer is None and "plain Adam has no nu_max" in " ".join(amsgrad.notes)
    chosen = read_source(of_flax / "adam.msgpack", None, {**HEADS, "weights": "ema_params"}).model
    assert all(np.array_equal(chosen.weights[name], array * np.float32(1.5)) for name, array in adam.weights.items())
    assert chosen.optimizer is None


STATE = {"state": {0: {"step": 1, "exp_avg": np.ones(3)}}, "param_groups": [{"params": [0]}]}
OF_PADDLE = {"linear_0.w_0_moment1_0": np.ones(3)}
WEIGHTS = {"encoder.weight": np.ones((3, 3))}


def of(**entries):
    return held({"model": WEIGHTS, **entries}, "m.pt", lambda value: isinstance(value, np.ndarray))


@pytest.mark.parametrize(
    "entries",
    [
        {"optimizer": STATE},
        {"optimizer_states": [STATE]},
        {"optimizer": (STATE,)},
        {"optimizers": {"adam": STATE}},
        {"optimizers": [STATE]},
        {"optimizer_G": STATE},
        {"optimizers": {"adam": OF_PADDLE}},
    ],
)
def test_one_state_is_found_in_lists_and_dictionaries_of_states(entries):
    found = of(**entries)
    assert found.optimizer in (STATE, OF_PADDLE) and not found.others and not found.notes


@pytest.mark.parametrize("entries", [{"optimizers": {"a": STATE, "b": STATE}}, {"one": STATE, "two": [STATE]}])
def test_of_two_states_none_is_taken_and_a_note_says_so(entries):
    found = of(**entries)
    assert found.optimizer is None and "hold 2, and none is told apart" in found.notes[0] and not found.others


def test_a_list_of_other_things_is_no_state():
    found = of(shadow_params=[np.ones((3, 3))], history=[{"loss": 1.0}], opt_state={"0": {"mu": WEIGHTS}, "1": {}})
    assert list(found.others) == ["shadow_params"] and set(found.optimizer) == {"0", "1"}
