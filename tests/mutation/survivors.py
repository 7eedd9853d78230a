"""Mistakes that no cell sees, each with what would see it. A line here is a hole that is known."""

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {}
SURVIVORS = {key: reason for reason, keys in REASONS.items() for key in keys}
