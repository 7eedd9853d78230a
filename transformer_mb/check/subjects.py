"""Subjects of a comparison: a layer, a model or a function by the name of what makes it, built in a process of its own."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..extras import install_command
from ..machine.compilation_cache import compilation_cache
from .eight_bits import INT8

# By kind: the packages that its process imports, and the extra that installs them.
KINDS = {
    "numpy": (("numpy",), "parity"),
    "torch": (("torch",), "torch"),
    "flax": (("jax", "flax"), "jax"),
    "linen": (("jax", "flax"), "jax"),
    "keras": (("keras",), "tensorflow"),
    "paddle": (("paddle",), "paddle"),
    "gluon": (("mxnet",), "mxnet"),
    "onnx": (("onnx", "onnxruntime"), "port"),
}
KERAS_BACKENDS = ("tensorflow", "jax", "torch")
DTYPES = ("float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Subject:
    """A side of a comparison. It is immutable: each method returns another one.

    Args:
        kind: a key of KINDS, the framework that it is written in.
        factory: ``module:attribute`` or ``path/to/file.py:attribute``, called in the subject's process; of ONNX a file.
        arguments, options: what the factory is called with: plain Python values.
        settings: what the methods below have set.
    Raises: ConfigError for an unknown kind, a factory without a colon, an argument that is no plain value.
    """

    kind: str
    factory: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"The kind of a subject must be one of {', '.join(KINDS)}, got {self.kind!r}.")
        if self.kind != "onnx" and not re.fullmatch(r"[^:]+:[\w.]+", self.factory):
            raise ConfigError(f"A factory must be 'module:attribute' or 'path/to/file.py:attribute', got {self.factory!r}.")
        for value in (self.arguments, dict(self.options), dict(self.settings)):
            _require_literal(value, self.factory)

    def _set(self, **settings: Any) -> Subject:
        return replace(self, settings={**self.settings, **settings})

    def on(self, backend: str) -> Subject:
        """Compute Keras by one of its backends: ``tensorflow`` (the default), ``jax`` or ``torch``."""
        if self.kind != "keras" or backend not in KERAS_BACKENDS:
            raise ConfigError(f"on() must be given one of {', '.join(KERAS_BACKENDS)}, for Keras alone, got {backend!r}.")
        return self._set(on=backend)

    def compiled(self) -> Subject:
        """Compile what it computes by its framework's compiler."""
        return self._set(compiled=True)

    def device(self, name: str) -> Subject:
        """Compute on a device, as the framework names it; the default is the processor."""
        return self._set(device=name)

    def dtype(self, name: str) -> Subject:
        """Compute its float32 runs in another format, such as ``bfloat16``."""
        if name not in DTYPES:
            raise ConfigError(f"The dtype of a subject must be one of {', '.join(DTYPES)}, got {name!r}.")
        return self._set(dtype=name)

    def quantized(self, kind: str = INT8) -> Subject:
        """Compute its float32 runs with linear layers in whole numbers of eight bits, as torch's dynamic quantisation does.

        Raises: ConfigError for another kind, or another framework than torch.
        """
        if self.kind != "torch" or kind != INT8:
            raise ConfigError(f"quantized() must be given {INT8!r}, for torch alone, got {kind!r} for {self.kind}.")
        return self._set(dtype=INT8)

    def python(self, label: str, path: str) -> Subject:
        """Compute in another interpreter, which holds this package too; ``label`` is what the report calls it."""
        return self._set(label=label, python=path)

    def calling(self, *names: str, **keywords: Any) -> Subject:
        """Say how it is called: ``calling("x", "x", mask="lens", training=False)``.

        Args:
            names: of inputs, positional. Without a call of this method inputs go to the arguments that have their names, and
                where one has none, all in their order.
            keywords: a text that names an input is that input, everything else stands for itself.
        """
        return self._set(call=[list(names), dict(keywords)])

    def method(self, name: str) -> Subject:
        """Call a method of that name in place of the object itself."""
        return self._set(method=name)

    def output(self, *path: str | int) -> Subject:
        """Keep one part of what it returns: ``output(0)``, ``output("last_hidden_state")``."""
        return self._set(output=list(path))

    def training(self) -> Subject:
        """Leave it in training mode; as a rule it evaluates."""
        return self._set(training=True)

    @property
    def label(self) -> str:
        return str(self.settings.get("label", self.kind))

    def __str__(self) -> str:
        given = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.options.items())]
        also = {"on": " on {}", "compiled": " compiled", "device": " on {}", "dtype": " in {}", "training": " in training"}
        words = "".join(text.format(self.settings[name]) for name, text in also.items() if name in self.settings)
        return f"{self.label} {self.factory}{'(' + ', '.join(given) + ')' if given else ''}{words}"

    def require(self) -> None:
        """Refuse, with ConfigError and the command that installs it, a framework that is not here."""
        packages, extra = KINDS[self.kind]
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing and "python" not in self.settings:
            raise ConfigError(
                f"{self} needs {', '.join(missing)}, which is not installed. Install it with: {install_command(extra)}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON: values are written as Python's literals, since JSON has no tuples."""
        values = {name: repr(value) for name, value in (("arguments", self.arguments), ("options", dict(self.options)))}
        return {"kind": self.kind, "factory": self.factory, **values, "settings": repr(dict(self.settings))}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Subject:
        """Make what ``to_dict`` has written; nothing in it is executed. Raises ConfigError for other JSON."""
        try:
            values = {name: ast.literal_eval(content[name]) for name in ("arguments", "options", "settings")}
            return cls(str(content["kind"]), str(content["factory"]), tuple(values["arguments"]), *list(values.values())[1:])
        except (KeyError, TypeError, ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise ConfigError(f"A subject must be what Subject.to_dict returns, got {content!r:.200}: {error}.") from None


def _require_literal(value: Any, factory: str) -> None:
    try:
        if ast.literal_eval(repr(value)) == value:
            return
    except (ValueError, SyntaxError):
        pass
    raise ConfigError(
        f"What {factory} is called with must be plain Python values (numbers, text, True, None, lists, tuples, dictionaries), "
        f"which another process can be sent, got {value!r:.200}. Make anything else inside a factory of your own."
    )


def search_path() -> list[str]:
    """Return where this process finds modules that belong to no interpreter: a subject's process looks there too."""
    roots = [str(Path(prefix).resolve()) for prefix in {sys.prefix, sys.base_prefix}]
    entries = [str(Path(entry or ".").resolve()) for entry in (*sys.path, ".")]
    return list(dict.fromkeys(entry for entry in entries if not any(Path(entry).is_relative_to(root) for root in roots)))


def kept_programs(subject: Subject) -> str | None:
    """Return the folder where JAX finds the programs that earlier processes compiled: without it a check takes twice as long.

    Code that is not trusted could leave others there, which would run later: a confined subject has none.
    """
    by_jax = subject.kind in ("flax", "linen") or subject.settings.get("on") == "jax"
    folder = compilation_cache("jax") if by_jax and "confined" not in subject.settings else None
    return None if folder is None else str(folder)


def _named(kind: str) -> Any:
    def make(factory: str, *arguments: Any, **options: Any) -> Subject:
        where, _, attribute = factory.rpartition(":")
        if where.endswith(".py"):  # the process starts in another folder
            factory = f"{Path(where).resolve()}:{attribute}"
        return Subject(kind, factory, arguments, options)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"Return a subject written in {kind}: the factory by name, and its arguments, which are plain values."
    return make


numpy, torch, flax, linen, keras, paddle, gluon = map(_named, ("numpy", "torch", "flax", "linen", "keras", "paddle", "gluon"))


def onnx(file: str | Path) -> Subject:
    """Return a subject in an ONNX file, which ONNX Runtime computes in the file's own dtypes, without gradients."""
    return Subject("onnx", str(Path(file).resolve()))


def function(name: str, of: str = "numpy", **options: Any) -> Subject:
    """Return a subject that is a function ``module:attribute`` of arrays of the framework ``of``, with keywords bound to it.

    It has no weights.
    """
    subject: Subject = _named(of)(name, **options)
    return replace(subject, settings={**subject.settings, "function": True})
