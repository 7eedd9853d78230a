"""Mistakes that are none: the changed program computes the same, or nothing that anybody is promised is another.

By what ``Mutant.key`` says: file, function, and the line before and after.
"""

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {}
EQUIVALENT = {key: reason for reason, keys in REASONS.items() for key in keys}
