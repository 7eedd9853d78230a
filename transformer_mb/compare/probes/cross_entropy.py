"""Cross-entropy: which axes, which labels, what a mean divides by, and what smoothing keeps."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Ask, Probe
from .reading import mean, named, rounded, sort_of

CROSS_ENTROPY = "docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"
KERAS = "keras.io/api/losses/probabilistic_losses"
SMOOTHING, CLASSES = 0.1, 4


def _returns(cross_entropy: Ask) -> str:
    loss = np.asarray(cross_entropy(np.zeros((5, 3), "float32"), np.zeros(5, "int64")))
    return {0: "one number", 5: "one per row"}.get(loss.size if loss.ndim else 0, "neither")


def _returns_of_steps(cross_entropy: Ask) -> str:
    loss = np.asarray(cross_entropy(np.zeros((2, 3, 3), "float32"), np.zeros((2, 3), "int64")))
    return {(): "one number", (2,): "one per row", (2, 3): "one per step"}.get(loss.shape, "neither")


def _class_axis(cross_entropy: Ask) -> str:
    """Make class 0 certain along axis 1, and all classes alike along the last axis."""
    logits = np.zeros((2, 3, 3), "float32")
    logits[:, 0] = 30.0
    loss = mean(cross_entropy(logits, np.zeros((2, 3), "int64")))
    return named(loss, {"axis 1": 0.0, "the last": math.log(3)}, within=1e-3)


def _outside(cross_entropy: Ask, label: int) -> str:
    logits = np.array([1.0, 2.0, 4.0])
    loss = mean(cross_entropy(logits[None].astype("float32"), np.array([label], "int64")))
    first, _, last = np.log(np.exp(logits).sum()) - logits
    word = sort_of(loss, "another number")
    return named(loss, {"taken for the first class": first, "taken for the last class": last}, word)


def _scores(called: Ask) -> str:
    """Take the loss of scores 0.7, 0.2 and 0.1 for the first class."""
    loss = mean(called(np.array([[0.7, 0.2, 0.1]], "float32"), np.array([0], "int64")))
    return named(loss, {"probabilities": -math.log(0.7), "logits": math.log(1 + math.exp(-0.5) + math.exp(-0.6))})


def _divisor(ignoring: Ask) -> str:
    """Ignore three of four rows; each row of two equal logits costs ln 2."""
    loss = mean(ignoring(np.zeros((4, 2), "float32"), np.array([1, 0, 0, 0], "int64"), 0))
    return {1.0: "the rows that count", 0.25: "all rows"}.get(round(loss / math.log(2), 4), "neither")


def _right_share(smoothed: Ask) -> float:
    """Solve the loss for q: it is -(q log p + (1 - q) log r) where the right class has probability p and the others r."""
    logits = np.array([[2.0, 0.0, 0.0, 0.0]], "float32")
    p, r = np.exp([2.0, 0.0]) / (math.exp(2.0) + CLASSES - 1)
    loss = mean(smoothed(logits, np.array([0], "int64"), SMOOTHING))
    return rounded((-loss - math.log(r)) / (math.log(p) - math.log(r)), 4)


def _type(ask: Ask) -> str:
    """Return the dtype's name without the framework's."""
    return str(ask(np.array([[1.0, 2.0]], "float32"), np.array([0], "int64"))).rpartition(".")[2]


PROBES = (
    Probe(
        name="cross-entropy returns",
        operation="cross_entropy",
        measure=_returns,
        question="What does cross-entropy return for five rows?",
        meaning="One number is a mean already; one per row has still to be divided, and by what is up to the training loop.",
        setting='`reduction="none"` and a mean of your own.',
        sources=(CROSS_ENTROPY,),
    ),
    Probe(
        name="cross-entropy returns of steps",
        operation="cross_entropy",
        measure=_returns_of_steps,
        question="What does cross-entropy return for two rows of three time steps?",
        meaning="Where a row's steps are averaged, a sum over the batch weighs tokens of short rows more.",
        setting='`reduction="none"` and a mean of your own.',
    ),
    Probe(
        name="cross-entropy class axis",
        operation="cross_entropy",
        measure=_class_axis,
        question="Which axis of [batch, 3, 3] holds the classes?",
        meaning="[batch, time, classes] must be transposed for torch; where time and classes are as many, nothing complains.",
        setting="`axis=` in MXNet, Paddle, Keras and optax; in torch move the classes to axis 1.",
        sources=(CROSS_ENTROPY,),
    ),
    Probe(
        name="cross-entropy of a label too large",
        operation="cross_entropy",
        measure=lambda ask: _outside(ask, 3),
        question="What is the loss of label 3 among three classes?",
        meaning="A vocabulary that is one too small ends the run, makes NaN, or trains the wrong word.",
        setting="None; check the labels before.",
    ),
    Probe(
        name="cross-entropy of label -1",
        operation="cross_entropy",
        measure=lambda ask: _outside(ask, -1),
        question="What is the loss of label -1?",
        meaning="Labels padded with -1 stop the run, count as nothing, or train a class.",
        setting="Ignore the label explicitly, or mask the loss.",
    ),
    Probe(
        name="cross-entropy takes",
        operation="cross_entropy_called",
        measure=_scores,
        question="Does cross-entropy with its defaults take logits or probabilities?",
        meaning="Logits that are taken for probabilities are clipped, and train badly without an error.",
        setting="`from_logits=True` in Keras, `use_softmax=False` in Paddle.",
        sources=(KERAS,),
    ),
    Probe(
        name="cross-entropy mean with 3 of 4 ignored",
        operation="cross_entropy_ignoring",
        measure=_divisor,
        question="By what does the mean divide where labels are ignored?",
        meaning="Divided by all rows the gradient shrinks with the padding; divided by those that count it does not.",
        setting='`reduction="none"` and a mean of your own.',
        sources=("pytorch/pytorch#116349", CROSS_ENTROPY),
    ),
    Probe(
        name="cross-entropy mean with 4 of 4 ignored",
        operation="cross_entropy_ignoring",
        measure=lambda ask: sort_of(mean(ask(np.zeros((4, 2), "float32"), np.zeros(4, "int64"), 0)), "a number"),
        question="What is the mean where every label is ignored?",
        meaning="One batch of padding alone makes every weight NaN.",
        setting='`reduction="sum"`, divided by at least 1.',
        sources=("pytorch/pytorch#116349", "nvidia-cosmos/cosmos-rl#155"),
    ),
    Probe(
        name="cross-entropy smoothing",
        operation="cross_entropy_smoothed",
        measure=_right_share,
        kind="close",
        question="With a smoothing of 0.1 and four classes, which share does the right class keep?",
        meaning="0.925 shares 0.1 among all four classes; 0.9 would share it among the three others.",
        setting="Give K / (K - 1) times the smoothing to share it among the K - 1 others.",
        sources=("jadore801120/attention-is-all-you-need-pytorch#50", CROSS_ENTROPY),
    ),
    Probe(
        name="cross-entropy of float16",
        operation="cross_entropy_half",
        measure=_type,
        question="Which type has the loss of float16 logits?",
        meaning="A float16 loss has three digits, and overflows where many tokens are added.",
        setting="Cast the logits to float32 first, as autocast does.",
    ),
    Probe(
        name="cross-entropy of bfloat16",
        operation="cross_entropy_bfloat16",
        measure=_type,
        question="Which type has the loss of bfloat16 logits?",
        meaning="A bfloat16 loss has two digits: its curve moves in steps.",
        setting="Cast the logits to float32 first, as autocast does.",
    ),
)
