"""Checks of a command's arguments and words about them, before it runs."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from ..files.regular import is_address

ARGUMENTS, OPTIONS = "Arguments", "Options"


class Command(TyperCommand):
    """A command whose options stand once each: of two values the first would be lost without a word.

    Its paths are called PATH where they have no other word, and an address is refused as one.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        for parameter in filter(_is_path, self.params):
            parameter.metavar = parameter.metavar or "PATH"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        except Exception as error:
            # Of Typer's own click, or of click's, by its version.
            name = str(getattr(error, "option_name", "")) if type(error).__name__ == "NoSuchOption" else ""
            if place := self.said_elsewhere(name.lstrip("-").replace("-", "_")):
                ctx.fail(f"No such option: {name}. {place}")
            raise
        seen = set()
        for parameter in order:
            if parameter in seen and _takes_one_value(parameter):
                ctx.fail(f"{parameter.opts[0]} must be given once, got it twice.")
            seen.add(parameter)
        for parameter in filter(_is_path, self.params):
            value = values.get(str(parameter.name))
            for one in value if isinstance(value, list | tuple) else [value]:
                name = (parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar) or ""
                if one == "":
                    ctx.fail(f"Invalid value for '{name}': a path was expected, got ''.")
                if isinstance(one, str) and is_address(one):
                    ctx.fail(f"{name} must be a path on this machine, got the address {one}.")
        return super().parse_args(ctx, args)

    def panel(self, name: str) -> str:
        """Return the heading in --help under which the parameter of this name stands."""
        return OPTIONS

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by heading; ``--help`` itself comes under the last."""
        panels: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                last = next(reversed(panels), OPTIONS)
                argument, own = parameter.param_type_name == "argument", parameter in self.params
                name = ARGUMENTS if argument else self.panel(str(parameter.name)) if own else last
                panels.setdefault(name, []).append(record)
        for name, records in panels.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def said_elsewhere(self, name: str) -> str:
        """A sentence on where that is said which is no option here; empty where nothing is known of it."""
        return ""


def _is_path(parameter: Any) -> bool:
    return parameter.type.name in ("path", "named_path")


def _takes_one_value(parameter: Any) -> bool:
    if parameter.param_type_name != "option" or parameter.multiple or parameter.count:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)
