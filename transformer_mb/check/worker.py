"""The process of one subject: it is built here once per dtype, and answers with arrays."""

from __future__ import annotations

import inspect
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

import numpy as np

from ..columns.messages import pack_arrays, unpack_arrays
from ..machine.out_of_memory import without_memory
from ..random_streams import stream
from . import nesting
from .adapters import adapter_of
from .adapters.adapter import Adapter, Call
from .blame import place_of
from .dropping import Masks
from .optimizers import Optimizer
from .subjects import Subject
from .taps import NUMBERS, Exchanged, InEightBits, Recorded, Shifted, Site

Answer = tuple[str, bytes]  # a JSON text and arrays
Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]
# JAX computes without a compiled whole, and compiles each small operation by itself.
KEEPS_PROGRAMS = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3"}


def begin(
    subject: Mapping[str, Any], search: list[str], programs: str | None = None
) -> tuple[list[Answer], Callable[[Answer], Answer]]:
    """Begin as the process: import the framework, say its version, and answer requests from then on."""
    os.environ.update(ENVIRONMENT)
    if programs is not None:
        os.environ.update({**KEEPS_PROGRAMS, "JAX_COMPILATION_CACHE_DIR": programs})
    sys.path += [entry for entry in search if entry not in sys.path]
    built = _Built(Subject.from_dict(subject))
    greeting = {
        "version": built.kind.version(),
        "dtypes": list(built.kind.offered(built.subject)),
        "gradients": built.kind.differentiates,
        "python": sys.version.split()[0],
        "machine": platform.machine(),
    }
    return [(json.dumps(greeting), b"")], built.answer


