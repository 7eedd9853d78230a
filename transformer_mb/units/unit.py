"""A unit of work: what is asked for, by a digest of which its file is named, and the process of its own that does it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Protocol

from ..columns.one_shot import call
from ..errors import WorkerError

Answer = dict[str, Any] | WorkerError


class Unit(Protocol):
    """A piece of work, and all that its result depends on.

    Attributes:
        label: what a person calls it. cpus: the most that it can use.
        description: as its file has it, for JSON. name: ``name_of`` that.
        request: what its process is sent: nothing but what JSON holds, so that any node reads it.
    """

    @property
    def label(self) -> str: ...
    @property
    def cpus(self) -> int: ...
    @property
    def description(self) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def request(self) -> dict[str, Any]: ...


def name_of(description: Mapping[str, Any]) -> str:
    """Return the name of a unit's file: a digest of its description."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:20]


def answered_apart(function: str, request: Mapping[str, Any], name: str, environment: Mapping[str, str]) -> Answer:
    """Run ``module:function`` on a request in a process of its own: the facts that it returns, or why there are none.

    That is a KilledError where the process was ended from outside.
    """
    try:
        return call(function, {}, request, name=name, environment=environment, timeout=None)[1]
    except WorkerError as error:
        return error
