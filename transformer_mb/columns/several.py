"""Work that several threads leave to processes: whatever ends the wait for it, such as Ctrl-C, ends them all at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import TypeVar

from ..errors import WorkerError
from .gateway import Gateway

Item = TypeVar("Item")
Result = TypeVar("Result")
Began = Callable[[Gateway], None]


def by_processes(work: Callable[[Item, Began], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work`` of each item, in their order, done in as many threads at a time as there are processors.

    It gives its second argument to each Gateway that it makes, as ``on_process``. An error of one, and Ctrl-C, is raised once
    the processes of all are killed.
    """
    begun: list[Gateway] = []
    abandoned = Event()

    def began(gateway: Gateway) -> None:
        begun.append(gateway)
        if abandoned.is_set():
            gateway.kill()
            raise WorkerError("Nobody waits for this process any more.")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            answers = [pool.submit(work, item, began) for item in items]
            for answer in as_completed(answers):  # the first error, whichever of them has it
                answer.result()
            return [answer.result() for answer in answers]
        except BaseException:
            abandoned.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for gateway in begun:
                gateway.kill()
            raise
