"""Decoding for the matrix: tokens that are searched or drawn, and the logits of a decoder that is fed in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ...backend import Backend
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...decoding.beam_search import ScoredIds
from ...decoding.sampling import Sampling
from ...errors import ParityError
from .making import Spec, check_mode, kept_unasked, model_of
from .messages import made_of, under
from .mistaken_searches import mistaken

# Whatever the temperature and the numbers: of two tokens the likelier has half by itself, of equal ones the lower.
LIKE_GREEDY = Sampling(temperature=100.0, top_k=2, top_p=0.5)
NO_OTHER = ScoredIds([], 0.0, 0.0)  # of a row with fewer hypotheses than are asked for
UNSAID = 4, 0.6  # hypotheses and length penalty of a beam search that is asked for by its name alone


@dataclass(frozen=True)
class _Search:
    """``prefixes``: of each row, or none at all."""

    backend: Backend
    native: Any
    spec: Spec
    source: np.ndarray
    lens: np.ndarray
    prefixes: list[list[int]]

    @property
    def forced(self) -> dict[str, Any]:
        """Leave out what is not asked for, so that a backend of another package needs no name for it."""
        return {"prefixes": self.prefixes} if self.prefixes else {}

    @property
    def covering(self) -> dict[str, Any]:
        penalty = self.spec["coverage_penalty"]
        return {**self.forced, "coverage_penalty": penalty} if penalty else self.forced

    def rows(self, steps: int | np.ndarray) -> list[list[int]]:
        inputs = self.native, self.source, self.lens, steps
        if self.spec["beam"] is None:
            return self.backend.greedy(*inputs, **self.forced)
        if self.spec["mistake"] is not None:
            return [found.ids for found in self.scored(steps)]
        said = self.spec["beam"], self.spec["length_penalty"]
        return self.backend.beam(*inputs, *(() if said == UNSAID else said), **self.covering)

    def scored(self, steps: int | np.ndarray, place: int = 0) -> list[ScoredIds]:
        """The best hypothesis of each row, or that at another place; greedily it is that of a beam of one."""
        inputs = self.native, self.source, self.lens, steps, self.spec["beam"] or 1, self.spec["length_penalty"]
        found = self.backend.hypotheses(*inputs, n_best=place + 1, **self.covering)
        return [kept[place] if len(kept) > place else NO_OTHER for kept in found]

    def sampled(self, steps: int) -> list[list[int]]:
        return self.backend.sample(self.native, self.source, self.lens, steps, LIKE_GREEDY, **self.forced)

    def rolled(self, number: int) -> _Search:
        """Return the same search with its sources ``number`` rows further down."""
        source, lens = (np.roll(array, number, axis=0) for array in (self.source, self.lens))
        return replace(self, source=source, lens=lens, prefixes=[*self.prefixes[-number:], *self.prefixes[:-number]])


def decode(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Tokens [B, max_steps], -1 after the end; and the logits along ``target``, to measure their error by.

    Also the best hypothesis as a search gives it that tells scores (greedily of one hypothesis): its ``scored tokens``, and
    ``scores`` [B, 2], after the penalties and before. ``prefixes`` are forced, -1 after their end. With ``repeats`` what
    ``_again`` gives too, and greedily the tokens ``of fewer steps``, each row's limit its own; with ``second`` the second best
    of each row. Attention weights that it leaves behind are told of, but where a penalty of coverage asks for them. A
    ``mistake`` is a negative control: see ``mistaken_searches``; one of a prefix is made here. A row that draws models by the
    hundred asks for ``tokens alone``.
    """
    native = model_of(backend, spec["config"], arrays)
    source, lens, steps = arrays["source"], arrays["source_valid_lens"], spec["max_steps"]
    mistake, prefixes = spec["mistake"], [[int(one) for one in row if one >= 0] for row in arrays.get("prefixes", ())]
    unread = mistake in ("no prefix", "prefix not read")
    searching = mistaken(backend, None if unread else mistake)
    search = _Search(searching, native, spec, source, lens, [] if unread else prefixes)
    fewer = {}
    if spec["repeats"] and spec["beam"] is None:  # before more steps are asked for
        limits = _fewer(steps, len(source))
        fewer["tokens of fewer steps"] = in_rows(search.rows(limits), int(limits.max()))
        fewer["scored of fewer steps"] = in_rows([found.ids for found in search.scored(limits)], int(limits.max()))
    # First what is asked for alone, as a user asks. Mistakes are made in the search that tells scores.
    rows = search.rows(steps) if searching is backend or spec["beam"] is not None else []
    if spec.get("tokens alone") and mistake is None:
        return {"tokens": in_rows(rows, steps)}
    best = search.scored(steps)
    scored = [found.ids for found in best]
    rows = rows or scored
    if mistake == "prefix not read":
        rows = [[*prefix, *row[len(prefix) :]] for prefix, row in zip(prefixes, rows, strict=True)]
    tokens = in_rows(rows, steps)
    answer = {"tokens": tokens, "scored tokens": in_rows(scored, steps)}
    for side in () if spec["coverage_penalty"] else filter(None, (native.encoder, native.decoder)):
        answer |= kept_unasked(side)
    if spec["second"]:
        second = search.scored(steps, 1)
        answer["second tokens"] = in_rows([found.ids for found in second], steps)
        best = [*best, *second]
    answer["scores"] = np.array([[found.score, found.log_probability] for found in best]).reshape(len(source), -1, order="F")
    if spec["repeats"]:
        answer |= fewer | _again(search, steps, spec["repeats"]) if mistake is None else _as_once(tokens, spec["beam"] is None)
    if "target" in arrays:
        answer["logits"] = _logits_of_steps(backend, native, source, lens, arrays["target"])
    check_mode(native)
    return answer


