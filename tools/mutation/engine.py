"""Runs a backend's mistakes against the experiments that can see them, in a child process that is started anew when it dies."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from transformer_mb.columns.gateway import Gateway
from transformer_mb.errors import WorkerError

from . import child
from .frameworks import AGAIN, CHEAP, WITHOUT_FLOAT64
from .mutants import Mutant, seen_by, texts_of
from .sources import ROOT, folder, names

KEPT = ROOT / "build" / "mutants" / "recorded"
RECORDING = 1800.0  # seconds for one experiment while everything is computed for the first time
# One mistake may take this many times what its experiments took, and some more, before its process counts as hanging; each
# experiment has a limit of its own there.
TIMES, MORE = 10.0, 900.0
COMPILING = 20.0  # usual seconds of an experiment that is compiled
CUT_GRADIENT = "cut gradient"
FIRST = 12  # experiments, one of each row and dtype as far as there are, before the cheapest


@dataclass
class Verdict:
    """The fate of a mistake. ``status``: killed, survived, "no change" where nothing was changed that is computed with.

    ``cell``: that failed; ``said``: what the verdict said of it. ``ran``: how many experiments it took.
    """

    status: str
    cell: str = ""
    said: str = ""
    ran: int = 0
    seconds: float = 0.0


_starting = Lock()  # one process at a time: the environment is everyone's


@contextmanager
def _found() -> Iterator[None]:
    """A process that is started inside imports this package, by whichever of its two names it has here."""
    with _starting:
        before = os.environ.get("PYTHONPATH")
        paths = [str(ROOT), str(ROOT / "tools"), *(before or "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        try:
            yield
        finally:
            del os.environ["PYTHONPATH"]
            if before is not None:
                os.environ["PYTHONPATH"] = before


class Child:
    """The process of a backend, as ``child.begin`` makes it. ``selection``: arguments of ``Selection``.

    ``known``: by cell what was asked by experiments that it need not record; None, and it records none. ``instead``: the
    framework that judges, compiled, where it is another.
    """

    def __init__(
        self,
        backend: str,
        selection: dict[str, Any],
        seeds: Sequence[int],
        known: dict[str, str] | None,
        instead: str | None = None,
    ):
        self.folder = tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True)
        # In the main thread, where alone a time limit can be set.
        address = f"popen//id={backend}//execmodel=main_thread_only"
        arguments = (backend, selection, list(seeds), known, instead)
        with _found():
            self.gateway = Gateway(
                backend, address, child.__name__, arguments, Path(self.folder.name) / "stderr", timeout=RECORDING
            )

    def receive(self, timeout: float) -> dict[str, Any]:
        self.gateway.timeout = timeout
        return json.loads(self.gateway.receive())

    def stop(self) -> None:
        self.gateway.stop()
        self.folder.cleanup()


@dataclass
class Recorded:
    """The record of what a backend's experiments execute."""

    dtypes: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    rows: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    imported: dict[str, set[int]] = field(default_factory=dict)
    lines: dict[str, list[set[int]]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)  # cells that fail without any mistake

    def add(self, told: dict[str, Any]) -> None:
        for file, lines in told["lines"].items():
            executed = self.lines.setdefault(file, [])
            executed += [set() for _ in range(len(self.cells) - len(executed))]
            executed.append(set(lines))
        self.cells.append(told["cell"])
        self.rows.append((told["row"], told["dtype"]))
        self.seconds.append(told["seconds"])
        if told["wrong"]:
            self.wrong[told["cell"]] = told["wrong"]

    def executed(self, file: str) -> set[int]:
        """The lines of a file that some experiment executes, or the import."""
        return self.imported.get(file, set()).union(*self.lines.get(file, []))


