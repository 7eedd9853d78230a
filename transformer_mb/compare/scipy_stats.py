"""scipy, which intervals and tests need, and which is not in the light install."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from ..extras import install_command


def stats() -> Any:
    """scipy.stats. Raises ConfigError with the line that installs it."""
    try:
        import scipy.stats
    except ImportError:
        raise ConfigError(
            f"Intervals and tests need scipy, which is not installed. Install it with: {install_command('parity')}."
        ) from None
    return scipy.stats
