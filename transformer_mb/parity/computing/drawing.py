"""Tokens that a backend draws, and the numbers it draws them by."""

from __future__ import annotations

import numpy as np

from ...backend import Backend
from ...config import TransformerConfig
from ...decoding.sampling import Sampling
from ...errors import ParityError
from .decoding import in_rows
from .left_behind import check_mode
from .making import Spec, model_of
from .messages import Arrays

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


def _even(config: TransformerConfig, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    weights = {name: np.zeros(shape) for name, shape in shapes.items()}
    weights["decoder.dense.bias"][config.eos_id] = NEVER
    return weights
