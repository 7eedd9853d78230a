"""The defaults that are swapped: of each, what one framework has and what another has, all else equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A training: its differences from the job.

    Args:
        model: fields of TransformerConfig. update: of UpdateOptions.
        initial: changes to the initial weights, of ``starting.CHANGES``.
        shared_masks: attention dropout with one mask for all rows and heads.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    update: Mapping[str, Any] = field(default_factory=dict)
    initial: tuple[str, ...] = ()
    shared_masks: bool = False

    @property
    def key(self) -> str:
        """Identify the arm: equal ones are trained once."""
        return repr((sorted(self.model.items()), sorted(self.update.items()), self.initial, self.shared_masks))


@dataclass(frozen=True)
class Swap:
    """A default swapped for another framework's.

    Args:
        name: unique, of a few words. probes: the facts that say who has what; empty for a control.
        one, other: the two values in words, with the frameworks that have them. The second replaces the first.
        base, swapped: the two trainings, which differ in this one thing.
    """

    name: str
    probes: tuple[str, ...]
    one: str
    other: str
    base: Arm
    swapped: Arm

    @property
    def forward(self) -> bool:
        """Tell whether the same weights give other logits."""
        return self.base.model != self.swapped.model


DEFAULT = Arm()
GELU = Arm(model={"activation": "gelu"})
RMS = Arm(model={"norm_kind": "rms_norm", "norm_eps": 1.2e-7})
DECAYED = Arm(update={"weight_decay": 0.01})
MOMENTUM = Arm(update={"optimizer": "sgd", "learning_rate": 0.2, "momentum": 0.9})
SGD = Arm(update={"optimizer": "sgd", "learning_rate": 0.001, "clip_norm": None})
CONTROL = "control: one rounding"


def _swap(
    name: str, one: str, other: str, base: Arm = DEFAULT, *, probes: tuple[str, ...] | None = None, **swapped: Any
) -> Swap:
    """Make a swap whose second arm has fields of its own. ``probes``: by default what its name says before a comma."""
    return Swap(name, (name.partition(",")[0],) if probes is None else probes, one, other, base, Arm(**swapped))


SWAPS = (
    _swap("layer norm epsilon, 1e-3", "1e-5 (PyTorch, Paddle, MXNet)", "1e-3 (Keras)", model={"norm_eps": 1e-3}),
    _swap("layer norm epsilon, 1e-6", "1e-5 (PyTorch, Paddle, MXNet)", "1e-6 (Flax)", model={"norm_eps": 1e-6}),
    _swap(
        "standard deviation of a hand-written norm",
        "divided by n (NumPy, TensorFlow, MXNet, JAX)",
        "divided by n - 1 (PyTorch, Paddle), epsilon outside the root",
        probes=("deviation of 0 and 2", "variance of 0 and 2"),
        model={"norm_kind": "std_norm"},
    ),
    _swap(
        "RMS norm epsilon",
        "1.2e-7 (PyTorch)",
        "1e-6 (Keras, Flax)",
        RMS,
        probes=("rms norm epsilon",),
        model={"norm_kind": "rms_norm", "norm_eps": 1e-6},
    ),
    _swap(
        "GELU function",
        "exact (PyTorch, Paddle, MXNet)",
        "tanh approximation (Keras' function, JAX)",
        GELU,
        probes=("gelu function",),
        model={"activation": "gelu_tanh"},
    ),
    _swap("Adam epsilon", "1e-8 (PyTorch, Paddle, MXNet, Optax)", "1e-7 (Keras)", update={"eps": 1e-7}),
    _swap(
        "Adam epsilon place",
        "after the bias correction (PyTorch, Paddle, Optax)",
        "before it (MXNet)",
        update={"eps_in": "raw"},
    ),
    _swap(
        "Adam epsilon and its place",
        "1e-8 after the bias correction (PyTorch, Paddle, Optax)",
        "1e-7 before it (Keras)",
        probes=("Adam epsilon", "Adam epsilon place"),
        update={"eps": 1e-7, "eps_in": "raw"},
    ),
    _swap(
        "Adam with weight decay 0.01",
        "decoupled (Keras)",
        "added to the gradient (PyTorch, Paddle, MXNet)",
        DECAYED,
        probes=("Adam weight decay",),
        update={"weight_decay": 0.01, "decay": "gradient"},
    ),
    _swap("AdamW weight decay, 0.004", "0.01 (PyTorch, Paddle)", "0.004 (Keras)", DECAYED, update={"weight_decay": 0.004}),
    _swap("AdamW weight decay, 1e-4", "0.01 (PyTorch, Paddle)", "1e-4 (Optax)", DECAYED, update={"weight_decay": 1e-4}),
    _swap(
        "momentum under a schedule",
        "the learning rate of now (PyTorch, Paddle, Optax)",
        "the learning rate of its time (Keras, MXNet)",
        MOMENTUM,
        update={**MOMENTUM.update, "velocity": "steps"},
    ),
    _swap(
        "SGD learning rate", "0.001 (PyTorch, Paddle)", "0.01 (Keras, MXNet)", SGD, update={**SGD.update, "learning_rate": 0.01}
    ),
    _swap(
        "clipping to a norm of 1",
        "of all variables together (PyTorch, MXNet, Optax)",
        "of each variable (Keras' clipnorm, Paddle)",
        probes=("clipping by norm",),
        update={"clip": "each"},
    ),
    _swap("clipping epsilon", "none (Keras, Paddle, Optax)", "1e-6 (PyTorch)", update={"clip_eps": 1e-6}),
    _swap(
        "dense weights, variance 1/3 / inputs",
        "Glorot uniform (Keras, Paddle)",
        "uniform, variance 1/3 / inputs (PyTorch)",
        initial=("dense of torch",),
    ),
    _swap(
        "dense weights, uniform to 0.07",
        "Glorot uniform (Keras, Paddle)",
        "uniform to 0.07 (MXNet)",
        initial=("dense of mxnet",),
    ),
    _swap(
        "dense bias",
        "zeros (Keras, Paddle, MXNet, Flax)",
        "uniform, variance 1/3 / inputs (PyTorch)",
        initial=("biases of torch",),
    ),
    _swap(
        "embeddings, standard normal",
        "normal, variance 1 / size (Flax)",
        "normal, standard deviation 1 (PyTorch)",
        probes=("embedding weights",),
        initial=("embeddings of torch",),
    ),
    _swap(
        "embeddings, uniform to 0.05",
        "normal, variance 1 / size (Flax)",
        "uniform to 0.05 (Keras)",
        probes=("embedding weights",),
        initial=("embeddings of keras",),
    ),
    _swap(
        "what shares a mask of attention dropout",
        "each weight has its own (PyTorch, Keras, Paddle)",
        "one for all rows and heads (Flax)",
        shared_masks=True,
    ),
    _swap(
        "gradient of a padding row",
        "like any other row (Keras)",
        "the row is zero and gets none (PyTorch's and Paddle's padding_idx)",
        probes=("gradient of a padding row", "padding row of an embedding"),
        model={"padding_vector_zero": True},
        initial=("padding rows zero",),
    ),
    _swap(CONTROL, "the initial weights", "the next larger float32 of each", probes=(), initial=("next larger",)),
)
