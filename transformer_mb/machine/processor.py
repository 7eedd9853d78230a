"""The processor's abilities, and what the matrix libraries of NumPy and of Paddle have to know of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "OPENBLAS_CORETYPE"
# OpenBLAS 0.3.23, which NumPy 1.26 brings, takes a processor that is younger than itself for one of 2004: a product of matrices
# then needs five times as long (57 GFLOP/s for 297 on an Emerald Rapids). All that have these flags run these kernels.
AVX512, KERNELS = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "SkylakeX"
# The MKL of 2019 in Paddle's wheels multiplies as on a processor of 2004 where Intel is not the maker: on an EPYC 9004 with 34
# GFLOP/s for 91 of one core. The number says which kernels it is to run; an MKL from 2020 on ignores it.
MKL_VARIABLE, MKL_AVX512, MKL_AVX2 = "MKL_DEBUG_CPU_TYPE", "7", "5"
OTHER_MAKERS = ("AuthenticAMD", "HygonGenuine")

# Instructions that multiply numbers of two bytes, as Linux names them; without them they are widened first, which costs time.
BFLOAT16, FLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}, {"avx512_fp16", "amx_fp16", "asimdhp"}
MULTIPLIES = {"bf16": BFLOAT16, "bfloat16": BFLOAT16, "float16": FLOAT16}

# What its rounding depends on, beside the model.
TELLING = {"avx", "avx2", "fma", "asimd", "sve", *AVX512, "avx512_vnni", "avx_vnni", "amx_int8", *BFLOAT16, *FLOAT16}

DESCRIPTION = Path("/proc/cpuinfo")


def described(description: Path = DESCRIPTION) -> dict[str, str]:
    """The ``model`` and the ``instructions`` that its rounding depends on; empty texts where the system does not say."""
    known = sorted(TELLING & set(flags(description).split()))
    return {"model": _line(description, "model name").partition(":")[2].strip(), "instructions": " ".join(known)}


def flags(description: Path = DESCRIPTION) -> str:
    """The line that lists the processor's instructions; empty where there is none, or the system is not Linux."""
    return _line(description, "flags", "features")


def _line(description: Path, *names: str) -> str:
    try:
        lines = description.read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.lower().startswith(names)), "")


def is_of_another_maker(description: Path = DESCRIPTION) -> bool:
    """Tell whether Intel, for whose processors MKL is written, is not the maker; False where that is unknown."""
    return _line(description, "vendor_id").endswith(OTHER_MAKERS)


def tell_openblas(description: Path = DESCRIPTION) -> None:
    """Name the kernels, in this process and those that it starts; of no use once NumPy is imported, and a user's word stays."""
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    if set(flags(description).split()) >= AVX512:
        os.environ[VARIABLE] = KERNELS


def tell_mkl(description: Path = DESCRIPTION) -> None:
    """Name the kernels, as above; of no use once Paddle has multiplied."""
    if MKL_VARIABLE in os.environ or not is_of_another_maker(description):
        return
    known = set(flags(description).split())
    if known >= {"avx2", "fma"}:
        os.environ[MKL_VARIABLE] = MKL_AVX512 if known >= AVX512 else MKL_AVX2


def slowed_down(*formats: str, description: Path = DESCRIPTION) -> str | None:
    """Warn who asks for products in one of these formats on this processor; None where it has instructions for them.

    Nothing is measured, and nothing is said where the system lists no instructions. Nor of int8, which has its own only to be
    faster still: with AVX2 alone PyTorch decoded one sentence of base size 2.7 times as fast as in float32, 32 of them 1.4
    times; in bfloat16 without instructions 1.5 and 0.3 times.
    """
    known = set(flags(description).split())
    for name in formats:
        if known and name in MULTIPLIES and not known & MULTIPLIES[name]:
            missing = ", ".join(sorted(MULTIPLIES[name]))
            return f"{name} may take longer than float32 here, most of all in batches: {description} lists none of {missing}"
    return None


def cores() -> int:
    """Count the cores among the processors that this process may use: as many threads as arithmetic is worth."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    try:
        return len({Path(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list").read_text() for i in allowed})
    except OSError:
        return len(allowed)
