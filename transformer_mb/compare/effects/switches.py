"""The defaults that are swapped: of each, what one framework has and what another has, all else equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .updating import UpdateOptions


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One training: what it has otherwise than the job.

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
        """The same for equal arms, so that each is trained once."""
        return repr((sorted(self.model.items()), sorted(self.update.items()), self.initial, self.shared_masks))

    def options(self) -> UpdateOptions:
        return UpdateOptions(**self.update)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One default swapped for another framework's.

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
        """Whether the same weights give other logits."""
        return self.base.model != self.swapped.model


DEFAULT = Arm()
GELU = Arm(model={"activation": "gelu"})
RMS = Arm(model={"norm_kind": "rms_norm", "norm_eps": 1.2e-7})
DECAYED = Arm(update={"weight_decay": 0.01})
MOMENTUM = Arm(update={"optimizer": "sgd", "learning_rate": 0.2, "momentum": 0.9})
SGD = Arm(update={"optimizer": "sgd", "learning_rate": 0.001, "clip_norm": None})
CONTROL = "control: one rounding"

EFFECTS = (
    Effect(
        name="layer norm epsilon, 1e-3",
        probes=("layer norm epsilon",),
        one="1e-5 (PyTorch, Paddle, MXNet)",
        other="1e-3 (Keras)",
        base=DEFAULT,
        swapped=Arm(model={"norm_eps": 1e-3}),
    ),
    Effect(
        name="layer norm epsilon, 1e-6",
        probes=("layer norm epsilon",),
        one="1e-5 (PyTorch, Paddle, MXNet)",
        other="1e-6 (Flax)",
        base=DEFAULT,
        swapped=Arm(model={"norm_eps": 1e-6}),
    ),
    Effect(
        name="standard deviation of a hand-written norm",
        probes=("deviation of 0 and 2", "variance of 0 and 2"),
        one="divided by n (NumPy, TensorFlow, MXNet, JAX)",
        other="divided by n - 1 (PyTorch, Paddle), epsilon outside the root",
        base=DEFAULT,
        swapped=Arm(model={"norm_kind": "std_norm"}),
    ),
    Effect(
        name="RMS norm epsilon",
        probes=("rms norm epsilon",),
        one="1.2e-7 (PyTorch)",
        other="1e-6 (Keras, Flax)",
        base=RMS,
        swapped=Arm(model={"norm_kind": "rms_norm", "norm_eps": 1e-6}),
    ),
    Effect(
        name="GELU function",
        probes=("gelu function",),
        one="exact (PyTorch, Paddle, MXNet)",
        other="tanh approximation (Keras' function, JAX)",
        base=GELU,
        swapped=Arm(model={"activation": "gelu_tanh"}),
    ),
    Effect(
        name="Adam epsilon",
        probes=("Adam epsilon",),
        one="1e-8 (PyTorch, Paddle, MXNet, Optax)",
        other="1e-7 (Keras)",
        base=DEFAULT,
        swapped=Arm(update={"eps": 1e-7}),
    ),
    Effect(
        name="Adam epsilon place",
        probes=("Adam epsilon place",),
        one="after the bias correction (PyTorch, Paddle, Optax)",
        other="before it (MXNet)",
        base=DEFAULT,
        swapped=Arm(update={"eps_in": "raw"}),
    ),
    Effect(
        name="Adam epsilon and its place",
        probes=("Adam epsilon", "Adam epsilon place"),
        one="1e-8 after the bias correction (PyTorch, Paddle, Optax)",
        other="1e-7 before it (Keras)",
        base=DEFAULT,
        swapped=Arm(update={"eps": 1e-7, "eps_in": "raw"}),
    ),
    Effect(
        name="Adam with weight decay 0.01",
        probes=("Adam weight decay",),
        one="decoupled (Keras)",
        other="added to the gradient (PyTorch, Paddle, MXNet)",
        base=DECAYED,
        swapped=Arm(update={"weight_decay": 0.01, "decay": "gradient"}),
    ),
    Effect(
        name="AdamW weight decay, 0.004",
        probes=("AdamW weight decay",),
        one="0.01 (PyTorch, Paddle)",
        other="0.004 (Keras)",
        base=DECAYED,
        swapped=Arm(update={"weight_decay": 0.004}),
    ),
    Effect(
        name="AdamW weight decay, 1e-4",
        probes=("AdamW weight decay",),
        one="0.01 (PyTorch, Paddle)",
        other="1e-4 (Optax)",
        base=DECAYED,
        swapped=Arm(update={"weight_decay": 1e-4}),
    ),
    Effect(
        name="momentum under a schedule",
        probes=("momentum under a schedule",),
        one="the learning rate of now (PyTorch, Paddle, Optax)",
        other="the learning rate of its time (Keras, MXNet)",
        base=MOMENTUM,
        swapped=Arm(update={**MOMENTUM.update, "velocity": "steps"}),
    ),
    Effect(
        name="SGD learning rate",
        probes=("SGD learning rate",),
        one="0.001 (PyTorch, Paddle)",
        other="0.01 (Keras, MXNet)",
        base=SGD,
        swapped=Arm(update={**SGD.update, "learning_rate": 0.01}),
    ),
    Effect(
        name="clipping to a norm of 1",
        probes=("clipping by norm",),
        one="of all variables together (PyTorch, MXNet, Optax)",
        other="of each variable (Keras' clipnorm, Paddle)",
        base=DEFAULT,
        swapped=Arm(update={"clip": "each"}),
    ),
    Effect(
        name="clipping epsilon",
        probes=("clipping epsilon",),
        one="none (Keras, Paddle, Optax)",
        other="1e-6 (PyTorch)",
        base=DEFAULT,
        swapped=Arm(update={"clip_eps": 1e-6}),
    ),
    Effect(
        name="dense weights, variance 1/3 / inputs",
        probes=("dense weights",),
        one="Glorot uniform (Keras, Paddle)",
        other="uniform, variance 1/3 / inputs (PyTorch)",
        base=DEFAULT,
        swapped=Arm(initial=("dense of torch",)),
    ),
    Effect(
        name="dense weights, uniform to 0.07",
        probes=("dense weights",),
        one="Glorot uniform (Keras, Paddle)",
        other="uniform to 0.07 (MXNet)",
        base=DEFAULT,
        swapped=Arm(initial=("dense of mxnet",)),
    ),
    Effect(
        name="dense bias",
        probes=("dense bias",),
        one="zeros (Keras, Paddle, MXNet, Flax)",
        other="uniform, variance 1/3 / inputs (PyTorch)",
        base=DEFAULT,
        swapped=Arm(initial=("biases of torch",)),
    ),
    Effect(
        name="embeddings, standard normal",
        probes=("embedding weights",),
        one="normal, variance 1 / size (Flax)",
        other="normal, standard deviation 1 (PyTorch)",
        base=DEFAULT,
        swapped=Arm(initial=("embeddings of torch",)),
    ),
    Effect(
        name="embeddings, uniform to 0.05",
        probes=("embedding weights",),
        one="normal, variance 1 / size (Flax)",
        other="uniform to 0.05 (Keras)",
        base=DEFAULT,
        swapped=Arm(initial=("embeddings of keras",)),
    ),
    Effect(
        name="what shares a mask of attention dropout",
        probes=("what shares a mask of attention dropout",),
        one="each weight has its own (PyTorch, Keras, Paddle)",
        other="one for all rows and heads (Flax)",
        base=DEFAULT,
        swapped=Arm(shared_masks=True),
    ),
    Effect(
        name="gradient of a padding row",
        probes=("gradient of a padding row", "padding row of an embedding"),
        one="like any other row (Keras)",
        other="the row is zero and gets none (PyTorch's and Paddle's padding_idx)",
        base=DEFAULT,
        swapped=Arm(model={"padding_vector_zero": True}, initial=("padding rows zero",)),
    ),
    Effect(
        name=CONTROL,
        probes=(),
        one="the initial weights",
        other="the next larger float32 of each",
        base=DEFAULT,
        swapped=Arm(initial=("next larger",)),
    ),
)
