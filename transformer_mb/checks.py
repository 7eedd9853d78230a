"""Checks, with one wording, of the arguments of every backend's layers.

A layer brings the facts. Shapes and dtypes are known while a step is traced, so that a compiled one checks nothing when
it runs. Values are passed only where a backend reads them without waiting: in eager calls on the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .errors import ConfigError, DtypeError, ShapeError, TokenError

FEW = 8  # numbers of a wrong argument that are shown
Sizes = Sequence[int | None]  # None: a size that a graph of TensorFlow does not know yet, which fits any


def _fits(shape: Sizes, expected: Sizes) -> bool:
    if tuple(shape) == tuple(expected):
        return True
    # By map, since Paddle's compiler does not know zip's argument ``strict``.
    return len(shape) == len(expected) and all(map(_same_size, shape, expected))


def _same_size(a: int | None, b: int | None) -> bool:
    return a == b or a is None or b is None


def _shape(name: str, X: Any, form: str) -> Sizes:
    shape = getattr(X, "shape", None)
    if shape is None:
        raise ShapeError(f"{name} must be a tensor of shape {form}, got {_named(X)}.")
    if 0 in shape:  # of which few frameworks make an empty answer, and MXNet ends the process
        raise ShapeError(f"{name} must have at least one element, got shape {list(shape)}.")
    return shape


def _named(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def spelled(dtype: Any) -> str:
    """``torch.int64``, ``<dtype: 'int64'>`` and ``<class 'numpy.int64'>`` are all int64."""
    return re.findall(r"[a-z]+\d*", str(dtype))[-1]


def check_features(name: str, X: Any, size: int | None) -> None:
    """Refuse an input [B, T, size] of another rank or width; None where the width is unknown."""
    shape = _shape(name, X, "[B, T, width]")
    if len(shape) != 3 or (None not in (size, shape[-1]) and shape[-1] != size):
        raise ShapeError(f"{name} must have shape [B, T, {'width' if size is None else size}], got {list(shape)}.")


def refuse_dtype(name: str, dtype: Any, expected: Any, of: str) -> NoReturn:
    """Say of an input that it is no float, or, with ``expected``, not of the dtype of what it is multiplied with."""
    must = "a floating dtype" if expected is None else f"dtype {spelled(expected)} as the {of} have"
    raise DtypeError(f"{name} must have {must}, got {spelled(dtype)}.")


def check_same(first: str, first_shape: Sizes, second: str, second_shape: Sizes) -> None:
    """Refuse two inputs that are to be added and differ in shape."""
    if not _fits(first_shape, second_shape):
        raise ShapeError(f"{first} and {second} must have the same shape, got {list(first_shape)} and {list(second_shape)}.")


def check_trailing(name: str, X: Any, norm_shape: Sequence[int]) -> None:
    """Refuse an input whose trailing sizes are not ``norm_shape``."""
    shape = _shape(name, X, "[..., *norm_shape]")
    if not _fits(shape[-len(norm_shape) :], norm_shape):
        raise ShapeError(f"{name} must end in the sizes {list(norm_shape)}, got {list(shape)}.")


def check_residual(X: Any, Y: Any, norm_shape: Sequence[int] | None) -> None:
    """Refuse what AddNorm cannot add or normalize; of another norm in the place of ours, None, it says itself what it takes."""
    shape = getattr(X, "shape", None)
    norm_shape = shape[len(shape) - 1 :] if norm_shape is None and shape else norm_shape or ()
    if shape is None or 0 in shape or shape != getattr(Y, "shape", None) or shape[-len(norm_shape) :] != norm_shape:
        check_trailing("X", X, norm_shape)
        check_trailing("Y", Y, norm_shape)
        check_same("X", X.shape, "Y", Y.shape)


def check_unparted(X: Any, num_heads: int) -> None:
    """Refuse what ``transpose_qkv`` cannot part into heads."""
    shape = _shape("X", X, "[B, T, D]")
    if len(shape) != 3 or (shape[-1] is not None and shape[-1] % num_heads):
        raise ShapeError(f"X must have shape [B, T, D], D being divisible by num_heads = {num_heads}, got {list(shape)}.")


def check_parted(X: Any, num_heads: int) -> None:
    """Refuse what ``transpose_output`` cannot join; D2L folds B and H into one axis, which it takes too."""
    shape = _shape("X", X, "[B, H, T, D/H]")
    folded = len(shape) == 3 and (shape[0] is None or shape[0] % num_heads == 0)
    if not folded and not (len(shape) == 4 and shape[1] in (num_heads, None)):
        raise ShapeError(f"X must have shape [B, H, T, D/H] with H = num_heads = {num_heads}, got {list(shape)}.")


def check_attention(queries: Any, keys: Any, values: Any) -> None:
    """Refuse queries, keys and values that do not belong together: one batch, one width, and one value for each key."""
    form = "[B, T, D] or [B, H, T, D]"
    Q, K, V = _shape("queries", queries, form), _shape("keys", keys, form), _shape("values", values, form)
    if Q[:-2] == K[:-2] and K[:-1] == V[:-1] and Q[-1:] == K[-1:] and len(Q) in (3, 4):  # nearly always
        return
    got = f"got {list(Q)}, {list(K)} and {list(V)}."
    if len(Q) not in (3, 4) or not len(Q) == len(K) == len(V):
        raise ShapeError(f"queries, keys and values must all have shape [B, T, D] or all [B, H, T, D], {got}")
    if not (_fits(Q[:1], K[:1]) and _fits(K[:-1], V[:-1])):
        raise ShapeError(f"queries, keys and values must share the batch, and keys and values their steps, {got}")
    if not _served(Q[1:-2], K[1:-2]):
        raise ShapeError(f"The heads of keys and values must divide those of queries, {got}")
    if not _fits((Q[-1],), (K[-1],)):
        raise ShapeError(f"queries and keys must have the same width, got {list(Q)} and {list(K)}.")


def _served(queries: Sizes, keys: Sizes) -> bool:
    """Tell whether as many heads of queries, where there are heads, come to each head of keys."""
    return all(H is None or G is None or H % G == 0 for H, G in zip(queries, keys, strict=False))


def check_rank(name: str, X: Any, form: str, *ranks: int) -> None:
    """Refuse another number of axes than ``form`` shows."""
    shape = _shape(name, X, form)
    if len(shape) not in ranks:
        raise ShapeError(f"{name} must have shape {form}, got {list(shape)}.")


def check_labels(label: Sizes, pred: Sizes) -> None:
    """Refuse labels that are not one for each step of ``pred``."""
    if not _fits(label, pred[:2]):
        raise ShapeError(f"label must have shape {list(pred[:2])}, one for each step of pred, got {list(label)}.")


def check_types(token_types: Sizes, tokens: Sizes, known: bool) -> None:
    """Refuse token types that are not one for each token, or that an encoder has no table for."""
    if not known:
        raise ConfigError("token_types must be None for an encoder without a table of token types, got some.")
    if not _fits(token_types, tokens):
        raise ShapeError(f"token_types must have shape {list(tokens)} as the token ids have, got {list(token_types)}.")


def check_state(name: str, state: Any, blocks: int) -> None:
    """Refuse a decoder's state that is not D2L's list with a cache for each block."""
    well_formed = isinstance(state, list | tuple) and len(state) == 3 and isinstance(state[2], list | tuple)
    if not well_formed or len(state[2]) < blocks:
        raise ShapeError(
            f"The state of {name} must be [enc_outputs, enc_valid_lens, caches] with {blocks} or more caches (None each at "
            f"the start), got {_outlined(state)}."
        )


def _outlined(state: Any) -> str:
    if not isinstance(state, list | tuple) or len(state) != 3:
        return f"{len(state)} parts" if isinstance(state, list | tuple) else _named(state)
    return f"{len(state[2])} of them" if isinstance(state[2], list | tuple) else f"{_named(state[2])} as caches"


def check_batches(name: str, X: Sizes, enc_outputs: Sizes) -> None:
    """Refuse a decoder's input of another batch than the encoder's outputs."""
    if not _fits(X[:1], enc_outputs[:1]):
        raise ShapeError(f"{name} must have batch size {enc_outputs[0]} as the encoder's outputs have, got {X[0]}.")


def as_array(name: str, given: Any) -> np.ndarray:
    """Lists or a NumPy array of ids, lengths or a mask, as an array."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of unequal lengths
        raise ShapeError(f"{name} must be a tensor, or lists of equal lengths, got lists of unequal lengths.") from None
    if array.dtype.kind not in "biuf":
        raise ShapeError(f"{name} must be a tensor, an array or lists of numbers, got {_named(given)}.")
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def check_ids(name: str, shape: Sizes, whole: bool, dtype: Any, values: np.ndarray | None, rows: int | None) -> None:
    """Refuse token ids that are no [B, T] whole numbers, or outside a table of ``rows``.

    Args:
        whole: whether the dtype is one of whole numbers. values: the ids where they can be read at no cost, else None; and
            None with ``rows`` None, where a backend's ``look_up`` will look at them.
    """
    if len(shape) != 2 or 0 in shape:
        raise ShapeError(f"{name} must have shape [B, T] with at least one token, got {list(shape)}.")
    if not whole:
        raise TokenError(f"{name} must hold whole numbers, got dtype {spelled(dtype)}.")
    if values is not None and rows is not None:
        check_id_values(name, values, rows)


