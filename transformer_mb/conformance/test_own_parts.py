"""What `compare runs --native` takes of the framework itself: initial weights, Adam, and the norms' epsilon."""

from dataclasses import replace

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare.training.attribution import own_switches
from transformer_mb.compare.training.job import PreparedJob, built_in_job
from transformer_mb.compare.training.runner import Asked, Runner
from transformer_mb.compare.training.switches import own_part, without
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import ConfigError
from transformer_mb.initialization import initial_weights
from transformer_mb.parameters import parameter_shapes

EPSILON = {"tensorflow": 1e-3, "jax": 1e-6}


@pytest.fixture(autouse=True)
def of_this_package(backend_name):
    if backend_name not in BUILT_IN:
        pytest.skip("the own parts of a framework of another package are not known here")


@pytest.fixture
def own(backend_name):
    """A framework's own part by name. NumPy's reasons are the test's answer where it has none."""

    def part(name):
        if backend_name == "numpy":
            with pytest.raises(ConfigError, match=f"The backend numpy has no {name} of its own: NumPy has no "):
                own_part("numpy", name)
            pytest.skip("NumPy has nothing to train with, and says so")
        return own_part(backend_name, name)

    return part


def test_initial_weights_follow_the_seed(own, backend32):
    make = own("initial_weights")
    first, again, other = (make(backend32, ONE_LAYER, seed) for seed in (0, 0, 1))
    assert {name: value.shape for name, value in first.items()} == parameter_shapes(ONE_LAYER)
    name = "encoder.blks.block0.attention.W_q.weight"
    assert np.array_equal(first[name], again[name]) and not np.array_equal(first[name], other[name])
    assert not np.allclose(first[name], initial_weights(ONE_LAYER, 0)[name])
    assert 0.01 < first[name].std() < 1.0 and (first["encoder.blks.block0.addnorm1.ln.weight"] == 1.0).all()


def test_the_frameworks_own_adam_has_its_own_defaults(own, backend32):
    """Ours takes steps of a hundredth with this epsilon; whatever its place is, 1e-8 makes the first step the learning rate."""
    model = backend32.build(ONE_LAYER, seed=0)
    trainer = backend32.trainer(model, learning_rate=1.0, eps=100.0)
    own("use_own_adam")(trainer)
    rng = np.random.default_rng(0)
    gradients = {name: np.sign(rng.standard_normal(shape)) for name, shape in parameter_shapes(ONE_LAYER).items()}
    for rate in (0.125, 0.0625):
        before = backend32.get_weights(model)
        trainer.learning_rate = rate
        trainer.update(gradients)
        for name, value in backend32.get_weights(model).items():
            assert np.allclose(before[name] - value, rate * gradients[name], rtol=1e-3, atol=1e-5), name


def test_the_norms_own_epsilon(own, backend_name):
    epsilon = own("norm_epsilon")()
    assert epsilon == EPSILON.get(backend_name, 1e-5)
    assert ("epsilon" in without(backend_name, epsilon)) and "epsilon" not in without(backend_name, epsilon * 2)


@pytest.mark.long
def test_a_runner_starts_from_the_frameworks_own(backend32, backend_name):
    """Every switch that the framework has, in a run of two steps."""
    job = built_in_job()
    prepared = PreparedJob(replace(job, steps=2, num_hiddens=8, num_layers=1, held_out=job.held_out[:4]))
    runner = Runner(backend32, backend_name, prepared)
    switches = own_switches(without(backend_name, prepared.config.norm_eps))
    native, injected, again = (runner.run(Asked(0, each)) for each in (switches, frozenset(), switches))
    assert set(native.own) == switches and injected.own == ()
    assert native.losses == pytest.approx(again.losses, rel=1e-5)
    assert native.losses != pytest.approx(injected.losses, rel=1e-5)
