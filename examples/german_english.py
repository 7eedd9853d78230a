"""Two German sentences into English: a post-norm Transformer of base size, trained with SGD and decoded greedily.

    TRANSFORMER_MB_BACKEND=torch python examples/german_english.py

The model is ``presets.notes_de_en`` with its recipe: 100 steps on one batch of two sentences, SGD with momentum 0.99,
the loss being the mean over the tokens that are not padding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from results import arguments, finish, keep

import transformer_mb as tmb
from transformer_mb.batch import Batch
from transformer_mb.presets import RECIPES
from transformer_mb.training import TrainingRecipe

# P pads, S starts a target and E ends it; the ids are the places in these lists.
GERMAN = ["P", "ich", "mochte", "ein", "bier", "cola"]
ENGLISH = ["P", "i", "want", "a", "beer", "coke", "S", "E", "."]
SENTENCES = [
    ("ich mochte ein bier P", "S i want a beer .", "i want a beer . E"),
    ("ich mochte ein cola P", "S i want a coke .", "i want a coke . E"),
]
MAX_STEPS = 10


def ids(words: list[str], sentences: list[str]) -> np.ndarray:
    return np.array([[words.index(word) for word in sentence.split()] for sentence in sentences])


def make_batch() -> Batch:
    """Padding is told by valid lengths, not by looking for its id: sentence 1 has four words."""
    source, target_in, target_out = (list(column) for column in zip(*SENTENCES, strict=True))
    source_ids, labels = ids(GERMAN, source), ids(ENGLISH, target_out)
    lengths = (source_ids != 0).sum(axis=1), (labels != 0).sum(axis=1)
    return Batch(source_ids, lengths[0], ids(ENGLISH, target_in), labels, lengths[1])


def main(folder: Path, **changes: Any) -> None:
    recipe = TrainingRecipe(**RECIPES["notes_de_en"])
    backend = tmb.get_backend()
    config = tmb.presets.notes_de_en(len(GERMAN), len(ENGLISH), max_len=MAX_STEPS, **changes)
    model = backend.build(config, recipe.seed, recipe.initialization)
    trainer = backend.trainer(model, **recipe.trainer_options())

    batch = make_batch()
    print("encoder input ", batch.source.tolist())
    print("decoder input ", batch.target_in.tolist())
    print("decoder output", batch.target_out.tolist())
    losses = []
    for epoch in range(1, recipe.epochs + 1):
        losses.append(float(trainer.step(batch)))
        if epoch == 1 or epoch % 10 == 0:
            print(f"Epoch: {epoch:04d} loss = {losses[-1]:.6f}")

    expected = [target.split()[:-1] for _, _, target in SENTENCES]
    translations = []
    for row in range(len(SENTENCES)):
        source, lengths = batch.source[row : row + 1], batch.source_valid_lens[row : row + 1]
        (found,) = backend.greedy(model, source, lengths, MAX_STEPS)  # ends at E, or after MAX_STEPS
        translations.append([ENGLISH[token] for token in found])
        print(source.tolist()[0], "->", translations[-1])

    probe = {name: getattr(batch, name) for name in ("source", "source_valid_lens", "target_in")}
    keep(model, folder, {**probe, "max_steps": MAX_STEPS})
    targets = {f"both sentences exactly after {recipe.epochs} steps": translations == expected}
    finish(folder, {"losses": losses, "translations": translations}, targets)


if __name__ == "__main__":
    main(arguments(__doc__, "german_english").out)
