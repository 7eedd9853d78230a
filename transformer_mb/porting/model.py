"""Data passed on between readers and writers: a native file's content, and the model behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..config import TransformerConfig
from ..data.vocabulary import Vocabulary
from ..decoding.generation_config import GenerationConfig
from ..task_heads import Head
from ..trainer import SLOTS

Arrays = Mapping[str, np.ndarray]
USUAL_BETAS = (0.9, 0.999)  # Adam's in every framework, where nothing else is said


@dataclass(frozen=True, kw_only=True)
class NativeFile:
    """The content of a container, under the names and in the layout of the framework that wrote it.

    Attributes:
        format: its name in ``FORMATS``.
        tensors: by native name, in the file's order.
        optimizer: ``step``, and ``m.NATIVE_NAME`` and ``v.NATIVE_NAME`` in the layout of the tensor; None: holds none.
        betas: Adam's, where the file tells them; ``powers`` of them, [2] of beta1 and beta2 after ``step`` steps and one, where
            these stand for ``step`` in the optimizer's state (see ``adam_powers``).
        others: what else of the file has tensors, by its key there: averaged weights, a part of the model that lies apart.
        more_moments: how the optimizer's state, which was left out, speaks of more parameters than there are tensors.
        part: why the file is not all of a model, one sentence; "": nothing speaks against it.
        perhaps_part: what in its name lets it look like one of several, where it may also be whole: "rank_0".
        settings: what the file itself records of its configuration, or the companion beside it (see ``config_beside``): fields
            of a TransformerConfig. In a ``PortedModel`` of a folder: the fields that its reference run takes.
        notes: what is odd about it or was left out, one sentence each.
        doubt: why a companion that is there says nothing of it, one sentence; "": there is no doubt. It comes before all else
            that is said of the file, as the likely cause of it.
        ignored: what the setting ``ignore`` took out of the tensors.
    """

    format: str
    tensors: Arrays
    optimizer: Arrays | None = None
    betas: tuple[float, float] | None = None
    powers: tuple[np.ndarray, np.ndarray] | None = None
    others: Mapping[str, Arrays] = field(default_factory=dict)
    more_moments: str = ""
    part: str = ""
    perhaps_part: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    doubt: str = ""
    ignored: Arrays = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PortedModel:
    """A model without any framework.

    Attributes:
        weights: by canonical name, in canonical layout (Linear [out, in]), in the dtype that the file has.
        generation: how its publishers decode with it; None: nothing says so.
        optimizer: as ``Trainer.state_dict``: ``step``, ``m.NAME``, ``v.NAME``; None: there is none.
        betas: Adam's, where the source or the settings tell them.
        notes: what was dropped or is odd, one sentence each.
        native: of a folder, the tensors as read and the fields that its reference run takes; of a file the reader has them.
        heads: parts for tasks on top of its states, the unknown ones too.
        carried: of a folder of a library, its own files beside the weights, by name; ``carried_type`` is its ``model_type``.
        shown: by field whether the source shows it, where names and shapes of the weights tell otherwise (see ``origins``).
    """

    config: TransformerConfig
    weights: Arrays
    source_vocabulary: Vocabulary | None = None
    target_vocabulary: Vocabulary | None = None
    generation: GenerationConfig | None = None
    optimizer: Arrays | None = None
    betas: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    native: NativeFile | None = None
    heads: tuple[Head, ...] = ()
    carried: Mapping[str, bytes] = field(default_factory=dict)
    carried_type: str = ""
    shown: Mapping[str, bool] = field(default_factory=dict)


def renamed_moments(optimizer: Arrays, rename: Callable[[Arrays], Arrays]) -> dict[str, np.ndarray]:
    """Adam's state with the moments of each slot passed through ``rename``, which takes them as it takes the weights."""
    state = {"step": np.asarray(optimizer["step"], np.int64).reshape(())}
    for slot in SLOTS["adam"]:
        moments = {key.removeprefix(f"{slot}."): array for key, array in optimizer.items() if key.startswith(f"{slot}.")}
        state |= {f"{slot}.{name}": array for name, array in rename(moments).items()}
    return state


def odd_numbers(arrays: Arrays) -> list[str]:
    odd = []
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            odd.append(f"{name} holds {array.dtype.name}, no fractions.")
        elif array.size and not array.any() and array.ndim > 1:
            odd.append(f"{name} is zero throughout.")
    return [*odd, *not_finite(arrays)]


def not_finite(arrays: Arrays) -> list[str]:
    """Describe arrays that are not finite, also where no batch comes by: an unproved token's vector, for one."""
    counts = {name: int((~np.isfinite(array)).sum()) for name, array in arrays.items() if array.dtype.kind == "f"}
    return [
        f"{name} holds {count} {'number that is' if count == 1 else 'numbers that are'} not finite."
        for name, count in counts.items()
        if count
    ]
