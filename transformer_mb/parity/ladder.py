"""The ladder: every row of the matrix, from one layer to training that moves between backends.

A new row is a line here, and what the line names: a computation in ``computing/computations.py``, what is measured of its
answer in ``verdict/measures.py`` (both may be there already), an experiment in ``rows/`` that has cells of the row, which a
line of ``plan.MAKERS`` makes, and a negative control in ``controls/requests.py``. ``tests/parity/test_ladder.py`` says which of
them is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..built_in import EVERY_DTYPE, PLAIN_DTYPES


@dataclass(frozen=True)
class Row:
    """A row of the ladder.

    Args:
        name: as results and reports have it.
        sentence: what is true of a backend whose cells all pass.
        computation: what the backend is asked for.
        measured: what of the answer is compared with the reference's: one of ``measures.MEASURES``, or ``tokens``,
            ``losses``, ``bits``, ``parts``, ``masks``, ``draws``, ``hypotheses``, ``refusals`` or ``first``, which
            experiments of their own compare.
        limit: of the relative error in float64. In the other dtypes it is a multiple of NumPy's own: see verdict/limits.py.
        dtypes: in which it is measured, where the backend has them.
        made_of: rows whose comparisons it is made of, and whose negative controls hold for it.
    """

    name: str
    sentence: str
    computation: str
    measured: str
    limit: float
    dtypes: tuple[str, ...] = PLAIN_DTYPES
    made_of: tuple[str, ...] = ()


STEPWISE = ("stepwise loss", "stepwise gradients", "stepwise update")
LADDER = {
    row.name: row
    for row in (
        Row("layer forward", "Each layer gives the reference's output.", "layer", "outputs", 1e-12, EVERY_DTYPE),
        Row("layer gradients", "So do the gradients of its inputs and parameters.", "layer", "gradients", 1e-10, EVERY_DTYPE),
        # Of the backends that offer it: see computing/forward_mode.py.
        Row(
            "forward derivatives",
            "Differentiated forwards it has the reference's derivative.",
            "forwards",
            "outputs",
            1e-10,
            ("float64",),
        ),
        Row("model forward", "A whole model gives the reference's states or logits.", "model", "outputs", 1e-11, EVERY_DTYPE),
        Row("model loss", "Its loss with injected dropout is the reference's.", "model", "loss", 1e-11, EVERY_DTYPE),
        Row("model gradients", "So are the gradients of all its parameters.", "model", "gradients", 1e-10, EVERY_DTYPE),
        Row("optimizer step", "From given gradients weights and moments change alike.", "update", "update", 1e-11, EVERY_DTYPE),
        # Drawn recipes in float64; in every dtype one of SGD: see rows/trained_steps.py.
        Row("trained steps", "A few steps with any recipe leave its weights.", "train", "training", 1e-10, EVERY_DTYPE),
        Row(
            "cached logits",
            "Fed in pieces, a decoder gives the reference's logits.",
            "cached",
            "outputs",
            1e-11,
            EVERY_DTYPE,
        ),
        # The limit is that of the logits; tokens may differ only where the reference's own choice is a near-tie. Of a beam in
        # two bytes nothing is promised: what one rounding prunes is gone, however much better it would have been in the end.
        Row("greedy tokens", "Greedy decoding gives the reference's tokens.", "decode", "tokens", 1e-11, EVERY_DTYPE),
        Row("beam tokens", "So does beam search.", "decode", "tokens", 1e-11),
        # Of tokens that are drawn none may be another: see rows/drawn_tokens.py. Near-ties are counted.
        Row("drawn tokens", "By the numbers that it draws it samples the tokens of the rule.", "draw", "draws", 0.0),
        Row("given numbers", "Given the numbers, it draws the rule's tokens.", "draw_given", "draws", 0.0, EVERY_DTYPE),
        Row("hypotheses", "All of a beam's come, with scores in float32's digits.", "listed", "hypotheses", 0.0, EVERY_DTYPE),
        Row("refused inputs", "What the reference refuses it refuses too.", "refused", "refusals", 0.0),
        Row("stepwise loss", "Put into any state of a training, it has the reference's loss.", "step", "loss", 1e-11),
        Row("stepwise gradients", "It has the reference's gradients there.", "step", "gradients", 1e-10),
        Row("stepwise update", "It takes the reference's step from there.", "step", "update", 1e-11),
        Row("fast loss", "Compiled or in bfloat16, a whole step has the reference's loss.", "whole_step", "loss", 1e-11),
        Row("fast gradients", "Its weights move by the reference's gradients.", "whole_step", "gradients", 1e-10),
        Row("fast logits", "In eight bits it has the reference's logits.", "eight_bits", "outputs", 1e-11, ("float32",)),
        Row("repeated steps", "One seed gives the same bits twice, another others.", "repeated", "bits", 0.0, EVERY_DTYPE),
        # Against itself: see rows/one_answer.py. In float16 a sixty-fourth of a gradient would have other digits.
        Row(
            "equal parts",
            "A step of many equal parts has the gradient of one of few.",
            "parts",
            "parts",
            0.0,
            ("float32", "bfloat16"),
        ),
        # In float64, where what was dropped can be read off: a mask knows nothing of the dtype. See computing/mask_reading.py.
        Row(
            "own dropout",
            "What it drops by itself is drawn anew for each site, part, step and row.",
            "masks",
            "masks",
            0.0,
            ("float64",),
        ),
        Row("first weights", "What it begins with has the distribution of its scheme.", "made", "first", 0.0, EVERY_DTYPE),
        Row("life", "What came before in the process changes no answer.", "life", "lived", 1e-10),
        # The limit is that of the first step, which may not widen the band that the others are held to: see verdict/bands.py.
        Row("free-running", "By itself it strays no further than ten times the reference.", "run", "losses", 1e-11),
        Row("hand-over, first step", "From another's state it takes the same step.", "step", "update", 1e-10, made_of=STEPWISE),
        Row("hand-over, continued", "It then trains on as the other does.", "run", "losses", 1e-11, made_of=("free-running",)),
    )
}


def rows_of(computation: str, dtype: str) -> tuple[str, ...]:
    """The rows that an answer to one computation is compared for."""
    rows = [row for row in LADDER.values() if row.computation == computation and not row.made_of]
    return tuple(row.name for row in rows if dtype in row.dtypes)
