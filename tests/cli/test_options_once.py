"""Options given twice, and fields of a file asked for as options."""

import pytest
from typer.main import get_command

from transformer_mb.cli.main import app
from transformer_mb.training_options import DECODING, MODEL, TRAINING


def commands(group, *path):
    for name, one in group.commands.items():
        yield from commands(one, *path, name) if hasattr(one, "commands") else [((*path, name), one)]


COMMANDS = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_option_with_one_value_is_given_twice(cli, path):
    """The first of two values would be lost without a word."""
    options = [one for one in COMMANDS[path].params if one.param_type_name == "option" and not one.is_flag]
    for option in options:
        outcome = cli(*path, f"{option.opts[0]}=1", f"{option.opts[0]}=2")
        assert outcome.status == 2
        assert (f"{option.opts[0]} must be given once, got it twice." in outcome.err) != option.multiple


def test_two_files_of_pairs_are_refused(cli, data, tmp_path):
    outcome = cli("train", "--data", data, "--data", data, "--out", tmp_path / "model")
    assert outcome.status == 2 and not (tmp_path / "model").exists()
    assert outcome.err.splitlines()[-1] == "Error: --data must be given once, got it twice."


def test_a_flag_without_a_value_may_come_twice(cli):
    assert cli("train", "--force", "--force", "--print-config").status == 0


def test_a_field_that_has_no_option_is_said_to_be_one_of_a_file(cli):
    flags = {option for parameter in COMMANDS["train",].params for option in parameter.opts}
    for table, names in (("[model]", MODEL), ("[training]", TRAINING), ("[decoding]", DECODING)):
        for name in names:
            flag = f"--{name.replace('_', '-')}"
            if flag not in flags:
                words = cli("train", flag, "3").err.splitlines()[-1]
                assert f"No such option: {flag}. {name} is a field of a file: {table} in CONFIG.toml" in words
    assert "is a field of a file" not in cli("translate", "--norm-position", "pre").err
    assert "No such option: --epoch" in cli("train", "--epoch", 3).err
