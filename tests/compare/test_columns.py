"""The compare commands take backends by one option; what each took before is taken still."""

import pytest

from transformer_mb.cli.main import main

ONE = "compare versions must be given at least two columns of one framework, got numpy"


@pytest.mark.parametrize("call", ["numpy", "--backends numpy", "--backend numpy"])
def test_each_takes_the_option_and_what_it_took_before(call, capsys):
    """Far enough to say what is wrong with one column, or with a name."""
    if "--backend " not in call:
        assert main(["compare", "versions", *call.split()]) == 2
        assert ONE in capsys.readouterr().err
    if call != "numpy":
        assert main(["compare", "effects", *call.split(), "--only", "none"]) == 2
        assert "--only must match the name of one of these effects" in capsys.readouterr().err


def test_columns_of_versions_come_by_options_too(capsys, tmp_path):
    call = ["compare", "versions", "--backends", "numpy", "--python", f"numpy@old={tmp_path / 'none'}", "--only", "none"]
    assert main(call) == 2
    assert "--only must match the name of a probe" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["behaviours", "effects", "runs", "versions"])
def test_a_backend_that_is_none_is_refused_by_each(command, capsys):
    assert main(["compare", command, "--backends", "nonesuch", *(["--seeds", "8"] if command == "effects" else [])]) != 0
    assert "nonesuch" in capsys.readouterr().err
