"""A pre-norm Transformer, one step after the other, from token ids to log-probabilities; every step prints its shape.

    TRANSFORMER_MB_BACKEND=torch python examples/step_by_step.py

The model is ``presets.stepwise_prenorm``: one layer a side, width 512, 8 heads, std-based norms, 50,000 words. Products
with weight matrices are NumPy's; positions, norms, heads, masks and feed-forward layers are the backend's. At the end the
same steps without masks are compared with the model as a whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from results import arguments, finish, keep

import transformer_mb as tmb

WORDS = 50_000
TOKENS = np.array([[1, 2, 3]])
MASK = np.array([[True, False, True]])  # the second token is not to be attended to


class Steps:
    """The steps of one forward pass; ``say`` prints or collects what each one gives."""

    def __init__(self, backend: Any, weights: dict[str, np.ndarray], config: Any, say: Any):
        self.backend, self.weights, self.config, self.say = backend, weights, config, say

    def layer(self, path: str, name: str, /, *arguments: Any, **options: Any) -> Any:
        """A layer of the backend with the weights that the model has at ``path``."""
        layer = self.backend.layer(name, *arguments, **options)
        names = self.backend.parameter_shapes(layer)
        self.backend.set_weights(layer, {one: self.weights[f"{path}.{one}"] for one in names})
        return layer

    def linear(self, path: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{path}.weight"].T + self.weights[f"{path}.bias"]

    def embed(self, side: str, tokens: np.ndarray) -> np.ndarray:
        x = self.weights[f"{side}.embedding.weight"][tokens] * np.sqrt(self.config.num_hiddens)
        self.say(f"{side}: embeddings", x)
        positions = self.backend.layer("PositionalEncoding", self.config.num_hiddens, 0.0, self.config.max_len)
        return self.say(f"{side}: with positions", self.backend.apply(positions, x))

    def norm(self, path: str, x: np.ndarray) -> np.ndarray:
        layer = self.layer(path, "LayerNorm", self.config.num_hiddens, eps=self.config.norm_eps, kind=self.config.norm_kind)
        return self.say("normalized", self.backend.apply(layer, x))

    def attend(self, path: str, queries: np.ndarray, keys: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
        """Project, split into heads, weigh, mix, join the heads, project. allowed: broadcastable to [B, H, T, S]."""
        heads = self.config.encoder_num_heads
        projected = [self.linear(f"{path}.W_{name}", x) for name, x in (("q", queries), ("k", keys), ("v", keys))]
        q, k, v = (self.backend.apply(self.backend.transpose_qkv, x, heads) for x in projected)
        for name, x in zip("qkv", (q, k, v), strict=True):
            self.say(name, x)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        attention = self.say("attention", self.backend.apply(self.backend.masked_softmax, scores, mask=allowed))
        mixed = self.say("mixed values", attention @ v)
        joined = self.say("heads joined", self.backend.apply(self.backend.transpose_output, mixed, heads))
        return self.say("projected", self.linear(f"{path}.W_o", joined))

    def feed_forward(self, path: str, x: np.ndarray) -> np.ndarray:
        layer = self.layer(
            path, "PositionWiseFFN", self.config.num_hiddens, self.config.ffn_num_hiddens, self.config.num_hiddens
        )
        return self.say("feed-forward", self.backend.apply(layer, x))

    def encode(self, tokens: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        block, allowed = "encoder.blks.block0", None if mask is None else mask[:, None, None, :]
        x = self.embed("encoder", tokens)
        y = self.norm(f"{block}.addnorm1.ln", x)
        x = self.say("residual added", x + self.attend(f"{block}.attention", y, y, allowed))
        y = self.norm(f"{block}.addnorm2.ln", x)
        x = self.say("residual added", x + self.feed_forward(f"{block}.ffn", y))
        return self.say("hidden", self.norm("encoder.norm", x))

    def decode(
        self, tokens: np.ndarray, mask: np.ndarray | None, hidden: np.ndarray, source_mask: np.ndarray | None
    ) -> np.ndarray:
        block, past = "decoder.blks.block0", np.tri(tokens.shape[1], dtype=bool)
        allowed = past if mask is None else past & mask[:, None, None, :]
        x = self.embed("decoder", tokens)
        y = self.norm(f"{block}.addnorm1.ln", x)
        x = self.say("residual added", x + self.attend(f"{block}.attention1", y, y, allowed))
        y = self.norm(f"{block}.addnorm2.ln", x)
        source_allowed = None if source_mask is None else source_mask[:, None, None, :]
        x = self.say("residual added", x + self.attend(f"{block}.attention2", y, hidden, source_allowed))
        y = self.norm(f"{block}.addnorm3.ln", x)
        x = self.say("residual added", x + self.feed_forward(f"{block}.ffn", y))
        scores = self.linear("decoder.dense", self.norm("decoder.norm", x))
        return self.say("log-probabilities", log_softmax(scores))


def log_softmax(scores: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def apart(backend: Any, model: Any, steps: Steps) -> tuple[float, float]:
    """Return how far another word behind the mask moves the others; how far unmasked steps are from the whole model."""
    other = np.array([[1, 9, 3]])
    moved = np.abs(steps.encode(other, MASK) - steps.encode(TOKENS, MASK))[:, [0, 2]].max()
    whole = log_softmax(backend.logits(model, TOKENS, TOKENS, [3]).astype(np.float64))
    return float(moved), float(np.abs(steps.decode(TOKENS, None, steps.encode(TOKENS, None), None) - whole).max())


def main(folder: Path, words: int = WORDS, **changes: Any) -> None:
    backend = tmb.get_backend()
    config = tmb.presets.stepwise_prenorm(words, words, **changes)
    model = backend.build(config, initialization=tmb.presets.RECIPES["stepwise_prenorm"]["initialization"])
    weights = backend.get_weights(model)
    said: list[tuple[str, np.ndarray]] = []

    def say(what: str, x: np.ndarray) -> np.ndarray:
        print(f"{what:24} {tuple(x.shape)}")
        said.append((what, x))
        return x

    steps = Steps(backend, weights, config, say)
    log_probs = steps.decode(TOKENS, MASK, steps.encode(TOKENS, MASK), MASK)
    moved, from_model = apart(backend, model, Steps(backend, weights, config, lambda what, x: x))
    print(f"another word behind the mask moves the others by {moved}; the whole model differs by {from_model:.1e}")

    attention = [x for what, x in said if what == "attention"]
    rows = np.max([np.abs(x.sum(axis=-1) - 1).max() for x in attention])
    keep(model, folder, {"source": TOKENS, "source_valid_lens": [3], "target_in": TOKENS, "max_steps": 5})
    targets = {
        "exact zeros where masked": all(not x[..., 1].any() for x in attention) and moved == 0.0,
        "rows of attention sum to 1 within 1e-6": rows < 1e-6,
        "probabilities sum to 1 within 1e-5": np.abs(np.exp(log_probs).sum(axis=-1) - 1).max() < 1e-5,
        "the steps are the model, within 1e-4": from_model < 1e-4,
    }
    shapes = [[what, list(x.shape)] for what, x in said]
    finish(folder, {"shapes": shapes, "masked": moved, "apart": from_model}, targets)


if __name__ == "__main__":
    main(arguments(__doc__, "step_by_step").out)
