"""A function of the tests in a process of its own: a framework takes its process for itself."""

import importlib
import json
import os
from pathlib import Path

from transformer_mb.columns.one_shot import call

TESTS = Path(__file__).parent


def elsewhere(function, arrays=None, *, timeout=500.0, environment=None, **given):
    """Return the arrays and facts of ``module:function``, called with ``arrays``, if there are any, and what is given by name.

    Paths arrive as texts. A function that returns nothing has written files.
    """
    path = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    facts = json.loads(json.dumps({"function": function, **given}, default=str))
    environment = {"PYTHONPATH": os.pathsep.join(path), **(environment or {})}
    return call("elsewhere:answer", arrays or {}, facts, name=function, environment=environment, timeout=timeout)


def answer(arrays, facts):
    """Call the named function, in the new process, and return its arrays and facts."""
    module, name = facts.pop("function").split(":")
    function = getattr(importlib.import_module(module), name)
    return (function(arrays, **facts) if arrays else function(**facts)) or ({}, {})


def under(arrays, name):
    """Return the arrays named ``NAME/KEY``, by key."""
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def flat(trees):
    """The reverse: dictionaries of arrays by name, as one."""
    return {f"{name}/{key}": array for name, arrays in trees.items() for key, array in arrays.items()}
