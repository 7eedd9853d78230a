"""The names that people's wrappers around a torch model put before those of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

WRAPPERS = ("module.", "_orig_mod.")  # of DataParallel and of torch.compile, in whatever order they were put around it
Value = TypeVar("Value")


def without_wrappers(named: Mapping[str, Value]) -> dict[str, Value]:
    """The same under the model's own names."""
    values = dict(named)
    while values and (prefix := next((one for one in WRAPPERS if all(name.startswith(one) for name in values)), None)):
        values = {name.removeprefix(prefix): value for name, value in values.items()}
    return values
