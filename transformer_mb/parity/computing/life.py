"""Two models of one configuration and a trainer of each, through a sequence of operations in one process.

What a framework keeps between calls (compiled programs, captured batches, rounded copies of weights, settings read once) is
right for the first call and may be wrong for a later one. Each operation is a list of its name and its arguments.
"""

from __future__ import annotations

import copy
import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...backend import Backend
from ...checkpoint.model import load, save
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...decoding.sampling import Sampling
from ...trainer import Trainer
from .decoding import in_rows
from .making import Spec, batch_of, masks_of, trainer_for
from .messages import named, under

Answer = dict[str, np.ndarray]
LIKELIEST = Sampling(temperature=0.7, top_k=1)  # one token is left to draw from


@lru_cache(maxsize=1)
def _made(backend: Backend, config: TransformerConfig, options: str) -> tuple[list[Any], list[Trainer]]:
    """Two models with their trainers. A life with the same ones is lived by them: what they compiled is theirs still."""
    models = [backend.create_empty(config) for _ in range(2)]
    return models, [trainer_for(backend, model, {"options": json.loads(options)}) for model in models]


class Life:
    """The models begin with the weights of their own number, the trainers with no step taken."""

    def __init__(self, backend: Backend, spec: Spec, arrays: Arrays):
        self.backend, self.spec, self.arrays = backend, spec, arrays
        self.config = TransformerConfig.from_dict(spec["config"])
        self.models, self.trainers = _made(backend, self.config, json.dumps(spec["options"]))
        for number, (model, trainer) in enumerate(zip(self.models, self.trainers, strict=True)):
            model.config = self.config
            self.set(number, number)
            trainer.load_state_dict(
                {"step": np.zeros((), np.int64), **{name: np.zeros_like(value) for name, value in trainer.slots().items()}}
            )
        self.counts = [0, 0]
        self.losses: list[float] = []

    def set(self, model: int, weights: int) -> None:
        """Give a model one of the drawn sets of weights. Its trainer keeps its moments."""
        self.backend.set_weights(self.models[model], under(f"weights {weights}", self.arrays))

    def step(self, model: int, batch: int) -> None:
        self.losses.append(self._step(self.trainers[model], model, batch))

    def rounded_step(self, model: int, batch: int) -> None:
        """A step of another trainer of the model, which rounds products where the backend can. A ``set`` has to follow."""
        options = {**self.spec["options"], **self.spec["rounded"]}
        self._step(trainer_for(self.backend, self.models[model], {"options": options}), model, batch)

    def _step(self, trainer: Trainer, model: int, batch: int) -> float:
        given = batch_of(under(f"batch {batch}", self.arrays))
        self.counts[model] += 1
        return float(trainer.step(given, dropout_masks=masks_of(self.config, given, self.spec["seed"], self.counts[model])))

    def weights(self, model: int) -> Answer:
        return named("weights", self.backend.get_weights(self.models[model]))

    def evaluate(self, model: int, batch: int) -> Answer:
        return {"logits": self._logits(self.models[model], batch)}

    def _logits(self, native: Any, batch: int) -> np.ndarray:
        given = batch_of(under(f"batch {batch}", self.arrays))
        return self.backend.logits(native, given.source, given.target_in, given.source_valid_lens)

    def gradients(self, model: int, batch: int) -> Answer:
        given = batch_of(under(f"batch {batch}", self.arrays))
        loss, gradients = self.backend.loss_and_gradients(self.models[model], given)
        self.losses.append(float(loss))
        return named("gradient", gradients)

    def greedy(self, model: int, batch: int) -> Answer:
        return self._tokens(self.backend.greedy(*self._searched(model, batch)))

    def beam(self, model: int, batch: int) -> Answer:
        return self._tokens(self.backend.beam(*self._searched(model, batch), 3))

    def sample(self, model: int, batch: int) -> Answer:
        return self._tokens(self.backend.sample(*self._searched(model, batch), LIKELIEST))

    def _searched(self, model: int, batch: int) -> tuple[Any, np.ndarray, np.ndarray, int]:
        given = under(f"batch {batch}", self.arrays)
        return self.models[model], given["source"], given["source_valid_lens"], self.spec["max_steps"]

    def _tokens(self, rows: list[list[int]]) -> Answer:
        return {"tokens": in_rows(rows, self.spec["max_steps"])}

    def nothing(self) -> None:
        """Stand in a negative control for an operation that was forgotten."""

    def suppress(self, model: int, ids: list[int]) -> None:
        """Edit the configuration of a model that has been decoded with."""
        native = self.models[model]
        native.config = native.config.replace(suppress_ids=tuple(ids))

    def evaluate_part(self, model: int, batch: int) -> Answer:
        """Evaluate where the encoder alone is in training mode, if models keep one: nothing of it drops."""
        native = self.models[model]
        if not hasattr(native, "train"):
            return self.evaluate(model, batch)
        native.eval()
        native.encoder.train()
        try:
            return self.evaluate(model, batch)
        finally:
            native.train()

    def copy(self, model: int, weights: int, batch: int) -> Answer:
        """Copy a model, give the first one other weights: the ``logits`` of the copy."""
        kept = copy.deepcopy(self.models[model])
        self.set(model, weights)
        return {"logits": self._logits(kept, batch)}

    def replace(self, model: int, weights: int, batch: int) -> Answer:
        """Put another network into the decoder's first block, search, and put the first one back: its ``best`` scores."""
        native = self.models[model]
        other = copy.deepcopy(native)
        self.backend.set_weights(other, under(f"weights {weights}", self.arrays))
        block, theirs = (next(iter(each.decoder.blks)) for each in (native, other))
        own, block.ffn = block.ffn, theirs.ffn
        try:
            return self.scores(model, batch)
        finally:
            block.ffn = own

    def scores(self, model: int, batch: int) -> Answer:
        found = self.backend.hypotheses(*self._searched(model, batch), 2, n_best=1)
        return {"best": np.array([rows[0].score for rows in found], self.backend.dtype)}

    def reload(self, model: int, batch: int) -> Answer:
        """Save a model, load it: the ``logits`` of what was loaded."""
        with tempfile.TemporaryDirectory(prefix="life-") as folder:
            save(self.models[model], Path(folder) / "model", backend=self.backend)
            return {"logits": self._logits(load(Path(folder) / "model", self.backend), batch)}

    def hand_over(self, model: int) -> None:
        """Give the other model this one's weights, and the other trainer this one's state."""
        other = 1 - model
        self.backend.set_weights(self.models[other], self.backend.get_weights(self.models[model]))
        self.trainers[other].load_state_dict(self.trainers[model].state_dict())
        self.counts[other] = self.counts[model]


def life(backend: Backend, spec: Spec, arrays: Arrays) -> Answer:
    """The ``losses`` in the order of their steps, and of operation n what it gives: ``logits.n``, ``gradient.n.NAME``."""
    lived = Life(backend, spec, arrays)
    answer: Answer = {}
    for number, (name, *arguments) in enumerate(spec["operations"]):
        for kind, value in (getattr(lived, name)(*arguments) or {}).items():
            kind, dot, rest = kind.partition(".")
            answer[f"{kind}.{number}{dot}{rest}"] = value
    return {"losses": np.array(lived.losses), **answer}
