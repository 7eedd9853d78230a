"""Negative controls in what is asked: known mistakes, planted into the requests of a backend.

The reference's side stays as it is. A mistake in weights or settings stands for one in code that is the same function: an
attention without its scale is one whose W_q is sqrt(d) times as large, and an Adam with epsilon-hat (Keras, MXNet) at step
t is ours with epsilon / sqrt(1 - beta2^t).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from ...built_in import PLAIN_DTYPES
from ..cells import FAILED, Ask, ControlResult, Experiment, is_offered
from ..computing.alterations import (
    Alter,
    coupled,
    epsilon_hat,
    flipped,
    forgotten_after,
    in_tf32,
    interleaved,
    mirrored,
    perturbed,
    position,
    rolled,
    sampled,
    setting,
    shifted,
    specified,
    spoiled,
    stale_batch,
    swapped,
    times,
    transposed,
    zeroed,
)
from ..computing.messages import Request
from ..ladder import LADDER
from ..rows.first_weights import AS_MADE, HIDDEN, WIDTH
from ..rows.hand_over import CONTINUES, FIRST
from ..rows.model_cases import SMALL
from ..rows.refused_inputs import FIRST_WRONG, RIGHT
from ..rows.token_models import Search
from ..rows.tokens import BEAMS, CASES, TIED, special_searches
from ..rows.training import CONTINUED, HANDED_OVER_AT, FreeRunning, Recording, step_request
from ..selection import matches
from ..verdict.answers import judged
from ..verdict.comparison import Comparison
from ..verdict.first_weights import OWN

HEAD = SMALL["num_hiddens"] // SMALL["encoder_num_heads"]
SHORT_STEPS = 10  # of training by itself: what its first step shows, no backend has to train 120 steps for
ALIKE = [f"0.{side}.blks.block0.ffn.dense1.weight" for side in ("encoder", "decoder")]
SHARING = ["encoder.blks.block0.addnorm1.dropout", "decoder.blks.block1.addnorm3.dropout"]
DECODER, SHALLOW = "weights.decoder.blks.block1", "weights.decoder.blks.block0"


@dataclass(frozen=True)
class Control:
    """A mistake, the cell that it is planted into by altering every request, and the row that has to notice it.

    Of a drawn case the name begins with what ``case`` has before a star. ``option``: of ``registry.Entry``, which a column
    needs for it. ``coarse``: larger than what two bytes lose, and planted there too. ``only``: those whose verdict can see it.
    """

    name: str
    row: str
    case: str
    alter: Alter
    option: str | None = None
    coarse: bool = False
    only: Collection[str] | None = None

    def takes_part(self, label: str, on_gpu: Collection[str]) -> bool:
        """Tell whether the mistake is planted into a column."""
        seen = self.only is None or label.partition("@")[0] in self.only
        return seen and (self.option is None or is_offered(self.option, label, on_gpu))

    def run(self, experiment: Experiment, backend: str, ask: Ask) -> ControlResult:
        results = judged(experiment, backend, lambda request: ask(self.alter(request)))
        result = next(result for result in results if result.row == self.row)
        return ControlResult(self.name, *result.cell, backend, result.status == FAILED, result.reason)


LAYER, GRADIENTS, MODEL = "layer forward", "layer gradients", "model forward"
Coarse = partial(Control, coarse=True)
OTHER_QUERIES = perturbed("weights.encoder.blks.block0.attention.W_q.weight")
CONTROLS = (
    Control("a perturbed weight", LAYER, "encoder block, silu, biases", perturbed("weights.ffn.dense1.weight")),
    Control("a moved epsilon", LAYER, "layer norm", setting("options", "eps", value=1e-3)),
    Coarse("a mask shifted by one", LAYER, "cross-attention, lens 2-D with an empty row", shifted("inputs.3")),
    Coarse("a transposed square matrix", LAYER, "self-attention, bias", transposed("weights.W_v.weight")),
    Control("a dropped scale", LAYER, "self-attention, causal", times("weights.W_q.weight", math.sqrt(HEAD))),
    Control("a wrong position", LAYER, "positions from 3, halves", position),
    Coarse("no causal mask", LAYER, "self-attention, causal and lens", setting("call", "causal", value=False)),
    Control("the other GELU", LAYER, "ffn gelu", setting("options", "activation", value="gelu_tanh")),
    Coarse(
        "a gate's factors exchanged", LAYER, "ffn gated by gelu*", swapped("weights.dense1.weight", "weights.dense3.weight")
    ),
    Coarse("groups of heads interleaved", LAYER, "self-attention, fewer heads of keys, causal", interleaved(4, 2)),
    Coarse(
        "scores that are scaled", LAYER, "self-attention, heads of three*", setting("options", "attention_scale", value=True)
    ),
    Coarse("a moved epsilon", LAYER, "layer norm of numbers far*", setting("options", "eps", value=0.9)),
    Control("TF32 left on", LAYER, "self-attention", in_tf32),
    Control("a perturbed weight", GRADIENTS, "encoder block, silu, biases", perturbed("weights.ffn.dense2.weight")),
    Control("TF32 left on", GRADIENTS, "ffn gelu", in_tf32),
    *(
        Control("TF32 left on by its switch", row, case, specified({"setting": "TF32"}), option="TF32")
        for row, case in ((LAYER, "ffn gelu"), (GRADIENTS, "ffn gelu"), (MODEL, "d2l"), ("model gradients", "d2l"))
    ),
    Coarse("a mask shifted by one", GRADIENTS, "cross-attention, lens 2-D with an empty row", shifted("inputs.3")),
    Coarse("a transposed square matrix", GRADIENTS, "self-attention, bias", transposed("weights.W_o.weight")),
    Coarse("groups of heads interleaved", GRADIENTS, "self-attention, fewer heads of keys, causal", interleaved(4, 2)),
    Control("a dropped scale", GRADIENTS, "self-attention, causal", times("weights.W_q.weight", math.sqrt(HEAD))),
    Control("a direction left out", "forward derivatives", "self-attention, bias", zeroed("direction.1")),
    Control("a perturbed weight", MODEL, "d2l", perturbed(f"{DECODER}.attention2.W_v.weight")),
    Control("TF32 left on", MODEL, "d2l", in_tf32),
    Control("a moved epsilon", MODEL, "d2l", setting("config", "norm_eps", value=1e-3)),
    Coarse("a mask shifted by one", MODEL, "d2l", shifted("batch.source_valid_lens")),
    Coarse("a transposed square matrix", MODEL, "d2l", transposed("W_k.weight")),
    Coarse("groups of heads interleaved", MODEL, "fewer heads of keys, rotary", interleaved(4, 2)),
    Coarse("distances counted the other way", MODEL, "relative positions", mirrored("encoder.relative_bias.weight")),
    Control(
        "distances alike from further on", MODEL, "relative positions", setting("config", "relative_max_distance", value=20)
    ),
    Coarse(
        "an output that is not scaled",
        MODEL,
        "heads of three numbers, not scaled",
        setting("config", "output_scale", value=False),
    ),
    Control(
        "positions normed with their tokens",
        MODEL,
        "tokens normed before positions",
        setting("config", "decoder_embedding_norm", value="sum"),
    ),
    Coarse("a dropped scale", MODEL, "d2l", times("W_q.weight", math.sqrt(HEAD))),
    Coarse("a wrong position", MODEL, "d2l", setting("config", "position_offset", value=1)),
    Coarse("no embedding scale", MODEL, "d2l", setting("config", "embedding_scale", value=False)),
    Coarse("a mask shifted by one", "model loss", "d2l", shifted("batch.target_valid_lens")),
    Coarse("a mask shifted by one", "model loss", "pre-norm, final norm", shifted("batch.target_valid_lens")),
    Control(
        "no label smoothing",
        "model loss",
        "d2l, no dropout, smoothed loss per token",
        setting("loss", "label_smoothing", value=0.0),
    ),
    Control("one dropped element more", "model gradients", "d2l", flipped("masks.encoder.dropout")),
    Control("TF32 left on", "model gradients", "d2l", in_tf32),
    Control(
        "embeddings dropped out as sublayers",
        "model gradients",
        "embedding norm, four rates of dropout",
        setting("config", "embedding_dropout", value=None),
    ),
    Coarse(
        "a transposed square matrix",
        "model gradients",
        "silu, uneven sides, smoothed loss",
        transposed(f"{SHALLOW}.attention1.W_o.weight"),
    ),
    Control("epsilon-hat", "optimizer step", "adam, tiny gradients, tenth step", epsilon_hat),
    Control("a moved epsilon", "optimizer step", "adam, tiny gradients", setting("options", "eps", value=1e-7)),
    Coarse("a bias correction one step late", "optimizer step", "adam, tenth step", setting("step_count", value=8)),
    Coarse("no clipping", "optimizer step", "adam, clipped", setting("options", "clip_norm", value=None)),
    Control("coupled weight decay", "optimizer step", "adamw, first step", coupled),
    Control("no weight decay", "optimizer step", "adamw, first step", setting("options", "weight_decay", value=0.0)),
    Control("weight decay 1% up", "optimizer step", "adamw, first step", setting("options", "weight_decay", value=0.101)),
    Coarse("another momentum", "optimizer step", "sgd, momentum", setting("options", "momentum", value=0.8)),
    Coarse("a transposed square matrix", "greedy tokens", "d2l", transposed(f"{DECODER}.attention1.W_v.weight")),
    Coarse("a wrong position", "greedy tokens", "shared and tied, padding", setting("config", "position_offset", value=1)),
    Coarse("a mask shifted by one", "greedy tokens", "decoder alone", shifted("source_valid_lens")),
    Control("a transposed square matrix", "beam tokens", "d2l", transposed(f"{DECODER}.attention1.W_v.weight")),
    Control("a mask shifted by one", "beam tokens", "shared and tied, padding", shifted("source_valid_lens")),
    Coarse("clipping", "trained steps", "*", setting("options", "clip_norm", value=1e-3)),
    Coarse("another momentum", "trained steps", "sgd, accumulated*", setting("options", "momentum", value=0.4)),
    Coarse("a batch of a step left out", "trained steps", "sgd, accumulated*", specified({"accumulate": 1})),
    Coarse("weights that are set are ignored", "trained steps", "sgd, accumulated*", specified({"set_before": []})),
    Control("a perturbed weight", "cached logits", "d2l", perturbed(f"{DECODER}.attention2.W_v.weight")),
    Coarse("a mask shifted by one", "cached logits", "d2l", shifted("batch.source_valid_lens")),
    Coarse(
        "a transposed square matrix", "cached logits", "decoder alone, prompts", transposed(f"{DECODER}.attention1.W_v.weight")
    ),
    *(
        Coarse(name, row, case, specified(changes))
        for row, beam in BEAMS.items()
        for case, search in {
            "d2l": Search(CASES["d2l"], beam),
            "ties": Search(TIED, beam, ties=True),
            **special_searches(beam),
        }.items()
        for name, changes in search.mistakes.items()
    ),
    Control("a mask shifted by one", "fast loss", "compile*", shifted("batch.target_valid_lens")),
    Control("a mask shifted by one", "fast loss", "bf16, gelu*", shifted("batch.target_valid_lens")),
    Control("a mask shifted by one", "fast logits", "int8, gelu*", shifted("batch.source_valid_lens")),
    Control("eight bits that are not taken", "fast logits", "int8, gelu*", specified({"fast": {}})),
    Control("a transposed square matrix", "fast logits", "int8, d2l", transposed(f"{DECODER}.attention1.W_o.weight")),
    Control("a transposed square matrix", "fast gradients", "compile*", transposed(f"{SHALLOW}.attention1.W_o.weight")),
    Control("one dropped element more", "fast gradients", "compile*", flipped("masks.encoder.dropout")),
    Control("a transposed square matrix", "fast gradients", "bf16, gelu*", transposed(f"{DECODER}.attention1.W_o.weight")),
    *(
        Control(name, row, f"{case}*", alter)
        for case in ("tf32, gelu", "CUDA graphs")
        for name, row, alter in (
            ("a mask shifted by one", "fast loss", shifted("batch.target_valid_lens")),
            ("a transposed square matrix", "fast gradients", transposed(f"{SHALLOW}.attention1.W_o.weight")),
        )
    ),
    *(
        Coarse("a mask shifted by one", row, f"{kernel} attention, padding", shifted("batch.source_valid_lens"))
        for row in (MODEL, "model gradients")
        for kernel in ("math", "memory-efficient")
    ),
    Control("bfloat16 for TF32", "fast gradients", "tf32, shared*", setting("fast", "precision", value="bf16")),
    Coarse("the last part is another batch", "equal parts", "*", rolled("last.target_in")),
    Coarse("another seed", "repeated steps", "*", specified({"seeds": [0, 1, 2**32]})),
    Control("a seed of 32 bits", "repeated steps", "*", specified({"seeds": [0, 0, 0]})),
    Control("a temperature that is ignored", "drawn tokens", "*", sampled(temperature=1.0)),
    Control("a top_k that is ignored", "drawn tokens", "*", sampled(top_k=None)),
    Control("a top_p that is ignored", "drawn tokens", "*", sampled(top_p=1.0)),
    Control("numbers of another seed", "drawn tokens", "*", sampled(seed=2**31)),
    Coarse("a top_k that is ignored", "given numbers", "*", sampled(top_k=None)),
    Coarse("suppressed tokens", "hypotheses", "*", setting("config", "suppress_ids", value=[])),
    Coarse("a narrower beam", "hypotheses", "*", specified({"said": {"beam": 3}})),
    Control("nothing is refused", "refused inputs", "*", setting("wrong", FIRST_WRONG, value=RIGHT)),
    Control("two sites share their masks", "own dropout", "*", specified({"copied": SHARING})),
    Control("the masks of the step before", "own dropout", "*", specified({"counts": [0, 0]})),
    Control("the masks of another seed", "own dropout", "*", specified({"seeds": [0, 0]})),
    Control("hidden units are dropped at another rate", "own dropout", "*", setting("config", "ffn_dropout", value=0.15)),
    Coarse("biases begin as a thousandth", "first weights", "xavier*", spoiled("dense1.bias", 1.0, 1e-3)),
    Control("outputs counted for inputs", "first weights", "torch_default*", spoiled("dense1.weight", (WIDTH / HIDDEN) ** 0.5)),
    *(
        Control(name, "first weights", AS_MADE, alter, only=only)
        for name, alter, only in (
            ("norms begin with zeros for ones", spoiled("ln.weight", 0.0), None),
            ("a gain of the root of two", spoiled("W_q.weight", math.sqrt(2.0)), OWN),
            ("a gain of the root of a half", spoiled("encoder.embedding.weight", math.sqrt(0.5)), OWN),
            ("two blocks begin alike", specified({"copied": ALIKE}), None),
        )
    ),
    Control("weights that are set are ignored", "life", "*", forgotten_after("rounded_step")),
    Control("the batch of the step before", "life", "*", stale_batch),
    Control("a mask shifted by one", "stepwise loss", "step 10", shifted("batch.target_valid_lens")),
    Control("a perturbed weight", "stepwise gradients", "step 20", OTHER_QUERIES),
    Control("epsilon-hat", "stepwise update", "step 30", epsilon_hat),
    Control("a perturbed weight", "free-running", f"{SHORT_STEPS} steps", OTHER_QUERIES),
)


def short_runs(recording: Recording, dtypes: Sequence[str]) -> list[Experiment]:
    """Make the short runs that controls of free-running training are planted into."""
    return [FreeRunning(recording, dtype, 0, SHORT_STEPS) for dtype in dtypes]


def make_controls(
    experiments: Sequence[Experiment], recording: Recording, dtypes: Sequence[str]
) -> list[tuple[Experiment, Control]]:
    """Make all controls in float32, where they are hard to notice; the first per row in float64; coarse ones in two bytes."""
    by_cell = {cell: experiment for experiment in experiments for cell in experiment.cells("")}

    def planted_into(control: Control, dtype: str) -> Experiment | None:
        rows = {cell: each for cell, each in by_cell.items() if (cell.row, cell.dtype) == (control.row, dtype)}
        found = (each for cell, each in rows.items() if matches(control.case, cell.case))
        return next(found, None)  # its case may have its turn with the next seed

    controls: list[tuple[Experiment, Control]] = []
    for dtype in dtypes:
        offered = [control for control in _planted(dtype) if dtype in LADDER[control.row].dtypes]
        made = [(one, control) for control in offered if (one := planted_into(control, dtype)) is not None]
        controls += {control.row: (one, control) for one, control in reversed(made)}.values() if dtype == "float64" else made
        if dtype in LADDER[FIRST].dtypes:
            controls += _hand_over_controls(recording, dtype)
    return controls


def _planted(dtype: str) -> Sequence[Control]:
    if dtype not in PLAIN_DTYPES:
        return [control for control in CONTROLS if control.coarse]
    # A GPU's switch rounds products of float32 alone.
    return [control for control in CONTROLS if dtype == "float32" or control.option is None]


def _hand_over_controls(recording: Recording, dtype: str) -> list[tuple[Experiment, Control]]:
    """Planted into the comparisons that a hand-over is made of: their names say whose they are."""

    def request() -> Request:
        return step_request(recording, dtype, HANDED_OVER_AT, recording.state(HANDED_OVER_AT))

    first = Comparison("from the reference", dtype, LADDER[FIRST].made_of, request)
    continued = FreeRunning(recording, dtype, HANDED_OVER_AT, CONTINUED)
    return [
        (first, Control(f"moments lost ({FIRST})", "stepwise update", first.case, zeroed("slots."))),
        (continued, Control(f"data out of order ({CONTINUES})", continued.row, "", rolled("batches.target_in"))),
    ]
