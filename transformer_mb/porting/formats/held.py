"""Content of a saved dictionary: the model, an optimizer's state, and all else with tensors, so that nothing goes unnamed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import PortError
from ..safety.raw_arrays import MOST_TENSORS, check_name

MODEL_KEYS = ("model", "state_dict", "model_state_dict", "net", "module", "params", "network")
OPTIMIZER_KEYS = ("optimizer", "optimizer_state_dict", "optimizer_states", "optim", "opt", "opt_state", "last_optimizer_state")
SIDE = re.compile(r"(encoder|decoder)_(?:model_)?(?:state_dict|state|weights|params)")  # dictionaries of one model's two sides
DEEPEST = 40  # levels
SHOWN = 8  # keys in a sentence


@dataclass
class Held:
    """``tensors`` by name, the levels of nested dictionaries joined; ``others`` by key of the file, likewise; ``optimizer``
    None: there is none, or there are several, which ``notes`` say."""

    tensors: dict[str, Any]
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    optimizer: Any = None
    notes: list[str] = field(default_factory=list)


def held(tree: Mapping[Any, Any], what: str, is_tensor: Callable[[Any], bool], separator: str = ".") -> Held:
    """The model is what lies under the first of MODEL_KEYS that has tensors, else all that is no optimizer's state."""
    states = {str(key): value for key, value in tree.items() if _is_state(key, value, is_tensor)}
    entries = {str(key): value for key, value in tree.items() if str(key) not in states}
    found = {key: flat(value, what, is_tensor, separator) for key, value in entries.items()}
    full = [key for key, tensors in found.items() if any(len(one.shape) for one in tensors.values())]  # a number is a counter
    if len(full) == 1 and type(only := entries[full[0]]) is dict and not states and _has_model(only, what, is_tensor):
        return held(only, what, is_tensor, separator)
    model = next((key for key in MODEL_KEYS if key in full and not is_tensor(entries[key])), None)
    if model is not None:
        result = Held(found[model], {key: found[key] for key in full if key != model})
    else:
        sides = {key: match[1] for key in full if (match := SIDE.fullmatch(key))}
        if sorted(sides.values()) != sorted(set(sides.values())) or set(sides.values()) & (set(entries) - set(sides)):
            sides = {}  # of two for one side, none is told apart
        result = Held(flat({sides.get(key, key): value for key, value in entries.items()}, what, is_tensor, separator))
    if not result.tensors:
        keys = ", ".join(f"{key!s:.40}" for key in list(tree)[:SHOWN])
        raise PortError(f"{what} must hold tensors by name, got none: its keys are {keys or 'none'}.")
    _choose_state(states, result)
    return result


def _is_state(key: Any, value: Any, is_tensor: Callable[[Any], bool]) -> bool:
    """An optimizer's state, by its key or by what it is made of."""
    return isinstance(value, (dict, list, tuple)) and (key in OPTIMIZER_KEYS or all(map(_is_one_state, _states(value))))


def _is_one_state(value: Any) -> bool:
    return isinstance(value, dict) and (
        (isinstance(value.get("state"), dict) and isinstance(value.get("param_groups"), list))
        or any(isinstance(name, str) and "_moment1_" in name for name in value)
    )


def _states(value: Any) -> list[Any]:
    """A list or a dictionary of states is several; what has other things in it is one, if any."""
    inner = list(value.values() if isinstance(value, dict) else value)
    return inner if inner and (not isinstance(value, dict) or all(map(_is_one_state, inner))) else [value]


def _choose_state(states: dict[str, Any], result: Held) -> None:
    chosen = [state for value in states.values() for state in _states(value)]
    if len(chosen) == 1:
        result.optimizer = chosen[0]
    elif chosen:
        result.notes.append(
            f"The optimizer's state was left out: {', '.join(states):.200} hold {len(chosen)}, and none is told apart."
        )


def _has_model(tree: Mapping[Any, Any], what: str, is_tensor: Callable[[Any], bool]) -> bool:
    return any(isinstance(tree.get(key), dict) and flat(tree[key], what, is_tensor) for key in MODEL_KEYS)


def flat(tree: Any, what: str, is_tensor: Callable[[Any], bool], separator: str = ".") -> dict[str, Any]:
    """Every tensor by its path; what is neither a tensor nor holds one is passed over."""
    tensors: dict[str, Any] = {}
    for name, tensor in _walked(tree, what, is_tensor, separator):
        if name in tensors:
            raise PortError(f"{what} must hold each tensor once, but {name!r:.80} comes twice.")
        tensors[name] = tensor
        if len(tensors) > MOST_TENSORS:
            raise PortError(f"{what} must hold at most {MOST_TENSORS} tensors, got more.")
    return tensors


def _walked(
    value: Any, what: str, is_tensor: Callable[[Any], bool], separator: str, prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, Any]]:
    if is_tensor(value):
        yield prefix, value
        return
    if not isinstance(value, (dict, list, tuple)):
        return
    if len(above) > DEEPEST or id(value) in above:
        raise PortError(f"{what} nests its names too deeply.")
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        full = f"{prefix}{separator}{key}" if prefix else str(key)
        check_name(full, what)  # here, since a long level above many others would make many long names of it
        yield from _walked(inner, what, is_tensor, separator, full, (*above, id(value)))
