"""A row of one cell whose case is drawn by the seed: one request, and a judgement of the row's own on its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Arrays, Request
from ..verdict.answers import check_answer


@dataclass(eq=False)
class OneAnswer(ABC):
    """``expected`` is the reference's answer: what has to come, of which ``result`` may compare some or nothing."""

    dtype: str
    seed: int
    after = False
    row: ClassVar[str]

    @property
    @abstractmethod
    def case(self) -> str: ...

    @property
    @abstractmethod
    def request(self) -> Request: ...

    @abstractmethod
    def result(self, got: Arrays, cell: Cell, backend: str) -> Result: ...

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.request)
        check_answer(got, self.expected, self.dtype)
        return [self.result(got, cell, backend) for cell in self.cells(backend)]
