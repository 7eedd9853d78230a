"""Trainings in this process with planted differences, which a comparison that is worth anything must call different, or name.

A W_v that is transposed through the whole training is none of them: Adam works on each element alone, so that it is the same
training from other initial weights, drawn alike, and on average no different. It is planted where it harms, as between the
training and the evaluation, where a checkpoint is ported.
"""

import itertools
import math
from dataclasses import replace

import pytest

from transformer_mb.compare.training import runs as runs_module
from transformer_mb.compare.training.job import PreparedJob
from transformer_mb.compare.training.runner import Runner
from transformer_mb.compare.training.switches import without
from transformer_mb.registry import get_backend

TRANSPOSED = "decoder.blks.block0.attention2.W_v.weight"
PLANTED = {
    "learning rate x1.3": {"factors": {"learning_rate": 1.3}},
    "epsilon-hat of 1e-4": {"epsilon_hat": 1e-4},
    "no label smoothing": {"factors": {"label_smoothing": 0.0}},
    "transposed W_v": {"transposed": TRANSPOSED},
    "norm epsilon of 1e-1": {"norm_epsilon": 1e-1},
}


class Planted(Runner):
    """A runner of NumPy that does otherwise than it is asked.

    Args:
        factors: what the trainer's options are multiplied by.
        epsilon_hat: of an Adam that adds it before the bias correction. norm_epsilon: as if the framework's own were this.
        transposed: the weight that the evaluation sees transposed.
    """

    def __init__(self, backend, column, prepared, factors=(), epsilon_hat=None, norm_epsilon=None, transposed=None):
        super().__init__(backend, column, prepared)
        prepared.options |= {name: prepared.options[name] * factor for name, factor in dict(factors).items()}
        self.epsilon_hat, self.norm_epsilon, self.transposed = epsilon_hat, norm_epsilon, transposed

    def config(self, own):
        if "epsilon" not in own or self.norm_epsilon is None:
            return super().config(own)
        return self.prepared.config.replace(norm_eps=self.norm_epsilon)

    def trainer(self, config, own, seed):
        if self.epsilon_hat is None:
            return super().trainer(config, own, seed)
        self.kept.clear()
        model, trainer, compiled = super().trainer(config, own, seed)
        steps, step = itertools.count(1), trainer.step

        def changed(*arguments):
            """Add after the bias correction what is as much as epsilon_hat before it."""
            epsilon = self.epsilon_hat / math.sqrt(1.0 - trainer.options.betas[1] ** next(steps))
            trainer.optimizer.options = replace(trainer.optimizer.options, eps=epsilon)
            return step(*arguments)

        trainer.step = changed
        return model, trainer, compiled

    def evaluate(self, model):
        if self.transposed is not None:
            weights = self.backend.get_weights(model)
            self.backend.set_weights(model, {**weights, self.transposed: weights[self.transposed].T})
        return super().evaluate(model)


def runs_here(backends, seeds, planted, **options):
    """`runs` in this process, one column after the other, with a difference by column; it may be ``numpy@any name``."""

    def train(columns, job, timeout, told, threads):
        done, reasons = [], {}
        for label, (column, plan) in columns.items():
            backend = get_backend(column.backend, column.device)
            runner = Planted(backend, label, PreparedJob(job), **PLANTED[planted[label]] if label in planted else {})
            reasons[label] = without(backend.name, runner.prepared.config.norm_eps)
            if runner.norm_epsilon is not None:
                del reasons[label]["epsilon"]
            done += [runner.run(asked) for asked in plan(reasons[label])]
        return done, reasons

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "train_in_processes", train)
        return runs_module.runs(backends, seeds, **options)
