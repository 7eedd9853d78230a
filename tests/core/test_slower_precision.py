"""Who decodes in a precision that takes longer here than float32 is told so in a line, with how that is known."""

from types import SimpleNamespace

import pytest

from transformer_mb.cli.decoding_options import tell_slower

ZEN3, GENOA = "fpu avx2 fma f16c", "fpu avx2 avx512f avx512_bf16"


@pytest.mark.parametrize(
    ("listed", "device", "dtype", "imitates", "said"),
    [
        (
            ZEN3,
            None,
            "bfloat16",
            False,
            "Note: bfloat16 may take longer than float32 here, most of all in batches: /proc/cpuinfo",
        ),
        (GENOA, None, "bfloat16", False, ""),
        (ZEN3, "H200", "bfloat16", False, ""),
        (ZEN3, None, "float32", True, ""),
        (ZEN3, None, "int8", False, ""),
        (GENOA, None, "int8", True, "Note: fake imitates int8 in floats, which takes longer than float32; torch multiplies"),
    ],
)
def test_who_decodes_in_a_precision_that_is_slower_here_is_told_in_a_line(
    listed, device, dtype, imitates, said, monkeypatch, capsys
):
    monkeypatch.setattr("transformer_mb.machine.processor.flags", lambda description: f"flags : {listed}")
    tell_slower(SimpleNamespace(name="fake", hardware=device, imitates_int8=imitates), dtype)
    told = capsys.readouterr().err
    assert told.startswith(said) and told.count("\n") == bool(said)
