"""Differences that return in layer after layer, each explained once: what a framework asks of whoever writes a layer in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .differences import Difference, Note

RECURRING = (
    Note(
        ("torch", "paddle", "mxnet"),
        "super().__init__()",
        "The framework's base class must exist before parts are assigned to it, since it registers them as they come.",
    ),
    Note(
        ("tensorflow",),
        "**kwargs",
        "Keras gives each layer a name and a dtype by keyword; a layer hands on what it does not know itself.",
    ),
    Note(
        ("tensorflow",),
        "name: str | None = None",
        "Keras gives each layer a name and a dtype; beside options that are typed, they are named one by one.",
    ),
    Note(
        ("tensorflow",),
        "self.dtype_policy",
        "Layers inside a layer get its dtype, so that a whole model is made in float64 or in a mixed policy at once.",
    ),
    Note(
        ("tensorflow",),
        "dtype=dtype",
        "Layers inside a layer get its dtype, so that a whole model is made in float64 or in a mixed policy at once.",
    ),
    Note(
        ("tensorflow",),
        "register_keras_serializable",
        "Keras saves a layer by its registered name, and finds the class by it when it loads a model.",
    ),
    Note(
        ("tensorflow",),
        "training: bool | None",
        "Keras tells each call whether it is one of training; in the other frameworks the layer remembers its mode.",
    ),
    Note(
        ("tensorflow",),
        "training=training",
        "Keras tells each call whether it is one of training, so every call inside hands it on.",
    ),
    Note(
        ("tensorflow",),
        "self.built = True",
        "Keras makes weights at the first call; ours know their sizes and exist from the beginning, as elsewhere.",
    ),
    Note(
        ("tensorflow",),
        ".build((None,",
        "Keras makes weights at the first call; told the width of the input, it makes them now.",
    ),
    Note(("tensorflow",), "self.supports_masking = True", "Keras' own padding masks are passed on, not refused."),
    Note(
        ("tensorflow",),
        "keras.ops.shape(",
        "In a compiled function a size may be unknown until it runs; this gives the number where it is known, else a tensor.",
    ),
    Note(
        ("jax",),
        "rngs: nnx.Rngs | None = None",
        "flax.nnx draws initial weights and dropout from streams of random keys that the caller passes in; JAX has no global "
        "generator. `param_dtype` is the dtype of the weights.",
    ),
    Note(("jax",), "rngs=rngs", "Each part draws from the same streams of random keys."),
    Note(("jax",), "**created", "Each part gets the dtype of the weights and the streams of random keys."),
    Note(
        ("numpy",),
        "def backward(",
        "NumPy differentiates nothing: this is the gradient, derived by hand. It is the reference for the other five, and is "
        "itself held to finite differences.",
    ),
    Note(("numpy",), "self.remember(", "What the gradient will need is kept here; the other frameworks record it themselves."),
    Note(
        ("paddle",),
        "known_sizes(",
        "A program of Paddle's may leave sizes open; masks and positions are made of them, so it is refused in a sentence.",
    ),
    Note(("torch",), "nn.Linear(", "PyTorch names inputs, then outputs, and keeps the weight as [out, in]."),
    Note(
        ("paddle",),
        "Linear(",
        "Paddle keeps the weight as [in, out], and takes the choice of a bias as `bias_attr`.",
    ),
    Note(
        ("mxnet",),
        "nn.Dense(",
        "Gluon names outputs first, and would flatten all axes but the first unless `flatten=False`.",
    ),
    Note(("tensorflow",), "Dense(", "Keras names outputs only, and keeps the weight as [in, out]."),
    Note(("jax",), "linear(", "flax keeps the weight, its `kernel`, as [in, out]."),
    Note(("numpy",), "Linear(", "Our own affine layer, with a gradient derived by hand; the weight is [out, in]."),
    Note(
        ("numpy", "torch", "paddle", "mxnet"),
        "Sequential()",
        "Blocks are kept in the framework's own container, by which it finds their parameters.",
    ),
    Note(("tensorflow",), "self.blks = [", "Keras finds the layers in a plain list."),
    Note(("jax",), "nnx.List(", "flax.nnx finds modules in a list of its own kind."),
)


def add_recurring(found: Mapping[str, Sequence[Difference]]) -> None:
    """Give each difference the sentences that its text calls for, once each."""
    for backend, places in found.items():
        for place in places:
            sentences = [note.words for note in RECURRING if backend in note.backends and note.fragment in place.text]
            place.sentences += [one for one in dict.fromkeys(sentences) if one not in place.sentences]
