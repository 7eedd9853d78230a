"""Answers of all backends' layers to a keyword that is not theirs, and to numbers in the place of layers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from .config import TransformerConfig
from .errors import ArgumentError, ConfigError
from .layer_options import AttentionOptions
from .other_names import OTHER_NAMES

CALLS = ("forward", "call", "__call__")  # what the frameworks name that which a layer computes
OWN = "transformer_mb.backends."  # a class of another package takes what it says
# Arguments that are True or False, and what one takes them for.
BOOLEANS = (bool, np.bool_)
FLAGS = {"causal": "; a mask goes to mask=", "need_weights": ""}


class Called:
    """A base of every layer, before the framework's own: it looks at keywords before the framework binds them.

    Where a layer's call is the class's own ``__call__``, as in flax, that is wrapped.
    """

    _call_names: ClassVar[tuple[str, ...] | None] = None  # None: not looked at
    _every_call: ClassVar[tuple[str, ...]] = ()  # what a framework's layers take beside their own arguments

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        call = next((getattr(cls, name) for name in CALLS if hasattr(cls, name)), None)
        cls._call_names = _keywords(call) if getattr(call, "__module__", "").startswith(OWN) else None
        if "__call__" in vars(cls) and cls._call_names is not None:
            setattr(cls, "__call__", _checked(vars(cls)["__call__"]))  # noqa: B010  # mypy takes no assignment to a method

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        if getattr(cls.__init__, "__module__", "").startswith(OWN):
            for name in options.keys() & OTHER_NAMES.keys() - inspect.signature(cls.__init__).parameters.keys():
                raise ArgumentError(f"{cls.__name__} has no argument {name}: {OTHER_NAMES[name].instead}.")
        make = super().__new__
        return make(cls) if make is object.__new__ else make(cls, *arguments, **options)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        self._check_keywords(options)
        return super().__call__(*inputs, **options)  # type: ignore[misc]

    def _check_keywords(self, options: dict[str, Any]) -> None:
        for name, value in options.items():
            if name in FLAGS and not isinstance(value, BOOLEANS):
                given = f"a {type(value).__name__}" if hasattr(value, "shape") else repr(value)
                raise ArgumentError(f"{name} must be True or False, got {given}{FLAGS[name]}.")
            if self._call_names is not None and name not in self._call_names and name not in self._every_call:
                refuse_keyword(type(self), name)


def _keywords(call: Any) -> tuple[str, ...] | None:
    """The arguments of a call by name, less ``self``; None where it takes any."""
    names: list[str] = []
    for name, parameter in list(inspect.signature(call).parameters.items())[1:]:
        if parameter.kind is not parameter.VAR_KEYWORD:
            names.append(name)
        elif "AttentionOptions" in str(parameter.annotation):
            names += AttentionOptions.__annotations__
        else:
            return None
    return tuple(names)


def _checked(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def checked(self: Any, *inputs: Any, **options: Any) -> Any:
        self._check_keywords(options)
        return call(self, *inputs, **options)

    return checked


def refuse_keyword(layer: Any, name: str) -> NoReturn:
    """Name the layer that was called, what it takes, and what the name of another library is here."""
    instead = f": {OTHER_NAMES[name].instead}" if name in OTHER_NAMES else ""
    raise ArgumentError(f"{layer.__name__} takes {', '.join(layer._call_names)}, got {name}{instead}.")


def check_parts(**parts: Any) -> None:
    """Refuse what is no layer in the place of one; sizes in place of layers are what one tries first."""
    for name, part in parts.items():
        if part is not None and (isinstance(part, TransformerConfig) or not callable(part)):
            given = "a TransformerConfig" if isinstance(part, TransformerConfig) else repr(part)
            raise ConfigError(
                f"{name} of EncoderDecoder must be a layer or None, got {given}. EncoderDecoder.from_config(config) makes all "
                "parts, with a config such as presets.d2l(source_vocab_size, target_vocab_size)."
            )
