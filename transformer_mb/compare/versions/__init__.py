"""Installed versions of one framework beside each other: what their built-ins do, how fast they are, and whether we hold."""

from __future__ import annotations

from .measuring import Comparison, versions

__all__ = ["Comparison", "versions"]
