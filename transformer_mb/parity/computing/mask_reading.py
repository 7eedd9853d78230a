"""Reads the numbers that a training step dropped, at all sites of a model, from the gradient of its weights alone.

The model is made for it (``rows/one_answer.py``): tokens stand at one place each, blocks add so little to what passes them
that all of them see the embeddings, and attention is even. A gradient is then a sum over places of a factor that is known
and one that is wanted, with more equations than places. What is dropped twice in a product is told apart by its sums, of
which float64 holds every digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...errors import ParityError
from .making import Spec, batch_of, model_of, trainer_for
from .messages import named, under

DROPPED, KEPT, UNREAD = 0.0, 1.0, -1.0
NOTHING = 1e-10  # of the mean size: what a dropped number leaves is rounding, and what the blocks add
CALLED = 2, 8, 16  # rows, steps and features of a layer that is called by itself
FITS = 1e-3  # of the mean size: how far a sum may be from those that a mask can give


class MaskReading:
    """The masks of one step: ``masks`` by site, [parts, rows, ...], each number DROPPED, KEPT or UNREAD.

    UNREAD is what had no part in the step: attention to what comes later, and the sublayer's output after an attention all
    of whose weights were dropped.

    Raises:
        ParityError: what is kept is not scaled by 1 / (1 - rate), or the gradient is not that of such a model.
    """

    def __init__(self, config: TransformerConfig, weights: Arrays, gradient: Arrays, batches: Sequence[Batch]):
        self.config, self.weights, self.gradient = config, weights, gradient
        self.shape = (len(batches), *batches[0].target_in.shape)
        self.masks: dict[str, np.ndarray] = {}
        source, target = (np.stack([getattr(batch, name) for batch in batches]) for name in ("source", "target_in"))
        states, stream = self._embedded("encoder", source), self._embedded("decoder", target)
        dense = weights["decoder.dense.weight"]
        passed = _solved(stream, gradient["decoder.dense.weight"]) @ dense  # what comes back to every place
        to_states = np.zeros_like(states)
        for number in range(config.decoder_num_layers):
            block = f"decoder.blks.block{number}"
            self._attention(f"{block}.attention1", f"{block}.addnorm1", self._normed(stream), passed, causal=True)
            self._attention(f"{block}.attention2", f"{block}.addnorm2", states, passed)
            values = f"{block}.attention2.W_v.weight"
            to_states += _solved(states, gradient[values]) @ weights[values]
            self._feed_forward(f"{block}.ffn", f"{block}.addnorm3", self._normed(stream), passed)
        for number in range(config.encoder_num_layers):
            block = f"encoder.blks.block{number}"
            self._attention(f"{block}.attention", f"{block}.addnorm1", self._normed(states), to_states)
            self._feed_forward(f"{block}.ffn", f"{block}.addnorm2", self._normed(states), to_states)

    def _embedded(self, side: str, ids: np.ndarray) -> np.ndarray:
        """[places, D]. A vector of a token has no gradient where it was dropped."""
        name = f"{side}.embedding.weight"
        kept = self.gradient[name][ids] != 0.0
        self._note(f"{side}.dropout", kept)
        vectors = self.weights[name][ids] * kept / (1.0 - self.config.embedding_dropout_rate)
        return vectors.reshape(-1, vectors.shape[-1])

    def _normed(self, X: np.ndarray) -> np.ndarray:
        centered = X - X.mean(axis=-1, keepdims=True)
        return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + self.config.norm_eps)

    def _note(self, site: str, kept: np.ndarray, read: np.ndarray | bool = True) -> None:
        self.masks[site] = np.where(read, np.where(kept, KEPT, DROPPED), UNREAD)

    def _feed_forward(self, path: str, addnorm: str, X: np.ndarray, passed: np.ndarray) -> None:
        """The first product's gradient shows the hidden units, and with these the second's shows the outputs."""
        first, second = f"{path}.dense1.weight", f"{path}.dense2.weight"
        kept = _present(_solved(X, self.gradient[first]))
        self._note(f"{path}.dropout", kept.reshape(*self.shape, -1))
        hidden = np.maximum(X @ self.weights[first].T + self.weights[f"{path}.dense1.bias"], 0.0) * kept
        outputs = _solved(hidden / (1.0 - self.config.ffn_dropout), self.gradient[second])
        kept = _present(outputs)
        self._check(path, outputs - kept * passed / (1.0 - self.config.dropout), passed)
        self._note(f"{addnorm}.dropout", kept.reshape(*self.shape, -1))

    def _attention(self, path: str, addnorm: str, keys: np.ndarray, passed: np.ndarray, causal: bool = False) -> None:
        """Find, per key and output, the subset of the queries that kept both, of which there is a sum."""
        config, (parts, rows, steps) = self.config, self.shape
        heads = config.encoder_num_heads if path.startswith("encoder") else config.decoder_num_heads
        values = (keys @ self.weights[f"{path}.W_v.weight"].T).reshape(len(keys), heads, -1)
        gradient = self.gradient[f"{path}.W_o.weight"]
        gradient = gradient.reshape(len(gradient), heads, -1)
        sums = np.stack([_solved(values[:, head], gradient[:, head]) for head in range(heads)])
        sums = sums.reshape(heads, parts, rows, steps, -1)
        even = np.tril(np.ones((steps, steps))) if causal else np.ones((steps, steps))
        even = even / even.sum(axis=-1, keepdims=True) / (1.0 - config.attention_dropout_rate) / (1.0 - config.dropout)
        subsets = np.array(list(product((0.0, 1.0), repeat=steps)))
        queries = passed.reshape(parts, rows, steps, -1)
        both = np.empty((heads, parts, rows, steps, steps, passed.shape[-1]))  # [..., query, key, output]
        for key in range(steps):
            possible = np.einsum("kt,prtd->prdk", subsets, queries * even[:, key, None])
            apart = np.abs(possible - sums[:, :, :, key, :, None])
            nearest = apart.argmin(axis=-1)
            self._check(path, apart.min(axis=-1), passed / steps)
            both[..., key, :] = np.moveaxis(subsets[nearest], -1, 3)
        attended = both.mean(axis=-1) > (1.0 - config.dropout) / 2.0
        self._note(f"{path}.attention.dropout", np.moveaxis(attended, 0, 2), even > 0.0)
        count = attended.sum(axis=(0, -1))[..., None]
        kept = (both * attended[..., None]).sum(axis=(0, 4)) > count / 2.0
        self._note(f"{addnorm}.dropout", kept, count > 0)

    def _check(self, path: str, apart: np.ndarray, size: np.ndarray) -> None:
        """A few may be far off: two of the many subsets can have sums that are all but equal."""
        if not np.median(np.abs(apart)) <= FITS * _mean(size):
            raise ParityError(
                f"The gradient of {path} must be one of numbers kept at the configured rates, got one that no mask gives."
            )


def _solved(known: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Y [places, a], of which gradient [a, n] is the sum over places of Y times known [places, n]."""
    return (gradient @ np.linalg.pinv(known)).T


