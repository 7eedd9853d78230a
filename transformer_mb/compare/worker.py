"""The loop of a process that measures one framework."""

from __future__ import annotations

import json
import runpy
from dataclasses import asdict
from typing import Any

from ..registry import load_backend_class
from .measuring import measured


def serve(channel: Any, framework: str, prepare: str | None) -> None:
    """Tell the framework's version, then a fact for every probe that is named, until the channel closes.

    ``prepare`` is ``file.py:function``, called first: tests change a framework's default so.
    """
    # The backend's package too, for what it does before the framework can be imported.
    version = str(load_backend_class(framework).version())
    if prepare is not None:
        file, _, function = prepare.rpartition(":")
        runpy.run_path(file)[function]()
    channel.send(version)
    for name in channel:
        channel.send(json.dumps(asdict(measured(framework, version, name))))
