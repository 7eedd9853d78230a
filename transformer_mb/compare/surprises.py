"""Ten facts that surprise users of a single framework: by probe, one sentence why."""

from __future__ import annotations

SURPRISES = {
    "boolean mask of the attention layer": (
        "PyTorch's attention layer ignores what is set, and its attention function attends to it: the same mask, the "
        "opposite meaning, one call deeper in the same framework."
    ),
    "attention layer without any key, weights asked for": (
        "To ask PyTorch's layer for its weights, as one does to look at them, turns the zeros of a row without any key "
        "into NaN, and Keras' uniform mean into zeros."
    ),
    "what shares a mask of attention dropout": (
        "Flax drops the same weights in every row and head of a batch unless asked not to: one draw where others make "
        "thousands."
    ),
    "layer norm at mean 1000": (
        "Flax computes the variance as the mean of squares less the square of the mean, and is off by a fifth where the "
        "others are right to three digits."
    ),
    "gelu function": (
        "Keras' GELU function is the tanh approximation and its GELU layer the exact one, and JAX has the approximation "
        "where PyTorch, Paddle and MXNet are exact: who ports by name ports another function."
    ),
    "embedding of the id -1": (
        "One wrong id is an error in one framework, the last row in two, the first row in another, and in Paddle whatever "
        "lies in memory before the table."
    ),
    "one initializer called twice": (
        "One Keras initializer gives every layer of a shape the same numbers, so that heads or experts that share it "
        "begin alike, where the others' initializers draw anew at each call."
    ),
    "relu of NaN": (
        "Paddle's ReLU makes a zero of NaN: a training that has broken down may go on with a finite loss, and nothing tells."
    ),
    "Adam weight decay": (
        "`Adam(weight_decay=0.01)` is L2 regularization in PyTorch, Paddle and MXNet and decoupled decay in Keras: the "
        "same words, another optimizer."
    ),
    "clipping by norm": (
        "Keras' `clipnorm` and Paddle's `ClipGradByNorm` clip each variable by itself, which changes the direction of the "
        "step; the others' clipping by norm scales all gradients alike."
    ),
}
