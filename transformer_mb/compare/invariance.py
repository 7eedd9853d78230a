"""Batch invariance: whether a sentence is translated the same, to the last bit, whatever it is computed with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..columns.environment import settings
from ..columns.messages import Arrays
from ..columns.one_shot import call
from ..config import TransformerConfig
from ..errors import WorkerError
from ..files.typed_record import check_record, shown
from ..random_streams import stream
from ..registry import canonical_name, load_backend_class
from ..reports.table import Table

SENTENCES, LONGEST, WORDS, STEPS, TIMES = 32, 24, 500, 20, 3
CONFIG = TransformerConfig(
    source_vocab_size=WORDS, target_vocab_size=WORDS, num_hiddens=128, ffn_num_hiddens=256, encoder_num_heads=4,
    decoder_num_heads=4, encoder_num_layers=2, decoder_num_layers=2, max_len=2 * LONGEST,
)  # fmt: skip
# What a sentence is computed with, and how many of the sentences that are compared with it alone come at a time.
WAYS = {"in 8": 8, "in 32": 32, "in pieces of 5": 5}
PADDED, THREADS = "padded to twice the width", "with two threads"
HEAD = ("backend", "dtype", *WAYS, PADDED, THREADS, "one at a time takes")
Translation = tuple[tuple[int, ...], str]  # ids, and the bits of their log-probability


@dataclass(frozen=True)
class Invariance:
    """A backend in a dtype.

    Args:
        same: by way, how many of SENTENCES have the bits that they have alone; apart: the largest difference of their
            log-probabilities. price: processor time of one at a time over that of all together.
    """

    backend: str
    version: str
    dtype: str
    same: Mapping[str, int]
    apart: Mapping[str, float]
    price: float


def sentences() -> tuple[np.ndarray, np.ndarray]:
    """[32, 24] ids and [32] lengths from 3 to 24: words of no meaning, of every length."""
    random = stream(0, "invariance")
    lengths = 3 + np.arange(SENTENCES) * 7 % (LONGEST - 2)
    ids = random.integers(4, WORDS, (SENTENCES, LONGEST))
    return np.where(np.arange(LONGEST) < lengths[:, None], ids, CONFIG.pad_id), lengths


def compute(arrays: Arrays, asked: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Run as a process with one number of threads: the translations by way, and the price; alone only without ``ways``."""
    backend = load_backend_class(asked["backend"])(dtype=asked["dtype"])
    model = backend.build(CONFIG, seed=0)
    source, lengths = sentences()

    def together(rows: Sequence[int], width: int) -> list[list[Any]]:
        numbers = np.asarray(rows)
        padded = np.full((len(rows), width), CONFIG.pad_id)
        padded[:, : min(width, LONGEST)] = source[numbers, :width]
        steps = np.full(len(rows), STEPS)
        found = backend.hypotheses(model, padded, lengths[numbers], steps, 1, 0.0, 1)
        return [[list(map(int, best.ids)), float(best.log_probability).hex()] for (best, *_) in found]

    def by(size: int, width: Callable[[Sequence[int]], int]) -> list[list[Any]]:
        groups = [range(SENTENCES)[start : start + size] for start in range(0, SENTENCES, size)]
        return [one for rows in groups for one in together(rows, width(rows))]

    def own(rows: Sequence[int]) -> int:
        return int(lengths[list(rows)].max())

    def seconds(size: int) -> float:
        """Take the least of several: the processor's time, of one thread, which other work on the machine leaves alone."""
        taken = []
        for _ in range(TIMES):
            start = time.process_time()
            by(size, own)
            taken.append(time.process_time() - start)
        return min(taken)

    found = {"alone": by(1, own)}
    if not asked["ways"]:
        return {}, {"found": found}
    found |= {way: by(size, own) for way, size in WAYS.items()}
    found[PADDED] = by(1, lambda rows: 2 * own(rows))
    return {}, {"version": backend.version(), "found": found, "price": seconds(1) / seconds(SENTENCES)}


