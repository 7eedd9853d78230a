"""Adam's state in the frameworks' own optimizers: taken over from our files, and read from theirs."""

import numpy as np
import pytest

import transformer_mb as tmb
from porting import d2l_models
from porting.conftest import run_program
from transformer_mb.porting.ported import PortedModel
from transformer_mb.porting.sources import read_source
from transformer_mb.porting.targets import find_target, write_target


@pytest.fixture(scope="module")
def model():
    """Of D2L's sizes, with moments that no two tensors share."""
    config = tmb.presets.d2l(
        d2l_models.SOURCE_VOCAB,
        d2l_models.TARGET_VOCAB,
        num_hiddens=d2l_models.D,
        ffn_num_hiddens=d2l_models.F,
        encoder_num_heads=d2l_models.HEADS,
        decoder_num_heads=d2l_models.HEADS,
    )
    backend = tmb.get_backend("numpy")
    weights = backend.get_weights(backend.build(config))
    random = np.random.default_rng(0)
    state = {f"{s}.{n}": random.random(a.shape, np.float32) for s in ("m", "v") for n, a in weights.items()}
    return PortedModel(config=config, weights=weights, optimizer={"step": np.array(41), **state})


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
    write_target(model, find_target(framework), ours, {})
    run_program("load_adam.py", framework, ours, theirs)
    got = read_source(theirs, None, {"num_heads": d2l_models.HEADS}).model.optimizer
    assert got is not None and set(got) == set(model.optimizer)
    for name, array in model.optimizer.items():
        assert np.array_equal(got[name], array), name