def _present(values: np.ndarray) -> np.ndarray:
    return np.abs(values) > NOTHING * _mean(values)


def _mean(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def read_masks(
    config: TransformerConfig, weights: Arrays, gradient: Arrays, batches: Sequence[Batch]
) -> Mapping[str, np.ndarray]:
    return MaskReading(config, weights, gradient, batches).masks


def masks(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return by site ``kept`` [seeds, steps, parts, rows, ...], which ``mask_reading`` reads off steps of plain SGD.

    Steps are counted by ``counts``, each from the same weights. ``calls``: the rate of a layer alone. ``copied``: two sites
    of a negative control, the second of which has the masks of the first.
    """
    config = TransformerConfig.from_dict(spec["config"])
    batches = [batch_of(under(f"batches.{number}", arrays)) for number in range(spec["parts"])]
    weights = under("weights", arrays)
    found = []
    for seed in spec["seeds"]:
        native = model_of(backend, spec["config"], arrays)
        trainer = trainer_for(backend, native, {"options": {**spec["options"], "seed": seed}})
        for count in spec["counts"]:
            backend.set_weights(native, weights)
            trainer.load_state_dict({**trainer.state_dict(), "step": np.asarray(count, np.int64)})
            trainer.accumulated_step(batches)
            after, rate = backend.get_weights(native), spec["options"]["learning_rate"]
            gradient = {name: (value - after[name]) / rate for name, value in weights.items()}
            found.append(read_masks(config, weights, gradient, batches))
    shape = len(spec["seeds"]), len(spec["counts"])
    kept = {site: np.array([each[site] for each in found]) for site in found[0]}
    if "copied" in spec:
        first, second = spec["copied"]
        kept[second] = kept[first]
    by_site = {site: each.reshape(*shape, *each.shape[1:]) for site, each in kept.items()}
    return named("kept", by_site | {"calls": _of_calls(backend, spec["calls"])})


def _of_calls(backend: Backend, rate: float) -> np.ndarray:
    """[1, calls, 1, rows, ...]: what a layer drops by itself in training, differentiated twice and then called."""
    layer, ones = backend.layer("PositionalEncoding", CALLED[-1], rate), np.ones(CALLED)
    gradients = [backend.gradients(layer, [ones], ones, training=True)[1][0] for _ in range(2)]
    found = np.array([*gradients, backend.apply(layer, ones, training=True)])
    return np.where(found == 0.0, DROPPED, KEPT)[None, :, None]