class _Built:
    """A subject in each dtype that it was asked in."""

    def __init__(self, subject: Subject):
        if subject.kind == "keras":
            os.environ["KERAS_BACKEND"] = str(subject.settings.get("on", "tensorflow"))
        self.subject, self.kind = subject, adapter_of(subject.kind)
        self.adapters: dict[str, Adapter] = {}
        self.returned: dict[str, dict[str, Any]] = {}  # outputs of the call before in each dtype
        self.masks: Masks | None = None  # of the request's runs, where dropout has the same on both sides

    def answer(self, request: Answer) -> Answer:
        """Answer ``[what, facts]`` with facts; what goes wrong is a fact too."""
        try:
            what, facts, names = json.loads(request[0])
            self.masks = None if facts.get("dropout") is None else Masks(facts["dropout"])
            sent = unpack_arrays(request[1])  # which come in any order
            given, arrays = ANSWERS[what](self, facts, {name: sent[name] for name in names})
            return json.dumps([given, list(arrays)]), pack_arrays(arrays)
        except Exception as error:  # whatever the subject or its framework raises, in one line
            traceback.print_exc()  # into the process's file
            words = " ".join((without_memory(error) or str(error)).split())
            place = place_of(error, self.subject.factory)
            return json.dumps([{"error": f"{type(error).__name__}{f' {place}' if place else ''}: {words}"}, []]), b""

    def adapter(self, dtype: str, arrays: Arrays) -> Adapter:
        if dtype not in self.adapters:
            inputs = _under("input", arrays)
            self.adapters[dtype] = self.kind(
                self.subject, dtype, lambda adapter: self.called(adapter, _native(adapter, inputs))
            )
        adapter = self.adapters[dtype]
        if weights := _under("weight", arrays):
            adapter.set_weights(weights)
        return adapter

    def called(self, adapter: Adapter, inputs: Mapping[str, Any]) -> Call:
        """Return the call as the subject says, else by the names of the arguments, or with all inputs in their order."""
        if "call" not in self.subject.settings:
            return _by_name(inputs, adapter.parameters())
        names, keywords = self.subject.settings["call"]
        arguments = names or [name for name in inputs if name not in keywords.values()]
        given = {name: inputs.get(value, value) if isinstance(value, str) else value for name, value in keywords.items()}
        return Call(tuple(inputs[name] for name in arguments), given)

    def _run(self, adapter: Adapter, inputs: Mapping[str, Any], tap: Any = None) -> Any:
        """Compute; the whole is a module too, whose path is empty."""
        call = self.called(adapter, inputs)
        if tap is not None:
            call = Call(*tap.enter("", *call))
        if self.masks is None:
            output = adapter.call(call, tap)
        else:
            self.masks.places.clear()
            with adapter.dropping(self.masks.mask):
                output = adapter.call(call, tap)
        if tap is not None:
            output = tap.leave("", output)
        return nesting.part(output, self.subject.settings.get("output", []))

    def build(self, facts: Facts, arrays: Arrays) -> tuple[Facts, Arrays]:
        """Return all weights as they were made, and the paths of the modules."""
        adapter = self.adapter(facts["dtype"], arrays)
        return {"modules": adapter.modules()}, adapter.weights()

    def run(self, facts: Facts, arrays: Arrays) -> tuple[Facts, Arrays]:
        """Return the outputs, and the gradients of their products with cotangents that the seed draws."""
        adapter = self.adapter(facts["dtype"], arrays)
        inputs = _native(adapter, _under("input", arrays))
        before, weights = {name: adapter.numpy(value) for name, value in inputs.items()}, adapter.weights()
        # After the weights were set: an output may be one of them.
        earlier = {path: (value, adapter.numpy(value)) for path, value in self.returned.get(facts["dtype"], {}).items()}
        tap = InEightBits(adapter) if facts.get("eight_bits") else None
        outputs = dict(nesting.leaves(self._run(adapter, inputs, tap)))
        native = {path: value for path, value in outputs.items() if adapter.numpy(value) is not None}
        answer = {f"output.{path}": _array(adapter, value) for path, value in native.items()}
        overwritten = [path for path, (value, copy) in earlier.items() if not _same(copy, adapter.numpy(value))]
        self.returned[facts["dtype"]] = native
        facts_of = {
            "overwritten": overwritten,
            "dtypes": {path: adapter.dtype_of(value) for path, value in native.items()},
            "dropped": list(self.masks.places) if self.masks is not None else [],
            "changed": [name for name, value in before.items() if not _same(value, adapter.numpy(inputs[name]))],
            "moved": [name for name, value in adapter.weights().items() if not _same(value, weights[name])],
        }
        if facts["gradients"] and adapter.differentiates:
            answer |= self._gradients(adapter, inputs, facts["seed"])
        return facts_of, answer

    def _gradients(self, adapter: Adapter, inputs: Mapping[str, Any], seed: int) -> Arrays:
        names = [name for name, value in inputs.items() if adapter.is_float(value)]
        paths: list[str] = []

        def function(leaves: list[Any]) -> list[Any]:
            output = self._run(adapter, {**inputs, **dict(zip(names, leaves, strict=True))})
            floats = {path: value for path, value in nesting.leaves(output) if adapter.is_float(value)}
            paths[:] = floats
            return list(floats.values())

        def cotangents(outputs: list[Any]) -> list[Any]:
            return [adapter.array(cotangent(seed, path, value.shape)) for path, value in zip(paths, outputs, strict=True)]

        found = adapter.differentiate(function, [inputs[name] for name in names], cotangents)
        by_input = {f"of input.{name}": value for name, value in zip(names, found.leaves, strict=True)}
        by_weight = {f"of weight.{name}": value for name, value in found.weights.items()}
        gradients = {name: value for name, value in (by_input | by_weight).items() if value is not None}
        return {name: _array(adapter, value) for name, value in gradients.items()}

    def record(self, facts: Facts, arrays: Arrays) -> tuple[Facts, Arrays]:
        """Return what passes at each site, and the gradients there."""
        adapter = self.adapter(facts["dtype"], arrays)
        inputs = _native(adapter, _under("input", arrays))
        self._run(adapter, inputs, tap := Recorded(adapter))
        values = {site: _array(adapter, value) for site, value in tap.values.items()}
        answer = {f"value.{number}": value for number, value in enumerate(values.values())}
        if facts["gradients"] and adapter.differentiates:
            shifted = {n: site for n, site in enumerate(values) if site.way != NUMBERS}
            zeros = [adapter.array(np.zeros(values[site].shape)) for site in shifted.values()]

            def function(leaves: list[Any]) -> list[Any]:
                output = self._run(adapter, inputs, Shifted(adapter, dict(zip(shifted.values(), leaves, strict=True))))
                floats = {path: value for path, value in nesting.leaves(output) if adapter.is_float(value)}
                paths[:] = floats
                return list(floats.values())

            def cotangents(outputs: list[Any]) -> list[Any]:
                pairs = zip(paths, outputs, strict=True)
                return [adapter.array(cotangent(facts["seed"], path, value.shape)) for path, value in pairs]

            paths: list[str] = []
            found = adapter.differentiate(function, zeros, cotangents).leaves
            by_number = zip(shifted, found, strict=True)
            answer |= {f"gradient.{n}": _array(adapter, one) for n, one in by_number if one is not None}
        return {"sites": list(values)}, answer

    def exchange(self, facts: Facts, arrays: Arrays) -> tuple[Facts, Arrays]:
        """Return what each module computes by itself where it is fed, and followed by, what is given at its sites.

        Its gradients too: of the sum of what it computes times the cotangents that are given.
        """
        adapter = self.adapter(facts["dtype"], arrays)
        inputs = _native(adapter, _under("input", arrays))
        sites = [Site(*site) for site in facts["sites"]]
        given = [adapter.array(arrays[f"value.{number}"]) for number in range(len(sites))]
        ends = {site: arrays[name] for n, site in enumerate(sites) if (name := f"cotangent.{n}") in arrays}
        every = dict(zip(sites, given, strict=True))
        self._run(adapter, inputs, tap := Exchanged(adapter, every))
        answer = {f"own.{n}": _array(adapter, tap.own[site]) for n, site in enumerate(sites) if site in tap.own}
        if not ends or not adapter.differentiates:
            return {}, answer
        fed = {n: site for n, site in enumerate(sites) if site.way != NUMBERS}

        def function(leaves: list[Any]) -> list[Any]:
            tap = Exchanged(adapter, every | dict(zip(fed.values(), leaves, strict=True)))
            self._run(adapter, inputs, tap)
            return [tap.own[site] for site in ends]

        leaves = [every[site] for site in fed.values()]
        found = adapter.differentiate(function, leaves, lambda outputs: [adapter.array(value) for value in ends.values()])
        by_number = zip(fed, found.leaves, strict=True)
        answer |= {f"gradient.{n}": _array(adapter, one) for n, one in by_number if one is not None}
        answer |= {f"of weight.{n}": _array(adapter, one) for n, one in found.weights.items() if one is not None}
        return {}, answer

    def steps(self, facts: Facts, arrays: Arrays) -> tuple[Facts, Arrays]:
        """Return the weights after so many steps of an optimizer from the gradients that are given for each."""
        adapter = self.adapter(facts["dtype"], arrays)
        given = [_under(f"gradient.{number}", arrays) for number in range(max(facts["after"]))]
        answer: Arrays = {}
        for number, weights in enumerate(adapter.steps(Optimizer(**facts["optimizer"]), given), 1):
            if number in facts["after"]:
                answer |= {f"after.{number}.{name}": value for name, value in weights.items()}
        return {}, answer


ANSWERS = {one.__name__: one for one in (_Built.build, _Built.run, _Built.record, _Built.exchange, _Built.steps)}


def cotangent(seed: int, path: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return what an output is multiplied with, the same in every process."""
    drawn = stream("cotangent", seed, path).standard_normal(tuple(shape))
    return np.asarray(drawn, np.float32).astype(np.float64)


def _by_name(inputs: Mapping[str, Any], parameters: list[inspect.Parameter]) -> Call:
    """Return the call by name, as far as possible in places; by order where an input has no argument of its name."""
    names = {one.name: one.kind for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    if not set(inputs) <= set(names):
        return Call(tuple(inputs.values()), {})
    in_places = [name for name, kind in names.items() if kind is not inspect.Parameter.KEYWORD_ONLY]
    leading = list(takewhile(lambda name: name in inputs, in_places))
    return Call(tuple(inputs[name] for name in leading), {name: inputs[name] for name in inputs if name not in leading})


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}


def _native(adapter: Adapter, inputs: Arrays) -> dict[str, Any]:
    return {name: adapter.array(value) for name, value in inputs.items()}


def _array(adapter: Adapter, value: Any) -> np.ndarray:
    array = adapter.numpy(value)
    assert array is not None
    return array


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is None or other is None or bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
