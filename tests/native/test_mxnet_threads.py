"""Several threads in one process, in MXNet, whose own switches are those of a thread."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
from mxnet import np as mnp
from mxnet.ndarray import register

from transformer_mb.backends.mxnet.shortcuts import calls
from transformer_mb.backends.mxnet.shortcuts.tape import compiled
from transformer_mb.presets import d2l

SOURCE = np.random.default_rng(0).integers(4, 9, (2, 6))


@pytest.mark.parametrize("count", [1, 4])
def test_threads_decode_at_once(count):
    """One model in all threads, or one in each."""
    backend, invoke = layers.BACKEND(), register._imperative_invoke
    models = [backend.build(d2l(9, 9), seed=seed) for seed in range(count)]
    expected = [backend.greedy(model, SOURCE, max_steps=8) for model in models]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda i: backend.greedy(models[i % count], SOURCE, max_steps=8), range(20)))
    assert found == [expected[i % count] for i in range(20)]
    assert register._imperative_invoke is invoke
    assert all(any(map(callable, calls.CALLS[model.decoder][1].values())) for model in models)


def test_a_model_is_built_and_trained_in_another_thread():
    def run():
        backend = layers.BACKEND()
        model = backend.build(d2l(9, 9, dropout=0.0))
        lens = np.array([6, 6])
        trainer = backend.trainer(model)
        return [float(trainer.step((SOURCE, lens, SOURCE, SOURCE, lens))) for _ in range(3)], mnp.ones(()).shape

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(run).result() == run()


def test_what_other_threads_compute_is_not_recorded():
    X = mnp.array([1.0, 2.0])
    with ThreadPoolExecutor(1) as threads:

        def function():
            threads.submit(lambda: (mnp.array(np.arange(2.0)) * X).tolist()).result()
            return X * X

        assert compiled(function, [X], static=False)([X + 1.0]).tolist() == [4.0, 9.0]


def test_set_np_after_the_import_sets_up_no_logging():
    code = "import logging, transformer_mb.backends.mxnet; from mxnet import npx; npx.set_np(); print(logging.root.handlers)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
