"""What the processor can do, and what NumPy's matrix library has to be told of one that is younger than itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "OPENBLAS_CORETYPE"
# OpenBLAS 0.3.23, which NumPy 1.26 brings, takes a processor that is younger than itself for one of 2004: a product of matrices
# then needs five times as long (57 GFLOP/s for 297 on an Emerald Rapids). All that have these flags run these kernels.
AVX512, KERNELS = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "SkylakeX"


DESCRIPTION = Path("/proc/cpuinfo")


def flags(description: Path = DESCRIPTION) -> str:
    """The line that lists the processor's instructions; empty where there is none, or the system is not Linux."""
    try:
        lines = description.read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.lower().startswith(("flags", "features"))), "")


def tell_openblas(description: Path = DESCRIPTION) -> None:
    """Name the kernels, in this process and those that it starts; of no use once NumPy is imported, and a user's word stays."""
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    if set(flags(description).split()) >= AVX512:
        os.environ[VARIABLE] = KERNELS