def check_id_values(name: str, values: np.ndarray, rows: int) -> None:
    """Refuse ids outside a table of ``rows``, by the first that is wrong."""
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= rows:
        raise TokenError(f"{name} must hold token ids from 0 to {rows - 1}, got {low if low < 0 else high}.")


def check_valid_lens(
    name: str, shape: Sizes, whole: bool, dtype: Any, values: np.ndarray | None, forms: Sequence[Sizes], steps: int | None
) -> None:
    """Refuse lengths of none of the shapes ``forms``, or outside 0 to ``steps``; other arguments as in ``check_ids``.

    Whole numbers of a float dtype are taken: some frameworks make floats of [3, 2], and no answer changes.
    """
    if "bool" in str(dtype):
        raise TokenError(
            f"{name} must hold whole numbers, got dtype bool: a mask goes to mask=, of attention or of an encoder block."
        )
    if not any(_fits(shape, form) for form in forms):
        raise ShapeError(f"{name} must have shape {' or '.join(str(list(form)) for form in forms)}, got {list(shape)}.")
    if values is None or not values.size:
        return
    if values.dtype.kind == "f" and (fractions := values[values != np.floor(values)]).size:
        raise TokenError(f"{name} must hold whole numbers, got {fractions[0]}.")
    if steps is not None and not (values.min() >= 0 and values.max() <= steps):
        raise TokenError(f"{name} must hold lengths from 0 to {steps}, got {_some(values, (values < 0) | (values > steps))}.")