def _again(search: _Search, steps: int, repeats: int) -> dict[str, np.ndarray]:
    """``tokens again``: of the same sources in other rows, ``repeats`` times, so that what is compiled is run for others too.

    Greedily also ``sampled tokens``, drawn as ``LIKE_GREEDY`` says.
    """
    for number in range(1, repeats + 1):
        again = search.rolled(number).rows(steps)
    answer = {"tokens again": np.roll(in_rows(again, steps), -repeats, axis=0)}
    if search.spec["beam"] is None:
        answer["sampled tokens"] = in_rows(search.sampled(steps), steps)
    return answer


def _as_once(tokens: np.ndarray, greedily: bool) -> dict[str, np.ndarray]:
    """Answer as ``_again`` does where nothing depends on what came before."""
    answer = {"tokens again": tokens}
    if not greedily:
        return answer
    rows, steps = tokens.shape
    limits = _fewer(steps, rows)
    few = np.where(np.arange(steps) < limits[:, None], tokens, -1)[:, : int(limits.max())]
    return answer | {"sampled tokens": tokens, "tokens of fewer steps": few, "scored of fewer steps": few}


def _fewer(steps: int, rows: int) -> np.ndarray:
    """[rows]: limits of half the steps, and of one more in every second row."""
    return steps // 2 + np.arange(rows) % 2


def in_rows(hypotheses: list[list[int]], steps: int) -> np.ndarray:
    """[B, steps], -1 after the end."""
    tokens = np.full((len(hypotheses), steps), -1, np.int64)
    for row, ids in zip(tokens, hypotheses, strict=True):
        row[: len(ids)] = ids
    return tokens


