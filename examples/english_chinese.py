"""The walk-through on two English-Chinese pairs: every function by itself, then training and prediction.

    TRANSFORMER_MB_BACKEND=torch python examples/english_chinese.py

Values that the walk-through prints and that depend on no random number come out the same here; for the others the shape
does, and what must hold whatever the numbers are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pictures import curve_picture
from results import arguments, finish, keep

import transformer_mb as tmb
from transformer_mb.data import Batches, Vocabulary, pair_ids
from transformer_mb.positions import sinusoid_table
from transformer_mb.training import Job, Progress, TrainingRecipe, train_model
from transformer_mb.training.records import EpochRecord

# A Chinese character is a token; the spaces here part them and are not printed.
PAIRS = [("I am from China", "我 来 自 中 国"), ("You and me are best friends", "你 我 是 最 好 的 朋 友")]
NUM_STEPS = 9  # the longer target has eight characters, and <eos> follows
# The walk-through leaves the sizes and the learning rate of its model open: the book's.
RECIPE = TrainingRecipe(
    **{**tmb.presets.RECIPES["d2l"], "batch_size": 2, "num_steps": NUM_STEPS, "clip_norm": None, "min_freq": 1}
)


def functions(backend: Any) -> dict[str, Any]:
    """Masks, attention and heads on their own."""
    rng = np.random.default_rng(0)
    masked = backend.apply(backend.sequence_mask, np.ones((2, 6, 8)), np.array([4, 6]), -99)
    print("sequence_mask, valid lengths 4 and 6: first column", masked[:, :, 0].tolist())
    weights = backend.apply(backend.masked_softmax, rng.random((2, 6, 8)), np.array([4, 6]))
    print(f"masked_softmax {weights.shape}, first row {weights[0, 0].astype(float).round(4).tolist()}")
    attention = backend.layer("DotProductAttention", 0.5)
    queries, keys, values = rng.standard_normal((3, 2, 6, 14))
    output = backend.apply(attention, queries, keys, values, np.array([3, 4]))
    print("DotProductAttention", output.shape)
    heads = backend.apply(backend.transpose_qkv, rng.random((1, 6, 14)), 2)
    print("transpose_qkv (1, 6, 14) ->", heads.shape)
    return {"sequence_mask": masked, "masked_softmax": weights, "attention": output, "heads": heads}


def normalisation(backend: Any) -> dict[str, Any]:
    """Normalise over each token, and over each whole text."""
    X = np.array([[[1, 2, 3, 4], [5, 6, 7, 8]], [[5, 6, 7, 8], [5, 1, 0, -1]]], dtype=float)
    found = {}
    for shape in (4, [2, 4]):
        layer = backend.layer("LayerNorm", shape)
        sizes = backend.parameter_shapes(layer)
        backend.set_weights(layer, {"weight": np.ones(sizes["weight"]), "bias": np.zeros(sizes["bias"])})
        found[f"layer_norm {shape}"] = backend.apply(layer, X)
        print(f"LayerNorm({shape})\n{found[f'layer_norm {shape}'].round(4)}")
    return found


def inner_products(folder: Path, width: int = 512, distances: int = 200) -> np.ndarray:
    """P[i] . P[i + k] by distance k: a sum of cosines that does not depend on i."""
    by_formula = np.array([np.cos(k / 10000 ** (np.arange(0, width, 2) / width)).sum() for k in range(distances)])
    table = sinusoid_table(10 + distances, width)
    np.testing.assert_allclose(table[10:] @ table[10], by_formula, atol=1e-9)
    print(f"inner product of positions: {by_formula[0]:.1f} at distance 0, {by_formula[100]:.1f} at 100")
    labels = {"x": "distance k", "y": "inner product", "title": f"Inner product of two position vectors, {width} wide"}
    curve_picture(folder / "position_inner_products.png", range(distances), by_formula, **labels)
    return by_formula


def shapes(backend: Any) -> dict[str, Any]:
    """The encoder of the walk-through: 6 layers of width 14 that normalise over 6 steps and 14 features together."""
    encoder = backend.layer("TransformerEncoder", 200, 14, 14, 14, 14, [6, 14], 14, 28, 2, 6, 0.5)
    output = backend.apply(encoder, np.ones((2, 6), dtype=int), np.array([4, 6]))
    print("TransformerEncoder", output.shape)
    return {"encoder": output.shape}


class EveryTenth(Progress):
    def epoch(self, record: EpochRecord) -> None:
        if record.epoch % 10 == 0:
            print(f"loss: {record.loss:.4f}")


def train_and_predict(backend: Any, folder: Path) -> tuple[float, list[str]]:
    tokens = [[text.lower().split() for text in side] for side in zip(*PAIRS, strict=True)]
    vocabularies = tuple(Vocabulary.from_tokens(side, pipeline="d2l") for side in tokens)
    batches = Batches(pair_ids(PAIRS, *vocabularies), RECIPE.batch_size, num_steps=NUM_STEPS)
    model = backend.build(tmb.presets.d2l(*map(len, vocabularies)), seed=RECIPE.seed)
    state = train_model(Job(backend, batches, RECIPE), model, EveryTenth())
    (batch,) = Batches(pair_ids(PAIRS, *vocabularies), 2, num_steps=NUM_STEPS, shuffle=False).epoch(0)
    predicted = []
    for found in backend.greedy(model, batch.source, batch.source_valid_lens, NUM_STEPS):
        predicted.append(vocabularies[1].decode(found).replace(" ", ""))
    for (source, _), text in zip(PAIRS, predicted, strict=True):
        print(source, "=>", text)
    probe = {name: getattr(batch, name) for name in ("source", "source_valid_lens", "target_in")}
    keep(model, folder, {**probe, "max_steps": NUM_STEPS}, vocabularies)
    return state.loss, predicted


def main(folder: Path) -> None:
    backend = tmb.get_backend()
    values = {**functions(backend), **normalisation(backend), **shapes(backend), "inner_products": inner_products(folder)}
    loss, predicted = train_and_predict(backend, folder)
    expected = [target.replace(" ", "") for _, target in PAIRS]
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
    finish(folder, {"loss": loss, "predicted": predicted, **plain}, {"both pairs reproduced": predicted == expected})


if __name__ == "__main__":
    main(arguments(__doc__, "english_chinese").out)
