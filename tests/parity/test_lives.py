"""What a backend keeps between calls, and should not: planted into NumPy, each kind fails a drawn life."""

import pytest

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import life
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.lives import life_experiments
from transformer_mb.rounding import rounded

DTYPES = ("float32", "float64")
SEEDS = (0, 1)


@pytest.fixture(autouse=True)
def new_models():
    """Models with their trainers are kept from life to life: a mistake of one test is not another's."""
    life._made.cache_clear()
    yield
    life._made.cache_clear()


class Forgetful(BACKEND):
    """Compiled with the weights of its first search."""

    def greedy(self, model, *arguments, **options):
        now = {name: value.copy() for name, value in self.get_weights(model).items()}
        kept = model.__dict__.setdefault("_first_weights", now)
        self.set_weights(model, kept)
        found = super().greedy(model, *arguments, **options)
        self.set_weights(model, now)
        return found


class SettingsReadOnce(BACKEND):
    """Its search keeps the suppressed tokens of its first call."""

    def greedy(self, model, *arguments, **options):
        now = model.config
        model.config = now.replace(suppress_ids=model.__dict__.setdefault("_first_suppressed", now.suppress_ids))
        found = super().greedy(model, *arguments, **options)
        model.config = now
        return found


class StaleFifthShape(BACKEND):
    """From the fifth shape on a compiled step keeps the first batch of its shape."""

    def trainer(self, model, *arguments, **options):
        trainer = super().trainer(model, *arguments, **options)
        step, kept = trainer.step, {}

        def stale(batch, **given):
            first = kept.setdefault(batch.target_in.shape, batch)
            late = list(kept).index(batch.target_in.shape) >= 4
            return step(first if late else batch, **given)

        trainer.step = stale
        return trainer


class RoundsItsModel(BACKEND):
    """A trainer with rounded products leaves the user's model with a rounded norm, which no setting of weights changes."""

    def trainer(self, model, *arguments, **options):
        if options.get("precision") == "bf16":
            model._rounded = True
        return super().trainer(model, *arguments, **options)

    def logits(self, model, *arguments, **options):
        found = super().logits(model, *arguments, **options)
        return rounded(found, "bfloat16").astype(found.dtype) if getattr(model, "_rounded", False) else found


def status(backend_class, dtype, seed, label="numpy"):
    (experiment,) = life_experiments(dtype, seed, ())
    backend = backend_class(dtype=dtype)
    (result,) = experiment.run(label, lambda request: compute(backend, request))
    return result.status


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_numpy_lives_like_the_reference(dtype, seed):
    assert status(BACKEND, dtype, seed) == PASSED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mistaken", "dtype"),
    [
        (Forgetful, "float64"),
        (SettingsReadOnce, "float64"),
        (StaleFifthShape, "float32"),
        (StaleFifthShape, "float64"),
        (RoundsItsModel, "float32"),
    ],
)
def test_what_is_kept_too_long_fails(mistaken, dtype, seed):
    assert status(mistaken, dtype, seed) == FAILED
