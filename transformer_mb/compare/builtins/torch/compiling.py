"""torch.compile, which is not run: it takes too long."""

from __future__ import annotations

from ..calls import Table
from .arrays import called

SLOW = "torch.compile builds with a C++ compiler, which takes the better part of a minute and is not measured here."

TABLES: dict[str, Table] = {
    "compilation": called(
        through_bfloat16=lambda X: X.bfloat16().float(),
        through_bfloat16_compiled=SLOW,
        sum_less_first=SLOW,
        logarithm_of_power=SLOW,
        multiply_add=SLOW,
        third=SLOW,
        runs=SLOW,
    ),
}
