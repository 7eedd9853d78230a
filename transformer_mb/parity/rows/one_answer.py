"""Rows of one cell, judged on the answer to one request by a rule of their own: equal parts, repeated steps, own dropout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...dropout_masks import dropout_sites
from ...parameters import parameter_shapes
from ...random_streams import stream
from ..cells import FAILED, PASSED, Ask, Cell, Result, is_offered
from ..computing import reference
from ..computing.messages import EPS, Request, named, rounded_arrays, under
from ..ladder import LADDER
from ..verdict.answers import check_answer
from ..verdict.independence import judge_masks
from ..verdict.limits import TINY, Verdict, error, worst
from .drawn_values import model_weights
from .model_cases import ADAM, CONFIGS, DECODER, ModelCase
from .models import drawn_batch


@dataclass(eq=False)
class OneAnswer(ABC):
    """``expected`` is the reference's answer: what has to come, of which ``result`` may compare some or nothing."""

    dtype: str
    seed: int
    after = False
    row: ClassVar[str]

    @property
    @abstractmethod
    def case(self) -> str: ...

    @property
    @abstractmethod
    def request(self) -> Request: ...

    @abstractmethod
    def result(self, got: Arrays, cell: Cell, backend: str) -> Result: ...

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    @classmethod
    def made(cls, dtype: str, seed: int, **more: Any) -> list[Self]:
        """Make the row's experiment, where it has the dtype."""
        return [cls(dtype, seed, **more)] if dtype in LADDER[cls.row].dtypes else []

    def asked(self, backend: str) -> Request:
        """The request as this backend is to compute it."""
        return self.request

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.asked(backend))
        check_answer(got, self.expected, self.dtype)
        return [self.result(got, cell, backend) for cell in self.cells(backend)]


FEW, MANY = 2, 64
SUMMED = ModelCase(f"{MANY} parts, decoder alone", DECODER.replace(decoder_num_layers=1, activation="gelu", dropout=0.0))
SGD = {"optimizer": "sgd", "learning_rate": 1.0, "momentum": 0.9, "normalization": "tokens"}
# Each addition rounds the sum so far, which is no more than the whole, by half of the last place.
LIMIT = MANY * EPS["float32"] / 2.0


class EqualParts(OneAnswer):
    """A step's sum over many equal parts beside that over few, of one backend by itself.

    A gradient in two bytes is off by several hundredths, so that no reference could tell whether what was added up has lost as
    much. Here it is the same on both sides, and the sum in float32 is all that may differ.
    """

    row, case = "equal parts", SUMMED.name

    @cached_property
    def request(self) -> Request:
        arrays = rounded_arrays(named("weights", model_weights(SUMMED.config, self.seed)), self.dtype)
        batch = drawn_batch(SUMMED, stream(self.seed, "parity", self.row))
        spec = {"config": SUMMED.config.to_dict(), "options": SGD, "counts": {"few": FEW, "many": MANY}}
        return Request("parts", self.dtype, spec, arrays | named("batch", batch) | named("last", batch))

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        few, many = under("few", got), under("many", got)
        off = worst(error(many[name], value, TINY) for name, value in few.items())
        return Verdict(off <= LIMIT, off, LIMIT, f"{off:.1e} by norm; limit {LIMIT:.0e}", LIMIT).of(cell, backend)


MODEL, REPEATED_STEPS, SEEDS = "d2l", 3, [0, 0, 2**32]
DETERMINISTIC = "deterministic"  # the setting of a GPU without which a framework promises no such thing


@dataclass(eq=False)
class Repeat(OneAnswer):
    """Equal steps taken twice, from the same state, whose dropout a framework draws by the same seed; then by another one.

    Of 64 bits the other seed differs in the upper half alone, which a framework of 32 bits may lose.
    The reference's answer says what has to come; its numbers do not count, for every framework draws its own.
    """

    on_gpu: Collection[str] = ()
    row, case = "repeated steps", f"{REPEATED_STEPS} steps, {MODEL}"

    @cached_property
    def request(self) -> Request:
        # A step is compiled; with one block a side as much is drawn anew as with two.
        case = ModelCase(MODEL, CONFIGS[MODEL].replace(encoder_num_layers=1, decoder_num_layers=1))
        weights = rounded_arrays(named("weights", model_weights(case.config, self.seed)), self.dtype)
        batch = drawn_batch(case, stream(self.seed, "parity", self.row))
        spec = {"config": case.config.to_dict(), "options": ADAM, "step_count": 0, "steps": REPEATED_STEPS, "seeds": SEEDS}
        return Request("repeated", self.dtype, spec, weights | named("batch", batch))

    def asked(self, backend: str) -> Request:
        setting = {"setting": DETERMINISTIC} if is_offered(DETERMINISTIC, backend, self.on_gpu) else {}
        return replace(self.request, spec={**self.request.spec, **setting})

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        again = under("again", got)
        apart = {name: float(np.abs(got[name] - value).max()) for name, value in again.items()}
        differing = [name for name, value in again.items() if value.tobytes() != got[name].tobytes()]
        reason = "the same bits"
        if differing:
            furthest = sorted(differing, key=lambda name: apart[name])[-1]
            reason = f"{len(differing)} of {len(again)} arrays differ, {furthest} by up to {apart[furthest]:.1e}"
        ignored = got["losses"].tobytes() == got["other.losses"].tobytes()
        reason = "the same bits by another seed" if ignored else reason
        status = FAILED if differing or ignored else PASSED
        return Result(*cell, backend, status, reason, sorted(apart.values())[-1], 0.0)


