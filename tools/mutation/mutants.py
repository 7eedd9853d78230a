"""Every mistake that can be made in a backend's files, and a sample of them in which each file and operator has its share."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer_mb.random_streams import stream

from .operators import OPERATORS, Edit
from .sources import Source, sources


@dataclass(frozen=True)
class Mutant:
    """A planted mistake.

    Args:
        key: the file, the function, and the line before and after: it stays as long as the line does.
        lines: an experiment that executes one of them may see the mistake.
        text: the whole file with it.
        edit: the change itself.
    """

    key: str
    file: str
    operator: str
    function: str
    line: int
    lines: tuple[int, ...]
    text: str
    edit: Edit

    @property
    def name(self) -> str:
        """The file's name within its backend."""
        return self.file.partition("/")[2]


def all_mutants(backend: str) -> list[Mutant]:
    return [mutant for source in sources(backend) for mutant in mutants_of(source)]


def mutants_of(source: Source) -> list[Mutant]:
    """Make each text once, whichever operators make it; only what compiles to another program."""
    found: list[Mutant] = []
    texts, times = {source.text}, Counter[str]()
    for node, parent, place in source.nodes:
        for operator, edits in OPERATORS.items():
            for edit in edits(source, node, parent):
                text = source.text[: edit.start] + edit.text + source.text[edit.end :]
                if text in texts or not _is_another_program(source, place.statement, edit):
                    continue
                texts.add(text)
                key = f"{source.file} {place.function or 'module'}: {change(source.text, edit)}"
                times[key] += 1
                if times[key] > 1:  # the same line stands there twice
                    key += f" ({times[key]})"
                line = source.text.count("\n", 0, edit.start) + 1
                found.append(Mutant(key, source.file, operator, place.function, line, tuple(place.lines), text, edit))
    return found


def texts_of(mutants: Sequence[Mutant]) -> dict[str, str]:
    """The files with all of these mistakes, by name. None may lie within another."""
    texts: dict[str, str] = {}
    for mutant in sorted(mutants, key=lambda mutant: mutant.edit.start, reverse=True):
        edit = mutant.edit
        text = texts.get(mutant.name) or Source(mutant.file.partition("/")[0], mutant.name).text
        texts[mutant.name] = text[: edit.start] + edit.text + text[edit.end :]
    return texts


def statement_lines(source: Source, line: int) -> tuple[int, ...]:
    """Return the lines of the innermost statement that begins before or at a line."""
    return next(tuple(place.lines) for _, _, place in reversed(source.nodes) if line in place.lines)


def change(text: str, edit: Edit) -> str:
    """The changed lines, ``before -> after``, each as one line."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", edit.end)
    pair = text[start:end], text[start : edit.start] + edit.text + text[edit.end : end]
    return " -> ".join(re.sub(r"\s+", " ", lines).strip() for lines in pair)


def _is_another_program(source: Source, statement: ast.stmt, edit: Edit) -> bool:
    """Tell whether the statement is another one with the edit, and still one at all."""
    start = source.offsets[statement.lineno - 1]
    end = source.end(statement)
    before = source.text[start:end]
    after = source.text[start : edit.start] + edit.text + source.text[edit.end : end]
    try:
        return ast.dump(_parsed(after)) != ast.dump(_parsed(before))
    except SyntaxError:
        return False


def _parsed(statement: str) -> ast.AST:
    """Parse a statement with its indentation, and such as only a function may hold."""
    return ast.parse(f"def function():\n if True:\n{statement}" if statement[:1].isspace() else statement)


def sample(mutants: Sequence[Mutant], number: int | None, seed: int) -> list[Mutant]:
    """Draw ``number`` of them, None: all. Each operator in each file has a share like the root of what there is of it.

    Like what there is of it would be: a quarter of all are numbers, of which a polynomial alone has fifty. Each is drawn by its
    own key, so that a change of one line draws no other's anew.
    """
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault((mutant.file, mutant.operator), []).append(mutant)
    ranked: list[tuple[float, Mutant]] = []
    for names, group in groups.items():
        group.sort(key=lambda mutant: stream(seed, mutant.key).random())
        offset = stream(seed, *names).random()
        ranked += [((rank + offset) / len(group) ** 0.5, mutant) for rank, mutant in enumerate(group)]
    ranked.sort(key=lambda pair: pair[0])
    return [mutant for _, mutant in ranked[:number]]


def seen_by(mutant: Mutant, lines: Mapping[str, Sequence[set[int]]], imported: Mapping[str, set[int]]) -> list[int]:
    """The numbers of the experiments that execute one of its lines; all where the import does.

    Args:
        lines: by file, the executed lines of each experiment. imported: by file, those that the import executes.
    """
    own = set(mutant.lines)
    executed = lines.get(mutant.name, [])
    if own & imported.get(mutant.name, set()):
        return list(range(len(next(iter(lines.values()), []))))
    return [number for number, some in enumerate(executed) if own & some]