def measured(backend: str, dtype: str) -> Invariance:
    """Compare in two processes, with one thread and with two; raises WorkerError where one cannot compute it."""
    asked = {"backend": canonical_name(backend), "dtype": dtype}
    one, two = (
        call(
            f"{__name__}:compute",
            {},
            {**asked, "ways": threads == 1},
            name=f"{backend} with {threads} threads",
            environment=settings(threads),
        )[1]
        for threads in (1, 2)
    )
    alone = one["found"].pop("alone")
    ways = {**one["found"], THREADS: two["found"]["alone"]}
    same = {way: sum(a == b for a, b in zip(alone, found, strict=True)) for way, found in ways.items()}
    apart = {way: _apart(alone, found) for way, found in ways.items()}
    return Invariance(asked["backend"], one["version"], dtype, same, apart, one["price"])


def _apart(alone: Sequence[Any], found: Sequence[Any]) -> float:
    pairs = zip(alone, found, strict=True)
    return float(np.max([abs(float.fromhex(a[1]) - float.fromhex(b[1])) for a, b in pairs]))


def every(backends: Sequence[str], dtypes: Sequence[str], tell: Callable[[str], None]) -> tuple[list[Invariance], list[str]]:
    """Measure each backend in each dtype that it has; what could not be measured is told in a line each."""
    found, failed = list[Invariance](), list[str]()
    for backend in backends:
        for dtype in dtypes:
            tell(f"{backend}, {dtype}")
            try:
                found.append(measured(backend, dtype))
            except WorkerError as error:
                failed.append(f"{backend}, {dtype}: {error}")
    return found, failed


def table(found: Sequence[Invariance]) -> Table:
    rows = [
        (
            f"{one.backend} {one.version}",
            one.dtype,
            *(_cell(one, way) for way in (*WAYS, PADDED, THREADS)),
            f"{one.price:.1f} x",
        )
        for one in found
    ]
    return Table(HEAD, rows)


def _cell(one: Invariance, way: str) -> str:
    same = one.same[way]
    return "the same" if same == SENTENCES else f"{SENTENCES - same} of {SENTENCES} differ, by {one.apart[way]:.0e}"


def from_record(content: Any) -> list[Invariance]:
    """Return what ``record`` gave; raises ValueError for anything else."""
    if not isinstance(content, list):
        raise ValueError(f"it must be a list of measurements, got {shown(content)}")
    for number, one in enumerate(content, 1):
        check_record(Invariance, one, f"measurement {number}")
    return [Invariance(**one) for one in content]


def record(found: Sequence[Invariance]) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


PAGE = """# Is a sentence's translation the same whatever it is computed with?

Not to the last bit: a framework adds up the products of matrices of another shape in another order, and rounds differently.
The table counts the sentences whose ids and log-probability differ, in any bit, from those that the same process gives for the
sentence alone. A difference in the last digits changes a word only where two words are about equally probable.

`transformer-mb compare invariance` measured {sentences} sentences of 3 to {longest} tokens, with a model of {layers} +
{layers} layers of width {width} with random weights, greedy search of {steps} steps, one thread. *In 8*, *in 32*: as many
sentences in a call, padded to one length. *In pieces*: five sentences in a call. *Padded*: alone, with as much padding again
as it has tokens. The last column is the price of `translate --invariant`: its processor time, as a multiple of that of all
sentences in one call.

{table}
`translate --invariant` translates one line at a time, so that a line's translation depends only on that line, the model, the
backend, its version, the processor and the number of threads, not on the other lines or on `--batch-size`. A test checks this
for every backend. Where two threads differ from one, give the same `OMP_NUM_THREADS`.
"""


def page(found: Sequence[Invariance]) -> str:
    sizes = {"sentences": SENTENCES, "longest": LONGEST, "layers": CONFIG.encoder_num_layers, "width": CONFIG.num_hiddens}
    return PAGE.format(steps=STEPS, table=table(found).markdown(), **sizes)