class Engine:
    """A backend with its child. Without ``record`` mistakes are only judged by the experiments that are named."""

    def __init__(
        self, backend: str, selection: dict[str, Any], seeds: Sequence[int], record: bool = True, instead: str | None = None
    ):
        self.backend, self.selection, self.seeds, self.instead = backend, selection, seeds, instead
        self.killers: dict[str, Counter[int]] = {}  # by function
        self.recorded = Recorded()
        self.kept = self._kept()
        self.told = self._told() if record else {}
        known = {cell: one["asked"] for cell, one in self.told.items()}
        self.child = Child(backend, selection, seeds, known if record else None, instead)
        self.first = self.child.receive(RECORDING)
        now = dict(zip(self.first["names"], self.first.get("asked", ()), strict=False))
        self.told = {cell: one for cell, one in self.told.items() if one["asked"] == now.get(cell)}
        self.cells: list[list[str]] = self.first["cells"]  # of every experiment

    def _kept(self) -> Path:
        """Return where the recording of these files is kept, a line each: of JAX it takes longer than many mistakes.

        It outlives other code, as long as an experiment begins with the same request.
        """
        texts = {name: (folder(self.backend) / name).read_text() for name in names(self.backend)}
        asked = json.dumps([texts, self.selection, list(self.seeds)])
        return KEPT / f"{self.backend}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}.jsonl"

    def _told(self) -> dict[str, dict[str, Any]]:
        """Read by cell what was recorded before. What failed is recorded again, and a line that a cut has left half."""
        text = self.kept.read_text() if self.kept.is_file() else ""
        told = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return {one["cell"]: one for one in told if not one["wrong"] and "asked" in one}

    def record(self) -> Recorded:
        """Record what has no record yet."""
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        new = self.kept.with_suffix(".new")
        new.write_text("".join(f"{json.dumps(one)}\n" for one in self.told.values()))
        os.replace(new, self.kept)
        with self.kept.open("a") as file:
            for _ in range(len(set(self.first["names"]) - set(self.told))):
                one = self.child.receive(RECORDING)
                self.told[one["cell"]] = one
                file.write(f"{json.dumps(one)}\n")
                file.flush()
        self.recorded.imported = {file: set(lines) for file, lines in self.first["imported"].items()}
        self.recorded.dtypes = self.first["dtypes"]
        for name in self.first["names"]:
            self.recorded.add(self.told[name])
        for lines in self.recorded.lines.values():
            lines += [set() for _ in range(len(self.recorded.cells) - len(lines))]
        return self.recorded

    def seen_by(self, mutant: Mutant) -> list[int]:
        """The numbers of the experiments that execute it."""
        numbers = seen_by(mutant, self.recorded.lines, self.recorded.imported)
        return [number for number in numbers if self.recorded.cells[number] not in self.recorded.wrong]

    def order(self, mutant: Mutant, numbers: Sequence[int]) -> list[int]:
        """Put first what killed its neighbours, then one of each row and dtype, then all others; of each the cheapest first."""
        cheapest = self._cheapest(numbers)
        killers = self.killers.get(f"{mutant.file} {mutant.function}", Counter())
        known = [number for number, _ in killers.most_common(3) if number in set(numbers)]
        return list(dict.fromkeys([*known, *self._of_each_row(cheapest)[:FIRST], *cheapest]))

    def _cheapest(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=self.recorded.seconds.__getitem__)

    def _of_each_row(self, cheapest: Sequence[int]) -> list[int]:
        """Take the first of each row and dtype."""
        first: dict[tuple[str, str], int] = {}
        for number in cheapest:
            first.setdefault(self.recorded.rows[number], number)
        return self._cheapest(first.values())

    def named(self, names: Sequence[str]) -> list[int]:
        """Number the experiments by the names of their first cells; those that this engine has."""
        numbers = {name: number for number, name in enumerate(self.first["names"])}
        return [numbers[name] for name in names if name in numbers]

    @contextmanager
    def again(self) -> Iterator[Callable[[Mutant], Verdict] | None]:
        """Inside, a function judges once more, in other processes: of other frameworks, or of one without float64.

        By one experiment of each row and dtype, unless they are cheap; None where there is no such process.
        """
        narrow = {**self.selection, "dtypes": [dtype for dtype in self.selection["dtypes"] if dtype != "float64"]}
        others: list[tuple[str | None, dict[str, Any]]] = [(name, self.selection) for name in AGAIN.get(self.backend, ())]
        if self.backend in WITHOUT_FLOAT64 and narrow["dtypes"]:
            others.append((None, narrow))
        if not others:
            yield None
            return
        engines = [Engine(self.backend, selection, self.seeds, record=False, instead=name) for name, selection in others]

        def judge(mutant: Mutant) -> Verdict:
            seen = self._cheapest(self.seen_by(mutant))
            for engine in engines:
                numbers = seen if engine.instead in CHEAP else self._of_each_row(seen)
                verdict = engine.judge_by(mutant, engine.named([self.recorded.cells[number] for number in numbers]))
                if verdict.status == "killed":
                    break
            return verdict

        try:
            yield judge
        finally:
            for engine in engines:
                engine.stop()

    def judge_by_cell(self, mutant: Mutant, cell: str) -> Verdict | None:
        """Judge by the experiment that a cell is of alone; None where there is no such cell now, or it fails by itself."""
        numbers = [number for number, cells in enumerate(self.cells) if cell in cells]
        fit = numbers and self.recorded.cells[numbers[0]] not in self.recorded.wrong
        return self.judge_by(mutant, numbers) if fit else None

    def judge_by(self, mutant: Mutant, numbers: list[int]) -> Verdict:
        """Judge by these experiments, in this order."""
        return self.judge_together([mutant], numbers)

    def judge_together(self, mutants: Sequence[Mutant], numbers: list[int]) -> Verdict:
        """All of these mistakes made at once: the first experiment that fails."""
        verdict = self._ask(mutants, numbers)
        if verdict is None:  # an earlier mistake may have left something in the process
            verdict = self._ask(mutants, numbers) or Verdict("killed", said="the process computes wrongly ever after")
        return verdict

    def _ask(self, mutants: Sequence[Mutant], numbers: list[int]) -> Verdict | None:
        """Return the child's verdict; None, with a new child, where the backend without the mistakes fails afterwards."""
        began = time.perf_counter()
        try:
            alone = 1.0 if self.instead in (None, *CHEAP) else COMPILING
            usual = [self.recorded.seconds[number] if self.recorded.seconds else alone for number in numbers]
            request = {"texts": texts_of(mutants), "experiments": numbers, "seconds": usual}
            self.child.gateway.send(json.dumps(request))
            answer = self.child.receive(TIMES * sum(usual) + MORE)
        except WorkerError as error:
            self.restart()
            return Verdict("killed", said=str(error), seconds=time.perf_counter() - began)
        if "spoiled" in answer:
            self.restart()
            return None
        if answer["killed"]:
            number = numbers[answer["ran"] - 1]
            if len(mutants) == 1:
                self.killers.setdefault(f"{mutants[0].file} {mutants[0].function}", Counter())[number] += 1
            return Verdict("killed", answer["cell"], answer["said"][:300], answer["ran"], answer["seconds"])
        unchanged = any(mutant.operator == CUT_GRADIENT for mutant in mutants) and not answer["applied"]
        return Verdict("no change" if unchanged else "survived", ran=answer["ran"], seconds=answer["seconds"])

    def restart(self) -> None:
        """Start a new child, without a new record; what an experiment expects is computed when it is next judged."""
        self.child.stop()
        self.child = Child(self.backend, self.selection, self.seeds, None, self.instead)
        self.child.receive(RECORDING)

    def stop(self) -> None:
        self.child.stop()
