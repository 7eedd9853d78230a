"""``--sample`` and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..sampling import Sampling


def chosen_sampling(sample: bool, beam: int, scores: bool = False, **options: Any) -> Sampling | None:
    """``options`` are those of Sampling, None where left out; raises ConfigError for what does not go together."""
    from ..errors import ConfigError
    from ..sampling import Sampling

    given = {name: value for name, value in options.items() if value is not None}
    if not sample:
        if given:
            named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ConfigError(f"--sample must be given with {named}, got {named} alone.")
        return None
    if beam != 1 or scores:
        raise ConfigError("--sample must be given without --beam, --n-best and --scores, which belong to a search, got both.")
    return Sampling(**given)