def cached(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """The ``logits`` of a target that is fed to the decoder in pieces; those of left padding, which nothing says, are 0.

    At the last piece but one attention weights are asked for, of which the last one may leave none.
    """
    native = model_of(backend, spec["config"], arrays)
    batch, padding = under("batch", arrays), arrays.get("left_padding")
    source, lens = batch.get("source"), batch.get("source_valid_lens")
    whole = _in_pieces(backend, native, source, lens, batch["target_in"], spec["pieces"], spec["max_steps"], padding)
    if padding is not None:
        whole[np.arange(whole.shape[1]) < padding[:, None]] = 0.0
    check_mode(native)
    return {"logits": whole, **kept_unasked(native.decoder)}


def _in_pieces(
    backend: Backend,
    native: Any,
    source: np.ndarray | None,
    lens: np.ndarray | None,
    target: np.ndarray,
    pieces: Sequence[int],
    max_steps: int,
    padding: np.ndarray | None = None,
) -> np.ndarray:
    """[B, T, V]: of a target that is fed to the decoder in pieces of these lengths."""
    states = None if source is None else backend.encode(native, source, lens)
    state = backend.apply(native.decoder.init_state, states, lens, max_steps, padding)
    logits = []
    for count, piece in enumerate(np.split(target, np.cumsum(pieces)[:-1], axis=1), 2):
        output, state = backend.apply(native.decoder, piece, state, need_weights=count == len(pieces))
        logits.append(output)
    return made_of(logits, np.concatenate(logits, axis=1))


def _logits_of_steps(backend: Backend, native: Any, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[B, steps, V]: of a decoder alone, whose prompts the target begins with, those after each row's prompt.

    Of the book's decoding, which is another one than its whole forward pass, by one step after the other.
    """
    if native.config.compat_decode == "d2l":
        return _in_pieces(backend, native, source, lens, target, [1] * target.shape[1], target.shape[1])
    if native.config.has_encoder:
        return backend.logits(native, source, target, lens)
    logits = backend.logits(native, None, target)
    steps = np.arange(target.shape[1] - lens.max() + 1) + lens[:, None] - 1
    return made_of([logits], np.take_along_axis(logits, steps[..., None], axis=1))


def listed(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """All hypotheses of one step from logits that are the output's ``bias``, as a search lists them that is told no number.

    ``tokens`` [B, hypotheses], and ``scores`` [B, hypotheses, 2], after the penalties and before.
    """
    config = TransformerConfig.from_dict(spec["config"])
    native = backend.create_empty(config)
    weights = {name: np.zeros(shape) for name, shape in backend.parameter_shapes(native).items()}
    backend.set_weights(native, {**weights, "decoder.dense.bias": arrays["bias"]})
    found = backend.hypotheses(native, arrays["source"], None, 1, **spec["said"])
    return {
        "tokens": np.array([[one.ids[0] for one in row] for row in found]),
        "scores": np.array([[(one.score, one.log_probability) for one in row] for row in found]),
    }


NEVER = -1e4  # of an end: no number draws it, nor does rounding


def draw(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """``tokens.N`` [B, max_steps], -1 after the end, of each of the ``samplings``; ``numbers.N`` of each of the ``seeds``.

    A number is read off by a model of the ``even`` configuration, whose tokens are equally probable: the one that is drawn says
    where between 0 and 1 the number is, to within half of a token's share.
    """
    native = model_of(backend, spec["config"], arrays)
    inputs = arrays["source"], arrays["source_valid_lens"], spec["max_steps"]
    answer = {}
    for number, options in enumerate(spec["samplings"]):
        rows = backend.sample(native, *inputs, Sampling(**options))
        answer[f"tokens.{number}"] = in_rows(rows, spec["max_steps"])
    check_mode(native)
    config = TransformerConfig.from_dict(spec["even"])
    even = backend.create_empty(config)
    backend.set_weights(even, _even(config, backend.parameter_shapes(even)))
    for number, seed in enumerate(spec["seeds"]):
        rows = backend.sample(even, *inputs, Sampling(seed=seed))
        if {len(row) for row in rows} != {spec["max_steps"]}:
            raise ParityError(f"Rows that never end must hold {spec['max_steps']} tokens, got {list(map(len, rows))}.")
        ids = np.array(rows)
        numbers = np.asarray((ids - (ids > config.eos_id) + 0.5) / ((config.target_vocab_size or 0) - 1))
        answer[f"numbers.{number}"] = numbers.astype("float64" if backend.dtype == "float64" else "float32")
    return answer


def draw_given(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """``tokens.N`` [B]: what the backend's own rule draws by the ``logits`` [B, V] and the ``numbers`` [B], from 0 to 1."""
    drawn = import_module(f"{type(backend).__module__.rpartition('.')[0]}.decoding").drawn
    logits, answer = arrays["logits"], {}
    for number, options in enumerate(spec["samplings"]):
        truncation = Sampling(**options).truncation(logits.shape[-1])
        ids = backend.apply(partial(drawn, truncation=truncation), logits, arrays["numbers"])
        answer[f"tokens.{number}"] = ids.astype(np.int64)  # frameworks without float64 number in 32 bits
    return answer


def _even(config: TransformerConfig, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    weights = {name: np.zeros(shape) for name, shape in shapes.items()}
    weights["decoder.dense.bias"][config.eos_id] = NEVER
    return weights
