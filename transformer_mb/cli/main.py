"""The entry point: the commands, and what happens to their errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ..machine.processor import tell_openblas
from .arguments import Command
from .commands import (
    average,
    backends,
    check,
    compare,
    demo,
    evaluate,
    generate,
    inspect,
    new_backend,
    parity,
    port,
    presets,
    report,
    score,
    tokenizer,
    train,
    translate,
)
from .framework_messages import without_framework_messages
from .options import option, with_values
from .reporting import Debugging, guarded, leave_quietly, open_standard_streams, told
from .standard_output import named_output

app = typer.Typer(
    help="One Transformer, natively in several frameworks, measured to be the same mathematics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
ALONE = (backends, presets, demo, train, average, translate, score, generate, evaluate, parity, port, inspect)
for module in (*ALONE, check, report, new_backend):
    # The workers of parity keep what they say, and what ssh says of its own is for the user.
    run = module.command if module is parity else without_framework_messages(module.command)
    app.command(module.NAME, cls=train.TrainCommand if module is train else Command)(guarded(run))
for group in (compare, tokenizer):
    app.add_typer(group.app, name=group.NAME)


def _show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"transformer_mb {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, option("--debug", "Show the traceback of an error, and what frameworks say.")] = False,
    version: Annotated[bool, option("--version", "Print the version.", callback=_show_version, is_eager=True)] = False,
) -> None:
    Debugging.on = debug


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status: 0 done, 1 something is wrong with what was examined (a cell failed, a
    loss is no number, a proof does not hold) or with this program, 2 a wrong call or unusable input, 130 Ctrl-C."""
    tell_openblas()
    try:
        guarded(open_standard_streams)()
        arguments = sys.argv[1:] if arguments is None else arguments
        with named_output():
            app(args=with_values(arguments), prog_name="transformer-mb", obj={"arguments": arguments})
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return leave_quietly(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
    except OSError as error:  # of --help and --version, which are no commands
        if Debugging.on:
            raise
        return told(error)
    return leave_quietly(0)
