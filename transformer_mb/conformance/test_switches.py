"""Every switch of the contracts is taken by the backend's layers, or declared lacking and refused in one sentence."""

import pytest

from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import LackingError
from transformer_mb.lacking import untaken


def test_every_switch_is_taken_or_declared_lacking(backend):
    missing = untaken(type(backend))
    assert not missing, f"write these, or name their switches in the backend's `lacks`: {', '.join(missing)}"


def test_what_is_declared_lacking_is_refused_in_one_sentence(backend):
    """Of switches that are on or off, or take one value."""
    for switch in type(backend).lacks:
        field, _, value = switch.partition("=")
        default = getattr(ONE_LAYER, field)
        chosen = value or (not default if isinstance(default, bool) else 1)
        with pytest.raises(LackingError, match=f"^The backend {backend.name} lacks {switch} ") as raised:
            backend.create_empty(changed(ONE_LAYER, field, chosen))
        assert str(raised.value).count("\n") == 0


def changed(config, field, value):
    """A configuration with a field changed, whether or not its other fields allow it."""
    other = config.replace()
    object.__setattr__(other, field, value)
    return other
