"""Float64 for a while, by whichever name this JAX has for it."""

from __future__ import annotations

import jax
import jax.experimental

# jax.experimental has none in 0.10, jax itself none in 0.7.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
