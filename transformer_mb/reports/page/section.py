"""A part of the page, as a command hands it over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..record import finite


@dataclass(frozen=True)
class Section:
    """A tab of the page, made of one command's record.

    Attributes:
        kind: the function in ``script/page.js`` that draws it, such as matrix.
        title: of the tab. sentence: what the results come to.
        holds: whether what was judged holds; None where nothing is judged.
        data: JSON for that function. facts: label and text of what a reader must know of the run, such as versions.
    """

    kind: str
    title: str
    sentence: str
    data: Mapping[str, Any]
    holds: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return what the page holds of it, in what JSON has."""
        return finite(asdict(self))
