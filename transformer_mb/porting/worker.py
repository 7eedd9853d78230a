"""Foreign code in a process of its own: two frameworks in one process can crash, and a loader that crashes ends only itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..columns import one_shot
from ..columns.environment import SETTINGS
from ..columns.messages import Arrays, Message
from ..errors import PortError, WorkerError

ENVIRONMENT = {**SETTINGS, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "JAX_PLATFORMS": "cpu"}


def call(runner: str, arrays: Arrays, settings: Mapping[str, Any]) -> Message:
    """Run ``module:function`` of ``transformer_mb.porting`` on arrays and JSON-like settings; returns its arrays and facts.

    Raises PortError: what the runner raised, or how its process ended; OSError: what the system refused it, in whose name only
    the caller knows.
    """
    function = f"{__package__}.{runner}"
    try:
        return one_shot.call(function, arrays, settings, name=runner, environment=ENVIRONMENT)
    except WorkerError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise PortError(str(error)) from None
