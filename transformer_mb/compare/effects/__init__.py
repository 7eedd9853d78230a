"""What a framework's other default does to a small model: logits moved, and the loss after 100 steps."""

from __future__ import annotations

from .measuring import Study, effects
from .switches import EFFECTS, Effect

__all__ = ["EFFECTS", "Effect", "Study", "effects"]
