"""What OpenBLAS and MKL are told of a processor that they may not know; what is in the environment already stays."""

import os
import subprocess
import sys

import pytest

from transformer_mb.machine.processor import described, is_of_another_maker, slowed_down

TELL = """
import sys
from pathlib import Path
from transformer_mb.machine.processor import tell_mkl, tell_openblas
tell_mkl(Path(sys.argv[1]))
tell_openblas(Path(sys.argv[1]))
import os
print(os.environ.get("OPENBLAS_CORETYPE"), os.environ.get("MKL_DEBUG_CPU_TYPE"))
"""
VARIABLES = ("OPENBLAS_CORETYPE", "MKL_DEBUG_CPU_TYPE")
KNOWN = "processor : 0\nflags\t\t: fpu avx2 avx512f avx512dq avx512cd avx512bw avx512vl\nbugs : none\n"
AMD = f"vendor_id\t: AuthenticAMD\n{KNOWN}".replace("fpu", "fpu fma")


def told(program, path, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**kept, **environment})
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("description", "environment", "expected"),
    [
        (KNOWN, {}, "SkylakeX None"),
        (KNOWN, {"OPENBLAS_CORETYPE": "Haswell"}, "Haswell None"),
        (KNOWN.replace(" avx512bw", ""), {}, "None None"),
        (AMD, {}, "SkylakeX 7"),
        (AMD, {"MKL_DEBUG_CPU_TYPE": "4"}, "SkylakeX 4"),
        (AMD.replace(" avx512bw", ""), {}, "None 5"),
        (AMD.replace(" avx2", ""), {}, "SkylakeX None"),
        (AMD.replace("AMD", "Intel"), {}, "SkylakeX None"),
        ("no flags at all", {}, "None None"),
        (None, {}, "None None"),
    ],
)
def test_the_kernels_are_named_where_the_processor_has_them(tmp_path, description, environment, expected):
    path = tmp_path / "cpuinfo"
    if description is not None:
        path.write_text(description)
    assert told(TELL, path, **environment) == expected


def test_what_a_run_says_of_its_processor(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(f"model name\t: A 9 CPU @ 2.0GHz\n{KNOWN}")
    assert described(path) == {
        "model": "A 9 CPU @ 2.0GHz",
        "instructions": "avx2 avx512bw avx512cd avx512dq avx512f avx512vl",
    }
    assert described(tmp_path / "none") == {"model": "", "instructions": ""}


def test_it_is_too_late_once_numpy_is_imported(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(KNOWN)
    assert told(f"import numpy\n{TELL}", path) == "None None"


@pytest.mark.parametrize(
    ("maker", "another"), [("AuthenticAMD", True), ("HygonGenuine", True), ("GenuineIntel", False), (None, False)]
)
def test_who_made_the_processor(tmp_path, maker, another):
    path = tmp_path / "cpuinfo"
    if maker is not None:
        path.write_text(f"processor : 0\nvendor_id\t: {maker}\n{KNOWN}")
    assert is_of_another_maker(path) == another


ZEN3, GENOA, SAPPHIRE = "fpu avx2 fma f16c", "fpu avx2 avx512f avx512_bf16", "fpu avx512f avx512_bf16 amx_bf16 avx512_fp16"


@pytest.mark.parametrize(
    ("flags", "formats", "told"),
    [
        (ZEN3, ("bf16", "float32"), "bf16"),
        (ZEN3, ("full", "bfloat16"), "bfloat16"),
        (ZEN3, ("full", "float32"), None),
        (ZEN3, ("full", "float64"), None),
        (GENOA, ("bf16", "float32"), None),
        (GENOA, ("full", "float16"), "float16"),
        (SAPPHIRE, ("bf16", "float16"), None),
        ("", ("bf16", "float32"), None),
    ],
)
def test_who_asks_for_a_format_that_the_processor_does_not_multiply_is_told(flags, formats, told, tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor : 0\nflags\t\t: {flags}\n" if flags else "processor : 0\n")
    expected = (
        told and f"this processor has no instructions for products in {told}: they take no less time than those in float32"
    )
    assert slowed_down(*formats, description=path) == expected
