"""Trainings that are sent a signal while they run."""

import signal

from transformer_mb.training import Progress


class InterruptAt(Progress):
    """Sends a signal while a step is reported, Ctrl-C if no other; ``told`` counts how often the training has heard it."""

    def __init__(self, step: int, number: int = signal.SIGINT):
        self.at, self.number, self.told = step, number, 0

    def step(self, state) -> None:
        if state.step == self.at:
            signal.raise_signal(self.number)

    def interrupted(self) -> None:
        self.told += 1
