"""A model of the built-in corpus, trained for a few seconds, and 500 sentences that it has never seen."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from porting.on_backend import sentences
from porting.small_model import on_numpy
from transformer_mb.cli.commands.demo import learn
from transformer_mb.data import demo_pairs, demo_sentences, encode_pairs
from transformer_mb.porting.model import PortedModel
from transformer_mb.registry import get_backend

EPOCHS, UNSEEN, STEPS, TARGET_STEPS = 5, 500, 20, 6
TIE = 10.0  # as in the parity matrix: a choice is clear when the best exceeds the second by so many logit errors


@dataclass(frozen=True)
class Demo:
    """The model, the unseen sentences as one batch, and what NumPy in float32, which trained it, makes of them.

    ``translations`` are texts, ``right`` those of the corpus; ``logit_error`` is NumPy's own in float32, the largest.
    """

    model: PortedModel
    batch: dict[str, np.ndarray]
    tokens: list[list[int]]
    right: list[str]
    logit_error: float

    @property
    def translations(self):
        return [self.model.target_vocabulary.decode(row) for row in self.tokens]


def make_demo():
    pairs, shown = demo_pairs()
    backend = get_backend("numpy")
    _, translator = learn(backend, pairs, EPOCHS, seed=0)
    known = len(pairs) + len(shown)
    unseen = list(islice(demo_sentences(), known, known + UNSEEN))
    assert not {source for source, _ in unseen} & {source for source, _ in pairs}
    vocabularies = translator.source_vocabulary, translator.target_vocabulary
    encoded = encode_pairs(unseen, *vocabularies, num_steps=14)
    start = np.full((UNSEEN, 1), translator.model.config.start_id)
    target = np.concatenate([start, encoded.target[:, : TARGET_STEPS - 1]], axis=1)
    batch = {"source": encoded.source, "target": target, "source_valid_lens": encoded.source_valid_lens}
    model = PortedModel(
        config=translator.model.config,
        weights=backend.get_weights(translator.model),
        source_vocabulary=vocabularies[0],
        target_vocabulary=vocabularies[1],
    )
    return Demo(
        model=model,
        batch=batch,
        tokens=backend.greedy(translator.model, encoded.source, encoded.source_valid_lens, STEPS),
        right=[target for _, target in unseen],
        logit_error=float(np.abs(backend.logits(translator.model, *batch.values()) - exact_logits(model, batch)).max()),
    )


def exact_logits(model, batch):
    """[B, T, V] by the reference."""
    return on_numpy(model, batch, "float64")["logits"]


def compared(demo, outputs):
    """(largest logit error, near-ties, clear differences): the last two as rows with what was expected and what was got."""
    error = float(np.abs(outputs["logits"] - exact_logits(demo.model, demo.batch)).max())
    ties, clear = [], []
    for row, (got, expected) in enumerate(zip(sentences(outputs["tokens"]), demo.tokens, strict=True)):
        if got != expected:
            step = next(i for i, pair in enumerate(zip([*got, -1], [*expected, -1], strict=False)) if pair[0] != pair[1])
            one = {name: array[row : row + 1] for name, array in demo.batch.items()}
            prefix = np.array([[demo.model.config.start_id, *expected[:step]]])
            second, first = np.sort(exact_logits(demo.model, {**one, "target": prefix})[0, -1])[-2:]
            (ties if first - second <= TIE * error else clear).append((row, expected, got, first - second))
    return error, ties, clear
