"""Pictures of the loss, of Adam and of beam search."""

from __future__ import annotations

from typing import Any

import numpy as np

from .pictures import Grid, Step, picture


def _layers() -> Any:
    from transformer_mb.backends import numpy as layers

    return layers


def loss() -> str:
    """Four steps of one sentence, of which the last is padding."""
    T, V = 4, 6
    logits = 2 * np.random.default_rng(0).standard_normal((1, T, V))
    label = np.array([[1, 4, 0, 0]])
    wanted = np.eye(V)[label[0]].astype(bool)
    probabilities = np.exp(logits[0]) / np.exp(logits[0]).sum(axis=-1, keepdims=True)
    steps = -np.log(probabilities[wanted]).reshape(T, 1)
    total = _layers().MaskedSoftmaxCELoss()(logits, label, np.array([3]))
    row = [
        Grid("logits", ("T", "V"), logits[0]),
        Step("softmax", arrow=True),
        Grid("p, the label framed", ("T", "V"), probabilities, marked=wanted),
        Step("- log", arrow=True),
        Grid("steps", ("T", ""), steps, "padding left out", hidden=np.arange(T)[:, None] >= 3),
        Step("mean", arrow=True),
        Grid("loss", ("B", ""), total[:, None], words=[[f"{total[0]:.2f}"]]),
    ]
    return picture(
        [row], "The loss: of each step the negative logarithm of the label's probability, those of padding left out."
    )


def adam() -> str:
    """Twelve steps of three parameters, whose gradients differ in size a thousandfold."""
    gradients = np.random.default_rng(0).standard_normal((3, 12)) * [[10.0], [0.1], [0.01]] + [[10.0], [0.1], [0.0]]
    betas, rows = (0.9, 0.999), {"m": [], "v": [], "update": []}
    m, v = np.zeros(3), np.zeros(3)
    for step, gradient in enumerate(gradients.T, 1):
        m, v = betas[0] * m + (1 - betas[0]) * gradient, betas[1] * v + (1 - betas[1]) * gradient**2
        rows["m"].append(m)
        rows["v"].append(v)
        rows["update"].append(m / (1 - betas[0] ** step) / (np.sqrt(v / (1 - betas[1] ** step)) + 1e-8))
    scaled = {name: np.array(found).T / np.abs(found).max(axis=0)[:, None] for name, found in rows.items() if name != "update"}
    first = [
        Grid(
            "gradients g", ("parameters", "steps"), gradients / np.abs(gradients).max(axis=1, keepdims=True), "each row scaled"
        ),
        Step("mean", arrow=True),
        Grid("m", ("parameters", "steps"), scaled["m"], "each row scaled"),
    ]
    second = [
        Step("mean of squares", arrow=True),
        Grid("v", ("parameters", "steps"), scaled["v"], "each row scaled"),
        Step("m / √v, corrected", arrow=True),
        Grid("update", ("parameters", "steps"), np.array(rows["update"]).T, "all of one size"),
    ]
    return picture(
        [first, second],
        "Adam divides a running mean of gradients by the root of that of their squares: all updates are of a size.",
    )


def beam_search() -> str:
    """Two steps of a beam of two over five words, with the tokens' log-probabilities."""
    words = ["il", "elle", "est", "va", "."]
    first, second = [[2.0, 1.5, 0.0, -1.0, -2.0]], [[-2.0, -2.5, 2.0, 1.5, -1.0], [-2.5, -2.0, 2.5, 0.0, -1.0]]
    rows: list[list[Grid | Step]] = []
    scores, kept_words = np.array([0.0]), ["<bos>"]
    for number, given in enumerate((first, second), 1):
        logits = np.array(given)
        log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        candidates = scores[:, None] + log_probs
        best = np.argsort(-candidates, axis=None)[:2]
        marked = np.zeros(candidates.shape, dtype=bool)
        marked.flat[best] = True
        texts = [[f"{words[j]} {candidates[i, j]:.1f}" for j in range(len(words))] for i in range(len(candidates))]
        parents, tokens = best // len(words), best % len(words)
        continued = [f"{kept_words[i]} {words[j]}" for i, j in zip(parents, tokens, strict=True)]
        grid = Grid(f"log p of step {number}", ("beam", "V"), np.exp(candidates), marked=marked, words=texts)
        scores, kept_words = candidates.flat[best], continued
        kept = Grid("kept", ("beam", ""), np.exp(scores)[:, None], words=[[text] for text in continued])
        rows.append([grid, Step("two best", arrow=True), kept])
    return picture(rows, "Beam search of width 2: of all continuations of the kept hypotheses the two most probable go on.")
