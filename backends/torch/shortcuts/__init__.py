"""Ways past the layers that take less time, each held to the layers by ``transformer_mb/conformance/test_shortcuts.py``.

No way goes around a layer that is watched or replaced; that is seen here.
"""

from __future__ import annotations

from torch import nn
from torch.nn.modules import module

# What ``register_module_forward_hook`` and its like fill, for every layer of the process.
OF_ALL_LAYERS = (
    *(module._global_forward_hooks, module._global_forward_pre_hooks),
    *(module._global_backward_hooks, module._global_backward_pre_hooks),
)


def is_watched(layer: nn.Module) -> bool:
    """Tell whether a layer has hooks, or another forward than its class."""
    own = vars(layer)
    forward = "forward" in own or own["_forward_hooks"] or own["_forward_pre_hooks"]
    return bool(forward or own["_backward_hooks"] or own["_backward_pre_hooks"] or any(OF_ALL_LAYERS))
