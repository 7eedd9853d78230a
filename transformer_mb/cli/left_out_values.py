"""Options whose value may be left out, which Typer does not know."""

from __future__ import annotations

from collections.abc import Sequence

ALONE = "yes"  # the value of an option that stands alone
VALUES = {"--resume": ("auto",)}


def with_values(arguments: Sequence[str]) -> list[str]:
    """``--resume`` becomes ``--resume=yes`` where none of its values follows."""
    following = [*arguments, ""][1:]
    return [
        f"{one}={ALONE}" if one in VALUES and after not in VALUES[one] else one
        for one, after in zip(arguments, following, strict=True)
    ]
