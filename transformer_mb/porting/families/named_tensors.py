"""Parts that the families of named tensors share: weights that have got their canonical names become a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import PortError, WeightsError
from ...parameters import check_weights, parameter_shapes
from ...printable import counted
from ..formats.wrappers import elsewhere
from ..model import Arrays, NativeFile, PortedModel, renamed_moments
from ..safety.port_errors import port_errors
from ..settings import build_config, check_sizes, vocabularies
from .inferred_fields import absences, uneven_layers
from .naming_schemes import OUTPUT

LEFT_OUT = "The optimizer's state does not fit the weights: it was left out."


def check_fractions(tensors: Arrays) -> None:
    """Whole numbers and truth values are counters, indices or masks, never weights."""
    wrong = [f"{name!r:.80} ({array.dtype.name})" for name, array in tensors.items() if array.dtype.kind != "f"]
    if wrong:
        raise PortError(
            f"Weights must be floating-point numbers, but {counted(len(wrong), 'tensor is', 'tensors are')} not: "
            f"{', '.join(wrong)}. Buffers can be "
            "named with ignore in the settings; quantised weights must be widened first."
        )


def model_of(
    native: NativeFile,
    weights: Arrays,
    fields: Mapping[str, Any],
    settings: Mapping[str, Any],
    assumed: Mapping[str, Any],
    canonical: Callable[[Arrays], Arrays],
    notes: Iterable[str],
) -> PortedModel:
    """``canonical`` gives arrays by native name their canonical names and layout: the optimizer's moments too.

    Raises PortError that lists every missing, unexpected and wrongly shaped tensor.
    """
    known = {**native.settings, **settings}
    own = canonical(native.tensors)
    missing, uneven = absences(fields, known, own), uneven_layers(fields, known)
    if "tie_output" not in known and OUTPUT not in own:
        _check_ignored_output(native, fields)
    _check_absences(native, missing, uneven, _moments_of_more(native, own, canonical))
    config = build_config(fields, settings, assumed, native.settings)
    check_sizes(config, len(weights))
    shapes = parameter_shapes(config)
    with port_errors(WeightsError):
        check_weights(weights, shapes, "The configuration")
    optimizer = native.optimizer and _optimizer(native.optimizer, shapes, canonical)
    dropped = (LEFT_OUT,) if native.optimizer and not optimizer else ()
    return PortedModel(
        config=config,
        weights={name: weights[name] for name in shapes},
        optimizer=optimizer or None,
        notes=(
            *([native.doubt] if native.doubt else []),
            *native.notes,
            *notes,
            *missing,
            *uneven,
            *dropped,
        ),
        betas=native.betas if optimizer else None,
        **vocabularies(settings),
    )


def _check_absences(native: NativeFile, missing: list[str], uneven: list[str], more_moments: str) -> None:
    """Refuse what is concluded from what a file has not, where anything else of it speaks against that; raises PortError.

    Args:
        missing, uneven: sentences, on switches and on the numbers of blocks.
        more_moments: of what the optimizer's state has moments and the file no tensor, or "".
    """
    if missing and (apart := elsewhere(native)):
        raise PortError(
            f"The file may hold a part of the model elsewhere, in {', '.join(apart):.200}: {' '.join(missing)} Where that "
            "is so, say it in the settings (config); else put all tensors into one dictionary."
        )
    concluded = " ".join([*missing, *uneven])
    if concluded and native.perhaps_part:
        raise PortError(
            f"The file may be one of several, as {native.perhaps_part} in its name says: {concluded} Where it holds all "
            "of the model, say this in the settings (config); else put all tensors into one file."
        )
    if concluded and more_moments:
        raise PortError(
            f"The optimizer's state speaks of a larger model ({more_moments:.200}), but the file's tensors do not: {concluded}"
        )


def _check_ignored_output(native: NativeFile, fields: Mapping[str, Any]) -> None:
    """Refuse a tie that is concluded where ``ignore`` took out what may be the output; raises PortError."""
    if fields.get("tie_output") and (names := _ignored_outputs(native, fields)):
        raise PortError(
            f"ignore must not name the output, but {', '.join(names):.200} may be it: the file has no {OUTPUT}, so that the "
            'embedding would take its place. Call the tensor so, or say "tie_output": true in the settings (config).'
        )


def _ignored_outputs(native: NativeFile, fields: Mapping[str, Any]) -> list[str]:
    """List what ``ignore`` took out and has the output's shape, either way round, but for a table of the file once more."""
    sizes = sorted((fields["target_vocab_size"], fields["num_hiddens"]))
    alike = {name: array for name, array in native.ignored.items() if array.dtype.kind == "f" and sorted(array.shape) == sizes}
    kept = [array for array in native.tensors.values() if sorted(array.shape) == sizes]
    return [n for n, array in alike.items() if not any(np.array_equal(array, one) for one in kept)]


def _moments_of_more(native: NativeFile, own: Arrays, canonical: Callable[[Arrays], Arrays]) -> str:
    """Describe what the optimizer knows and the file does not hold, such as a layer that was left out of it."""
    if native.optimizer is None or native.more_moments:
        return native.more_moments
    try:
        names = [name.removeprefix("m.") for name in renamed_moments(native.optimizer, canonical) if name.startswith("m.")]
    except (PortError, KeyError):
        return ""
    more = [name for name in names if name not in own]
    return f"moments of {', '.join(more[:5])}" if more else ""


def _optimizer(state: Arrays, shapes: Mapping[str, tuple[int, ...]], canonical: Callable[[Arrays], Arrays]) -> Arrays:
    """Return the optimizer's state; empty where the moments are not those of these weights."""
    if "step" not in state or state["step"].size != 1:
        return {}
    try:
        renamed = renamed_moments(state, canonical)
    except PortError:
        return {}
    expected = {"step": (), **{f"{slot}.{name}": shape for slot in ("m", "v") for name, shape in shapes.items()}}
    kept = {name: renamed[name] for name in expected if name in renamed}
    return kept if {name: array.shape for name, array in kept.items()} == expected else {}
