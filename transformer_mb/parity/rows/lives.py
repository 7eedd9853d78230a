"""The row of lives: a sequence of operations drawn by the seed, in which nothing may depend on what came before.

A step that is compiled at its second shape, a search that is traced at its third call, weights that are rounded once: what a
backend keeps is met again with other weights, another batch of the same shape, another configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import ParityError
from ...random_streams import stream
from ..cells import Ask, Result, is_offered
from ..computing import reference
from ..computing.messages import Request, named, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_values import model_weights
from .model_cases import BY_SEED, CONFIGS, ModelCase, model_by
from .models import drawn_batch

Operation = list[Any]
OPTIONS: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9},
    # A large epsilon, or the rounding noise of a gradient that is zero would become a step of full size.
    "adam": {"optimizer": "adam", "learning_rate": 0.05, "eps": 1e-2},
}
WEIGHTS, DRAWS, MAX_STEPS = 3, 3, 6
WIDTHS = range(3, 9)  # of a target: more shapes than any backend keeps apart by accident
SEEN_AGAIN = 2  # of these shapes every draw is trained on, of the others one: a program that is captured is run twice more
SUPPRESSED = 6  # of 13 tokens
ATTEMPTS = 100


def life_experiments(dtype: str, seed: int, on_gpu: Collection[str]) -> list[LifeComparison]:
    """Make the lives; in float32 some steps are in bfloat16, where offered, and weights are set after them."""
    rows = rows_of("life", dtype)
    name, optimizer = model_by(seed), list(OPTIONS)[seed // len(BY_SEED) % len(OPTIONS)]
    make = partial(_request, name, optimizer, dtype, seed)
    return [LifeComparison(f"drawn life: {name}, {optimizer}", dtype, rows, make, on_gpu=on_gpu)] if rows else []


@dataclass(eq=False)
class LifeComparison(Comparison):
    """``on_gpu``: labels of columns that are on one."""

    on_gpu: Collection[str] = ()

    def run(self, backend: str, ask: Ask) -> list[Result]:
        offered = self.dtype == "float32" and is_offered("bf16", backend, self.on_gpu)
        return super().run(backend, lambda request: ask(_with_bf16(request) if offered else request))


def _with_bf16(request: Request) -> Request:
    return replace(request, spec={**request.spec, "rounded": {"precision": "bf16"}})


def _request(name: str, optimizer: str, dtype: str, seed: int) -> Request:
    """The first drawn life in which suppressed tokens, and other weights, change what is decoded."""
    config = CONFIGS[name].replace(encoder_num_layers=1, decoder_num_layers=1)  # each shape is compiled
    arrays: dict[str, np.ndarray] = {}
    for number in range(WEIGHTS):
        arrays |= named(f"weights {number}", rounded_arrays(model_weights(config, seed + 1000 * number), dtype))
    random = stream(seed, "parity", "life", "batches")
    for shape, width in enumerate(WIDTHS):
        case = ModelCase(name, config, source_steps=1 + width // 2, target_steps=width)
        for draw in range(DRAWS):
            arrays |= named(f"batch {_batch(shape, draw)}", drawn_batch(case, random))
    spec = {"config": config.to_dict(), "options": OPTIONS[optimizer], "rounded": {}, "seed": seed, "max_steps": MAX_STEPS}
    for attempt in range(ATTEMPTS):
        operations = _operations(stream(seed, "parity", "life", attempt), config.suppress_ids)
        request = Request("life", dtype, {**spec, "operations": operations}, arrays)
        if _shows_what_changed(request):
            return request
    raise ParityError(f"Seed {seed} must give a life whose tokens show what was changed, but {ATTEMPTS} do not: take another.")


def _batch(shape: int, draw: int) -> int:
    return shape * DRAWS + draw


def _shows_what_changed(request: Request) -> bool:
    """Tell whether a search answers otherwise after the first tokens are suppressed, and after its last weights are set."""
    answer = reference.answer(request)
    greedy = [name == "greedy" for name, *_ in request.spec["operations"]]
    between = [at for at in range(1, len(greedy) - 1) if greedy[at - 1 : at + 2] == [True, False, True]]
    changes = between[0], between[-1]
    return not any(np.array_equal(answer[f"tokens.{at - 1}"], answer[f"tokens.{at + 1}"]) for at in changes)


def _operations(random: np.random.Generator, suppressed: tuple[int, ...]) -> list[Operation]:
    """The steps of the first model, and between them blocks of other operations in any order."""
    shapes = random.permutation(len(WIDTHS)).tolist()
    again = shapes[-SEEN_AGAIN:]
    steps = [["step", 0, _batch(shape, 0)] for shape in shapes]
    steps += [["step", 0, _batch(shape, draw)] for shape in again for draw in range(1, DRAWS)]
    blocks = list(_blocks(random, [_batch(again[0], draw) for draw in range(DRAWS)], suppressed))
    random.shuffle(blocks)
    where = sorted(random.integers(0, len(steps), len(blocks)).tolist(), reverse=True)
    for position, block in zip(where, blocks, strict=True):
        steps[position:position] = block
    return [*steps, ["weights", 0], ["weights", 1]]


def _blocks(random: np.random.Generator, batches: list[int], suppressed: tuple[int, ...]) -> Iterator[list[Operation]]:
    """Make operations on either model, with batches of one shape in any order."""

    def drawn() -> tuple[int, int, int, int]:
        first, second, third = random.permutation(batches).tolist()
        return int(random.integers(2)), first, second, third

    one, first, second, third = drawn()
    yield [["evaluate", one, first], ["set", one, 2], ["evaluate", one, first], ["evaluate", one, second]]
    one, first, second, third = drawn()
    yield [["rounded_step", one, first], ["set", one, 2], ["evaluate", one, second], ["gradients", one, third]]
    one, first, second, third = drawn()
    ids = sorted(random.choice(range(4, 13), SUPPRESSED, replace=False).tolist())
    searches = [["greedy", one, batch] for batch in (first, second, third, first)]
    edited = [["suppress", one, ids], ["greedy", one, first], ["suppress", one, list(suppressed)], ["greedy", one, third]]
    others = [["set", one, 1 - one], ["greedy", one, third]]
    yield [*searches, *edited, ["step", one, second], ["greedy", one, third], *others]
    one, first, second, third = drawn()
    yield [["beam", one, first], ["sample", one, first], ["set", one, 1], ["beam", one, first], ["sample", one, second]]
    one, first, second, third = drawn()
    yield [["copy", one, 1, first], ["evaluate", one, first]]
    one, first, second, third = drawn()
    yield [["reload", one, first]]
    one, first, second, third = drawn()
    yield [["evaluate_part", one, first]]
    one, first, second, third = drawn()
    searches = [["scores", one, batch] for batch in (first, second, first)]
    yield [*searches, ["replace", one, 2, first], ["scores", one, third]]
    one, first, second, third = drawn()
    yield [["step", 1 - one, first], ["hand_over", one], ["step", 1 - one, second], ["step", one, third], ["weights", 1 - one]]
