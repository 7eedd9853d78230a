"""What a file of weights may say of its own model: fields of a TransformerConfig, and nothing else.

A setting of the user's may name other files, which are opened; a file from somebody else may not.
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import PortError
from .settings import FIELDS


def recorded_fields(text: str | None, where: str) -> dict[str, Any]:
    """The fields in a JSON object, none for None. Raises PortError that names what else there is."""
    if text is None:
        return {}
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise PortError(f"{where} must be a JSON object, but it is not.")
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise PortError(
            f"{where} must hold fields of a TransformerConfig alone, but it has {', '.join(map(repr, unknown)):.200}: refused."
        )
    return fields
