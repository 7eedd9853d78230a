"""The switches that a backend declares it has not got: what needs one is refused as it is made, in one sentence."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from . import interface, layer_options
from .config import TransformerConfig
from .errors import LackingError


def refuse_lacking(name: str, lacks: Mapping[str, str], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse what needs a switch that the backend of this name lacks.

    Args:
        lacks: the reason by ``switch`` or ``switch=value``. A switch is a field of TransformerConfig; a layer may call it by
            the end of its name, as ``gated`` of ``ffn_gated``.
        given: what is made, by field or keyword. defaults: what each is where it is not given, which lacks nothing.
    Raises: LackingError.
    """
    for switch, reason in lacks.items():
        field, _, value = switch.partition("=")
        for option, chosen in given.items():
            known = option == field or field.endswith(f"_{option}")
            if known and chosen != defaults.get(option) and value in ("", str(chosen)):
                raise LackingError(f"The backend {name} lacks {switch} ({reason}), got {option} = {chosen!r}.")


def refusing(backend: Any) -> None:
    """Have a backend's class refuse what it lacks, wherever a model or a layer is made."""
    backend.create_empty, backend.make = _config_checked(backend.create_empty), _call_checked(backend.make)


def _check_config(backend: Any, config: TransformerConfig) -> None:
    given = {field.name: getattr(config, field.name) for field in fields(config)}
    refuse_lacking(backend.name, backend.lacks, given, {field.name: field.default for field in fields(config)})


def _config_checked(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def checked(self: Any, config: TransformerConfig) -> Any:
        _check_config(self, config)
        return create(self, config)

    return checked


def _call_checked(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def checked(self: Any, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        for config in arguments:
            if isinstance(config, TransformerConfig):
                _check_config(self, config)
        refuse_lacking(self.name, self.lacks, options, defaults_of(getattr(constructor, "__name__", "")))
        return make(self, constructor, *arguments, **options)

    return checked


@functools.cache
def defaults_of(layer: str) -> Mapping[str, Any]:
    """Return what a layer's keywords are by its contract where they are not given."""
    if layer not in interface.LAYERS:
        return {}
    parameters = inspect.signature(interface.LAYERS[layer]).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def _options_of(layer: str) -> list[str]:
    """Return the options that a contract takes as ``**options: Unpack[...]``."""
    parameters = inspect.signature(interface.LAYERS[layer]).parameters.values()
    said = [str(one.annotation) for one in parameters if one.kind is one.VAR_KEYWORD]
    names = [match[1] for text in said if (match := re.search(r"Unpack\[(?:\w+\.)*(\w+)\]", text))]
    return [option for name in names for option in getattr(layer_options, name).__annotations__]


def untaken(backend: Any) -> list[str]:
    """Return the keywords of the contracts that a backend's layers do not take and that it does not declare lacking."""
    found = []
    for name in interface.LAYERS:
        taken = inspect.signature(getattr(backend, name)).parameters
        if not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            missing = [option for option in (*defaults_of(name), *_options_of(name)) if option not in taken]
            lacking = {switch.partition("=")[0] for switch in backend.lacks}
            found += [f"{name}({one}=...)" for one in missing if not any(s == one or s.endswith(f"_{one}") for s in lacking)]
    return found
