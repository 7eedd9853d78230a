"""Adam's state in the frameworks' own optimizers: taken over from our files, and read from theirs."""

import re
from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere, under
from porting import d2l_models
from porting.small_model import FEW, built
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import find_target, write_target


@pytest.fixture(scope="module")
def model():
    """Of D2L's sizes, with moments that no two tensors share."""
    heads = {"encoder_num_heads": d2l_models.HEADS, "decoder_num_heads": d2l_models.HEADS}
    made = built(tmb.presets.d2l(11, 13, **FEW, **heads))
    random = np.random.default_rng(0)
    state = {f"{s}.{n}": random.random(a.shape, np.float32) for s in ("m", "v") for n, a in made.weights.items()}
    return replace(made, optimizer={"step": np.array(41), **state})


@pytest.mark.parametrize(
    ("framework", "ending"),
    [
        pytest.param("torch", ".pt", marks=pytest.mark.long),
        pytest.param("paddle", ".pdparams", marks=pytest.mark.long),
        pytest.param("flax", ".msgpack", marks=pytest.mark.long),
    ],
)
def test_the_framework_itself_goes_on_from_our_state(model, tmp_path, framework, ending):
    ours, theirs = tmp_path / f"ours{ending}", tmp_path / f"theirs{ending}"
    names = {"block_names": "d2l"} if framework == "paddle" else {}  # there D2L's own classes take it over
    write_target(model, find_target(framework), ours, names)
    elsewhere(f"porting.load_adam:of_{framework}", file=ours, output=theirs)
    got = read_source(theirs, None, {"num_heads": d2l_models.HEADS}).model.optimizer
    assert got is not None and set(got) == set(model.optimizer)
    for name, array in model.optimizer.items():
        assert np.array_equal(got[name], array), name


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """torch's own optimizers of one model after the same steps, and what we read of each (see ``save_adam``)."""
    folder = tmp_path_factory.mktemp("adam")
    return folder, *elsewhere("porting.save_adam:main", folder=folder)


def read_moments(saved, name):
    _, moments, facts = saved
    return under(moments, name), under(moments, "true"), " ".join(facts["notes"][name])


CARRIED = {
    "named": "",
    "one named group in another order": "",
    "named groups": "lr = 0.002 or 0.003",
    "without decay": "",
    "chosen": r"lr = 0.01; betas = \(0.8, 0.99\); eps = 1e-06",
    "plain": "the model's own order is taken on trust",
    "wrapped": "wrappers put it there, and it was taken out",
}


@pytest.mark.parametrize("name", CARRIED)
def test_moments_go_to_the_tensors_that_they_belong_to(name, saved):
    found, true, notes = read_moments(saved, name)
    assert set(found) == set(true)
    same = ("chosen",)  # other betas, other moments: those of the file itself
    assert name in same or not [key for key in true if not np.array_equal(found[key], true[key])]
    assert re.search(CARRIED[name], notes) and bool(notes) == bool(CARRIED[name])


LEFT_OUT = {
    "groups": r"it numbers parameters in \d+ groups, and only names",
    "one group in another order": "moments of shape .* cannot be those of",
    "AdamW": "plain Adam has no weight_decay = 0.01",
    "decay": "plain Adam has no weight_decay = 0.1",
    "amsgrad": "plain Adam has no amsgrad = True, max_exp_avg_sq",
    "maximize": "plain Adam has no maximize = True",
    "NAdam": "plain Adam has no mu_product, momentum_decay",
    "RAdam": "it has no amsgrad",
    "SGD": "plain Adam has no momentum_buffer",
    "negative": "a mean of squares cannot be negative",
    "endless": "steps must be a count, got inf",
    "negative step": "steps must be a count, got -3",
    "half a step": "steps must be a count, got 2.5",
    "huge step": "damaged",
    "wrong name": "name 'x', which is no tensor of the model",
    "damaged": "damaged",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_state_that_leaves_them_open_is_left_out_and_says_why(name, saved):
    found, _, notes = read_moments(saved, name)
    assert found == {}
    assert re.search(f"The optimizer's state was left out: .*{LEFT_OUT[name]}", notes)


@pytest.mark.long
def test_layer_wise_groups_arrive_in_the_model(saved):
    _, true, _ = read_moments(saved, "named groups")
    model = read_source(saved[0] / "named groups.pt", None, {"num_heads": 2}).model
    assert not [key for key in true if not np.array_equal(model.optimizer[key], true[key])]
    assert read_source(saved[0] / "groups.pt", None, {"num_heads": 2}).model.optimizer is None


def test_prefixes_of_wrappers_in_any_order_are_no_part_of_a_name(saved):
    names = saved[2]["names"]
    assert names["wrapped"] == names["named"]
