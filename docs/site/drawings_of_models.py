"""Pictures of blocks and of what they are told: masks, and the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from .pictures import Grid, Step, picture

T, S, D, H, F = 4, 5, 6, 2, 12


def _layers() -> Any:
    from transformer_mb.backends import numpy as layers

    return layers


def _features(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def encoder() -> str:
    """Show a block, sublayer by sublayer."""
    block = _layers().EncoderBlock(D, D, D, D, D, D, F, H, 0.0)
    X = _features(1, S, D)
    attended = block.attention(X, X, X, np.array([4]))
    middle = block.addnorm1(X, attended)
    first = [
        Grid("X", ("S", "D"), X[0], "the last is padding"),
        Step("self-attention", arrow=True),
        Grid("Y", ("S", "D"), attended[0]),
        Step("add & norm with X", arrow=True),
        Grid("Z", ("S", "D"), middle[0]),
    ]
    second = [
        Step("feed-forward", arrow=True),
        Grid("Y", ("S", "D"), block.ffn(middle)[0]),
        Step("add & norm with Z", arrow=True),
        Grid("output", ("S", "D"), block(X, np.array([4]))[0]),
    ]
    return picture([first, second], "An encoder block: self-attention, then the feed-forward network, each with add and norm.")


def decoder() -> str:
    """The two attentions of one block: to its own past, and to the source."""
    block = _layers().DecoderBlock(D, D, D, D, D, D, F, H, 0.0, 0)
    X, source = _features(1, T, D), _features(1, S, D, seed=1)
    output, _ = block(X, [source, np.array([4]), [None]], need_weights=True)
    own, cross = (layer.attention_weights[0, 0] for layer in (block.attention1, block.attention2))
    first = [
        Grid("target X", ("T", "D"), X[0]),
        Step("self-attention", arrow=True),
        Grid("own weights", ("T", "T"), own, "no future", hidden=~np.tri(T, dtype=bool)),
        Step("values, add & norm", arrow=True),
        Grid("Y", ("T", "D"), block.addnorm1(X, block.attention1(X, X, X, causal=True))[0]),
    ]
    second = [
        Grid("source", ("S", "D"), source[0], "of the encoder"),
        Step("cross-attention of Y", arrow=True),
        Grid("weights", ("T", "S"), cross, "no padding", hidden=np.broadcast_to(np.arange(S) >= 4, (T, S))),
        Step("add & norm, feed-forward, add & norm", arrow=True),
        Grid("output", ("T", "D"), output[0]),
    ]
    return picture([first, second], "A decoder block attends to its own past, then to the source, and then feeds forward.")


def masks() -> str:
    """Three ways to say what may be attended to, and their AND."""
    lengths = np.broadcast_to(np.arange(S) < 4, (T, S))
    causal = np.tri(T, S, S - T, dtype=bool)
    own = np.ones((T, S), dtype=bool)
    own[:, 1] = False
    row: list[Grid | Step] = []
    named = (("valid_lens = [4]", lengths), ("causal=True", causal), ("mask", own), ("all three", lengths & causal & own))
    for number, (name, allowed) in enumerate(named):
        row += [Step("=" if number == 3 else "AND")] if number else []
        row.append(Grid(name, ("T", "S"), allowed.astype(float), hidden=~allowed))
    return picture([row], "Lengths, the causal flag and a boolean mask say what each query may attend to; they combine by AND.")


def cache() -> str:
    """Three steps of decoding, each of which adds one row of keys."""
    keys = _features(T, D)
    row: list[Grid | Step] = []
    for steps in (1, 2, 3):
        new = np.zeros((steps, D), dtype=bool)
        new[-1] = True
        row += [Step("next token", arrow=True)] if steps > 1 else []
        row.append(Grid(f"keys, step {steps}", ("steps", "D"), keys[:steps], marked=new))
    return picture([row], "The cache: each step projects the keys of one token, framed here, and reads those of all before it.")
