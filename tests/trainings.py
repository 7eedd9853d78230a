"""Small trainings: their sizes and sentences, the files that they leave, and signals that they are sent."""

import signal

import transformer_mb as tmb
from transformer_mb.data import demo_pairs
from transformer_mb.training import Progress

TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}
TRAINED_ON = demo_pairs()[0][:24]  # three steps an epoch
UNSEEN, TEST = demo_pairs()[0][20:30], demo_pairs()[1][:10]  # to be measured; of TEST all are unseen


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, **options})


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def files(folder) -> dict[str, bytes]:
    """Read what two trainings must have alike: trainer.json holds seconds too."""
    return {name: content for name, content in contents(folder).items() if name != "trainer.json"}


class InterruptAt(Progress):
    """Sends a signal while a step is reported, Ctrl-C if no other; ``told`` counts how often the training has heard it."""

    def __init__(self, step: int, number: int = signal.SIGINT):
        self.at, self.number, self.told = step, number, 0

    def step(self, state) -> None:
        if state.step == self.at:
            signal.raise_signal(self.number)

    def interrupted(self) -> None:
        self.told += 1