def _some(values: np.ndarray, wrong: np.ndarray) -> str:
    """All of a few numbers; of many the first that is wrong."""
    if values.size <= FEW:
        return str(values.tolist())
    place = [int(index[0]) for index in np.nonzero(wrong)]
    return f"{values[tuple(place)]} at {place} of {list(values.shape)}"


def per_step(valid_lens: Any) -> bool:
    """Tell whether lengths are [B, T], one for each step, rather than [B]."""
    shape = getattr(valid_lens, "shape", None)
    return len(as_array("valid_lens", valid_lens).shape if shape is None else shape) > 1


def _broadcasts(size: int | None, other: int | None) -> bool:
    return size == 1 or _same_size(size, other)


def check_mask(shape: Sizes, boolean: bool, dtype: Any, scores: Sizes) -> None:
    """Refuse a mask that is not boolean (numbers would be added by some and multiplied by others) or does not fit.

    One of three dimensions is [B, T, S], also for scores [B, H, T, S].
    """
    if not boolean:
        raise DtypeError(
            f"mask must be boolean, True where a query may attend, got dtype {spelled(dtype)}: "
            "of ones and zeros give mask > 0, of numbers to add to the scores mask > -1."
        )
    if len(shape) == 0:  # TensorFlow's shape of no axes is true
        raise ShapeError("mask must be a boolean tensor [T, S], [B, T, S] or [B, H, T, S], got a single value.")
    if len(shape) == 3 and len(scores) == 4:
        shape = (shape[0], 1, *shape[1:])
        rows = f"; of three dimensions it is [B, T, S] = {[scores[0], *scores[2:]]}, the same for every head"
    else:
        rows = ""
    # From the last axis on; by map, since Paddle's compiler does not know zip's argument ``strict``.
    fits = len(shape) <= len(scores) and all(map(_broadcasts, reversed(shape), reversed(scores)))
    if not fits:
        padding = "; a mask [B, S] of keys is given as mask[:, None]" if len(shape) == 2 and len(scores) > 2 else ""
        got = [shape[0], *shape[2:]] if rows else list(shape)
        raise ShapeError(f"mask must be broadcastable to the scores {list(scores)}{rows}, got {got}{padding}.")


def check_sides(encoder: bool, decoder: bool, enc_X: Any, dec_X: Any) -> None:
    """Refuse a call of a whole model that lacks an input, or gives one to a side that the model lacks."""
    for name, X, side, present in (("enc_X", enc_X, "encoder", encoder), ("dec_X", dec_X, "decoder", decoder)):
        if present and X is None:
            raise ShapeError(f"{name} must be token ids [B, T] for a model with {side}, got None.")
        if not present and X is not None:
            raise ConfigError(f"{name} must be None for a model without {side}, got a {type(X).__name__}.")


def check_positions(offset: int | np.ndarray, steps: int, max_len: int, limit: str = "max_len") -> None:
    """Refuse a sequence that starts before the first position or runs past the last; ``limit`` is what the user calls it.

    An offset for each row [B] is below 0 where the row begins with padding.
    """
    last = offset if isinstance(offset, int) else int(np.max(offset))
    if last < 0 and np.ndim(offset) == 0:
        raise TokenError(f"offset must not be negative, got {last}.")
    if last + steps > max_len:
        raise TokenError(f"A sequence must be at most {limit} = {max_len} tokens long, got {last + steps}.")