ROW = "own dropout"
PARTS, ROWS, STEPS, HIDDENS, HEADS = 2, 2, 8, 96, 2  # HIDDENS / HEADS must be more than PARTS * ROWS * STEPS, which are places
TAKEN = 2  # steps
SMALL = 1e-12  # what a block adds to what passes it: nothing of a mask's that the next block could see
RATES = (0.1, 0.2, 0.3, 0.4)  # in an order drawn by the seed: of sublayers, attention, embeddings, hidden units
CALLS_RATE = 0.3  # of a layer that is called by itself
# So large that the smallest gradient, SMALL**2 of an encoder, is more than the rounding of its weight.
OPTIONS: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 1e28}


class OwnDropout(OneAnswer):
    """The reference's answer says what has to come; its masks do not count, for every framework draws its own."""

    row, case = ROW, f"{TAKEN} steps of {PARTS} parts, two seeds"

    @cached_property
    def config(self) -> TransformerConfig:
        sublayers, attention, embedding, hidden = stream(self.seed, "parity", ROW, "rates").permutation(RATES).tolist()
        vocabulary: dict[str, Any] = dict.fromkeys(("source_vocab_size", "target_vocab_size"), 4 + PARTS * ROWS * STEPS)
        heads: dict[str, Any] = dict.fromkeys(("encoder_num_heads", "decoder_num_heads"), HEADS)
        rates = {"dropout": sublayers, "attention_dropout": attention, "embedding_dropout": embedding, "ffn_dropout": hidden}
        layers: dict[str, Any] = dict.fromkeys(("encoder_num_layers", "decoder_num_layers"), 2)
        plain: dict[str, Any] = {"norm_position": "pre", "embedding_scale": False, "position": "learned", "activation": "relu"}
        sizes: dict[str, Any] = {"num_hiddens": HIDDENS, "ffn_num_hiddens": HIDDENS // 2, "max_len": STEPS}
        return TransformerConfig(**vocabulary, **sizes, **heads, **layers, **plain, **rates)

    @cached_property
    def request(self) -> Request:
        ids = 4 + np.arange(PARTS * ROWS * STEPS).reshape(PARTS, ROWS, STEPS)
        arrays = named("weights", dict(_weights(self.config, self.seed)))
        lens = np.full(ROWS, STEPS)
        for part, each in enumerate(ids):
            batch = {"source": each, "target_in": each, "target_out": each[:, ::-1].copy()}
            batch |= dict.fromkeys(("source_valid_lens", "target_valid_lens"), lens)
            arrays |= named(f"batches.{part}", batch)
        seeds = [self.seed, -1 - self.seed]  # the second is a large one, read as 64 bits without sign
        spec = {"config": self.config.to_dict(), "options": OPTIONS, "parts": PARTS, "seeds": seeds}
        return Request("masks", self.dtype, {**spec, "counts": list(range(TAKEN)), "calls": CALLS_RATE}, arrays)

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        rates = {site: rate for site, (rate, _) in dropout_sites(self.config, ROWS, STEPS, STEPS).items()}
        return judge_masks(under("kept", got), rates | {"calls": CALLS_RATE}).of(cell, backend)


def _weights(config: TransformerConfig, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Attention is even, since its queries are zero; hidden units are awake; positions say nothing."""
    for name, shape in parameter_shapes(config).items():
        value = stream(seed, "parity", ROW, name).standard_normal(shape)
        if ".ln." in name:
            value = np.full(shape, float(name.endswith("weight")))
        elif "W_q" in name or "pos_embedding" in name or name.endswith("dense2.bias"):
            value = np.zeros(shape)
        elif "W_o" in name or "dense2" in name:
            value *= SMALL / np.sqrt(shape[-1])
        elif name.endswith("dense1.bias"):
            value = np.full(shape, 4.0)
        elif "embedding" not in name:
            value *= 0.5 / np.sqrt(shape[-1])
        yield name, value
