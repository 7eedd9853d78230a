"""Parameters that the framework's own flag has frozen: a trainer leaves them alone, and what it keeps goes on elsewhere."""

import numpy as np
import pytest

from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.errors import ConfigError

ADAMW = {"optimizer": "adamw", "learning_rate": 0.005, "weight_decay": 0.25}


def by_flag(name, value):
    """Sets an attribute of each parameter."""
    return lambda layer: [setattr(parameter, name, value) for parameter in layer.parameters()]


# (freeze, thaw) a layer. A layer of NumPy's or of flax's has no such flag.
FLAGS = {
    "torch": (by_flag("requires_grad", False), by_flag("requires_grad", True)),
    "paddle": (by_flag("stop_gradient", True), by_flag("stop_gradient", False)),
    "tensorflow": tuple(lambda layer, value=value: setattr(layer, "trainable", value) for value in (False, True)),
    "mxnet": tuple(lambda layer, value=value: layer.collect_params().setattr("grad_req", value) for value in ("null", "write")),
}
ANY_TIME = ("torch", "mxnet")  # whose trainers keep moments of what is frozen


@pytest.fixture
def flags(backend_name):
    if backend_name not in FLAGS:
        pytest.skip(f"{backend_name} has no flag that freezes a parameter")
    return FLAGS[backend_name]


def built(backend, freeze=lambda layer: None):
    model = backend.build(ONE_LAYER, seed=0)
    freeze(model.encoder)
    return model


def test_what_is_frozen_stays_and_the_rest_goes_on_from_a_checkpoint(flags, backend):
    freeze, _ = flags
    model = built(backend, freeze)
    before, trainer = backend.get_weights(model), backend.trainer(model, **ADAMW)
    for _ in range(2):
        trainer.step(THE_BATCH)
    trainer.update(backend.loss_and_gradients(built(backend), THE_BATCH)[1])
    for name, value in backend.get_weights(model).items():
        assert np.array_equal(value, before[name]) == name.startswith("encoder."), name
    state = trainer.state_dict()
    for name, moment in state.items():
        assert not name.partition(".")[2].startswith("encoder.") or not moment.any(), name
    again = built(backend, freeze)
    backend.set_weights(again, backend.get_weights(model))
    resumed = backend.trainer(again, **ADAMW)
    resumed.load_state_dict(state)
    trainer.step(THE_BATCH)
    resumed.step(THE_BATCH)
    for name, value in backend.get_weights(model).items():
        np.testing.assert_allclose(backend.get_weights(again)[name], value, rtol=0, atol=1e-12)


def test_what_is_thawed_beside_a_trainer_is_trained_or_refused(flags, backend, backend_name):
    freeze, thaw = flags
    model = built(backend, freeze)
    trainer, before = backend.trainer(model, **ADAMW), backend.get_weights(model)
    thaw(model.encoder)
    if backend_name not in ANY_TIME:
        with pytest.raises(ConfigError, match="got encoder.embedding.weight, which is now not frozen: make another trainer"):
            trainer.step(THE_BATCH)
        trainer = backend.trainer(model, **ADAMW)
    trainer.step(THE_BATCH)
    after = backend.get_weights(model)
    assert not any(np.array_equal(after[name], before[name]) for name in before)


def test_a_model_that_is_frozen_as_a_whole_has_no_trainer(flags, backend):
    model = built(backend)
    flags[0](model)
    with pytest.raises(ConfigError, match="must have parameters that a trainer may change, got one that is frozen as a whole"):
        backend.trainer(model)
