"""The place of a tensor of the reference among the candidate's, as a weight map has it and as Python to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .weight_map import Expression, stack, weight

WIDEST = 80
ALL = ":"
TURNED = ("transpose", (1, 0))
Step = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Entry:
    """Tensors of the candidate, or arrangements of them, joined along an axis and then rearranged.

    It is made like an Expression: ``reshape``, ``transpose`` and ``part`` give another one.

    Args:
        parts: names of the candidate's tensors, or entries. steps: what is done to the whole, in this order.
        constant: the number that fills a tensor without a partner, which has no parts.
    """

    parts: tuple[str | Entry, ...]
    axis: int = 0
    steps: tuple[Step, ...] = ()
    constant: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The candidate's tensors in it, each once."""
        each = [(part,) if isinstance(part, str) else part.names for part in self.parts]
        return tuple(dict.fromkeys(name for names in each for name in names))

    def _then(self, kind: str, values: tuple[Any, ...]) -> Entry:
        steps = self.steps[:-1] if kind == "reshape" and self.steps[-1:] and self.steps[-1][0] == kind else self.steps
        return replace(self, steps=(*steps, (kind, values)))

    def reshape(self, *shape: int) -> Entry:
        return self._then("reshape", shape)

    def transpose(self, *axes: int) -> Entry:
        return self._then("transpose", axes)

    def part(self, *key: Any) -> Entry:
        """Return what a key of whole numbers, borders and ALL takes of it."""
        return self._then("part", key)

    def renamed(self, names: Mapping[str, Entry]) -> Entry:
        """Return it with entries in the places of names."""
        parts = tuple(names.get(one, one) if isinstance(one, str) else one.renamed(names) for one in self.parts)
        if len(parts) == 1 and isinstance(parts[0], Entry):
            return replace(parts[0], steps=parts[0].steps + self.steps)
        return replace(self, parts=parts)

    def expression(self) -> Any:
        """Return it as a weight map has it."""
        if self.constant is not None:
            return self.constant
        each = [weight(part) if isinstance(part, str) else part.expression() for part in self.parts]
        made: Expression = each[0] if len(each) == 1 else stack(*each, axis=self.axis)
        for kind, values in self.steps:
            made = made[index(values)] if kind == "part" else getattr(made, kind)(*values)
        return made

    def source(self) -> str:
        """Return the Python that makes it."""
        if self.constant is not None:
            return repr(self.constant)
        each = [Entry((part,)).source() if isinstance(part, str) and len(self.parts) > 1 else part for part in self.parts]
        texts = [one if isinstance(one, str) else one.source() for one in each]
        if len(texts) == 1 and isinstance(each[0], str):
            plain = {(): "", (TURNED,): ".T"}.get(self.steps)
            if plain is not None:
                return f'"{texts[0]}{plain}"'
            text = f'check.weight("{texts[0]}")'
        else:
            text = texts[0] if len(texts) == 1 else _stacked([*texts, *([f"axis={self.axis}"] if self.axis else [])])
        return text + "".join(map(_step, self.steps))


def named(name: str) -> Entry:
    """Return a tensor of the candidate as it is."""
    return Entry((name,))


def filled(value: float) -> Entry:
    """Return what fills a tensor without a partner."""
    return Entry((), constant=value)


def index(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key as NumPy takes it."""
    return tuple(slice(None) if one == ALL else slice(*one) if isinstance(one, tuple) else one for one in key)


def _step(step: Step) -> str:
    kind, values = step
    if step == TURNED:
        return ".T"
    if kind == "part":
        shown = [f"{one[0]}:{one[1]}" if isinstance(one, tuple) else str(one) for one in values]
        return f"[{', '.join(shown)}]"
    return f".{kind}({', '.join(map(str, values))})"


def _stacked(arguments: list[str]) -> str:
    """Return the call that joins, on several lines where one would be long."""
    line = f"check.stack({', '.join(arguments)})"
    if len(line) <= WIDEST:
        return line
    inner = [one.replace("\n", "\n    ") for one in arguments]
    return "check.stack(\n" + "".join(f"        {one},\n" for one in inner) + "    )"


def pasted(entries: Mapping[str, Entry], doubtful: Mapping[str, str]) -> str:
    """Return the map as Python; a doubtful line says why it is."""
    remarks = {name: f"  # {words}" for name, words in doubtful.items()}
    lines = [f'    "{name}": {entry.source()},{remarks.get(name, "")}' for name, entry in entries.items()]
    return "\n".join(["WEIGHTS = {", *lines, "}"])
