"""The TransformerEmbedding / PositionWiseFeedForward style: attention alone, a forward pass, a training step, no encoder.

    TRANSFORMER_MB_BACKEND=torch python examples/fused_embedding.py

The model is ``presets.fused_embedding`` with two layers a side: dropout inside the FFN and none on attention weights, a
zero vector for padding, and a decoder that also works without an encoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from results import arguments, finish, keep

import transformer_mb as tmb
from transformer_mb.batch import Batch
from transformer_mb.data import Batches
from transformer_mb.training import TrainingRecipe

WORDS = 60
STEPS = 10
MORE_STEPS = 100  # after which a small decoder knows four sentences by heart
BEGINNINGS = [2, 3, 3, 2]  # how many tokens of each it is given
SIZES = {"encoder_num_layers": 2, "decoder_num_layers": 2, "max_len": 64}
RECIPE = TrainingRecipe(**{**tmb.presets.RECIPES["fused_embedding"], "learning_rate": 1e-4})


def attention_alone(backend: Any, batch: int = 128, steps: int = 64) -> list[int]:
    """The document's test of its attention layer: [128, 64, 512] in and out."""
    X = np.random.default_rng(0).random((batch, steps, 512))
    layer = backend.layer("MultiHeadAttention", 512, 512, 512, 512, 8, 0.0, True)
    output = backend.apply(layer, X, X, X)
    print("MultiHeadAttention", output.shape)
    return list(output.shape)


def pad_mask(queries: np.ndarray, keys: np.ndarray, pad_id: int) -> np.ndarray:
    """[B, 1, T, S]: True where neither the query nor the key is padding. T and S may differ."""
    return (queries != pad_id)[:, None, :, None] & (keys != pad_id)[:, None, None, :]


def masks(backend: Any, source: np.ndarray, target: np.ndarray, pad_id: int) -> dict[str, bool]:
    """Padding masked on both sides, and the future: what must hold whatever the scores are."""
    cross = pad_mask(target, source, pad_id)
    own = pad_mask(target, target, pad_id) & np.tri(target.shape[1], dtype=bool)
    held = {}
    for name, allowed in (("cross-attention", cross), ("decoder self-attention", own)):
        scores = np.random.default_rng(1).standard_normal((len(target), 8, *allowed.shape[-2:]))
        weights = backend.apply(backend.masked_softmax, scores, mask=allowed)
        sums, rows = weights.sum(axis=-1), np.broadcast_to(allowed.any(axis=-1), weights.shape[:-1])
        held[f"{name}: exact zeros where masked"] = not weights[~np.broadcast_to(allowed, weights.shape)].any()
        held[f"{name}: rows sum to 1, those of padding to 0"] = np.allclose(sums, rows, atol=1e-6)
    return held


def make_batch(config: Any) -> Batch:
    """Four random sentences, to be translated into themselves backwards."""
    rng = np.random.default_rng(2)
    sentences = [rng.integers(4, WORDS, size=length).tolist() for length in (9, 7, 5, 3)]
    pairs = [(sentence, sentence[::-1]) for sentence in sentences]
    (batch,) = Batches(pairs, 4, num_steps=10, shuffle=False, start_id=config.start_id).epoch(0)
    return batch


def training_steps(backend: Any, model: Any, batch: Batch) -> list[float]:
    """The loss in evaluation mode before and after each of a few steps."""
    options = {"normalization": RECIPE.normalization}
    trainer = backend.trainer(model, **RECIPE.trainer_options())
    losses = [backend.loss_and_gradients(model, batch, **options)[0]]
    for _ in range(STEPS):
        trainer.step(batch)
    losses.append(backend.loss_and_gradients(model, batch, **options)[0])
    print(f"loss {losses[0]:.4f}, after {STEPS} steps {losses[1]:.4f}")
    return losses


def continued(backend: Any, batch: Batch) -> bool:
    """Tell whether a small decoder that knows the sentences gives the rest of each from its beginning (<bos> counted)."""
    small = {**SIZES, "num_hiddens": 64, "ffn_num_hiddens": 128}
    model = backend.build(tmb.presets.fused_embedding(None, WORDS, architecture="decoder", **small), seed=0)
    trainer = backend.trainer(model, **{**RECIPE.trainer_options(), "learning_rate": 2e-3})
    for _ in range(MORE_STEPS):
        trainer.step(batch)
    found = backend.greedy(model, batch.target_in[:, :3], BEGINNINGS, 12)
    print(f"continues {[row[:n].tolist() for row, n in zip(batch.target_in, BEGINNINGS, strict=True)]} by {found}")
    ends = batch.target_valid_lens - 1  # without <eos>
    return found == [row[n - 1 : end].tolist() for row, n, end in zip(batch.target_out, BEGINNINGS, ends, strict=True)]


def main(folder: Path, **changes: Any) -> None:
    backend = tmb.get_backend()
    config = tmb.presets.fused_embedding(WORDS, WORDS, **{**SIZES, **changes})
    batch = make_batch(config)
    shape = attention_alone(backend)
    held = masks(backend, batch.source, batch.target_in[:, :8], config.pad_id)

    model = backend.build(config, seed=0)
    logits = backend.logits(model, batch.source, batch.target_in, batch.source_valid_lens)
    print("Transformer", logits.shape)
    losses = training_steps(backend, model, batch)
    table = backend.get_weights(model)["encoder.embedding.weight"]
    probe = {name: getattr(batch, name) for name in ("source", "source_valid_lens", "target_in")}
    keep(model, folder, {**probe, "max_steps": 12})

    print("the decoder without an encoder:")
    alone = backend.build(tmb.presets.fused_embedding(None, WORDS, architecture="decoder", **{**SIZES, **changes}), seed=0)
    print("Decoder", backend.logits(alone, None, batch.target_in).shape)
    sentences = batch._replace(source=None, source_valid_lens=None)
    alone_losses = training_steps(backend, alone, sentences)
    probe = {"source": None, "source_valid_lens": None, "target_in": batch.target_in, "max_steps": 12}
    keep(alone, folder / "decoder_alone", probe)

    targets = {
        **held,
        "the loss falls": losses[1] < losses[0],
        "the loss of the decoder alone falls": alone_losses[1] < alone_losses[0],
        "the decoder alone continues what it learned": continued(backend, sentences),
        "the padding vector is still zero": not table[config.pad_id].any(),
    }
    finish(folder, {"attention": shape, "logits": list(logits.shape), "losses": losses, "alone": alone_losses}, targets)


if __name__ == "__main__":
    main(arguments(__doc__, "fused_embedding").out)
