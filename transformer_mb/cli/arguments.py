"""What every command says of its arguments before it runs."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command whose options are given once each: of two values the first would be lost without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
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
        return super().parse_args(ctx, args)

    def said_elsewhere(self, name: str) -> str:
        """A sentence on where that is said which is no option here; empty where nothing is known of it."""
        return ""


def _takes_one_value(parameter: Any) -> bool:
    if parameter.param_type_name != "option" or parameter.multiple or parameter.count:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)
