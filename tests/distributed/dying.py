"""``transformer-mb`` in a process that is killed at its twelfth step, unless torchrun has started it again."""

import os
import signal
import sys

import transformer_mb.trainer
from transformer_mb.cli.main import main

step = transformer_mb.trainer.Trainer.accumulated_step


def dying(self, *arguments):
    if self.step_count == 11 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *arguments)


transformer_mb.trainer.Trainer.accumulated_step = dying

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
