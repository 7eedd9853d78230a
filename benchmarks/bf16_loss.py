"""The cost of training with products in bfloat16: the demo's loss after 300 steps, beside float32's, seed by seed.

    python benchmarks/bf16_loss.py [--backend torch] [--seeds 220] [--json FILE]

One seed says little: float32 itself differs more from seed to seed than the two precisions do. So the ratio of the two is taken
per seed, and its geometric mean given with the 95 % interval of Student's t: of losses that scatter alike, the arithmetic mean
of the ratios is above 1 whichever of the two is divided. One percent to either side takes 220 seeds, 50 minutes on one core.
"""

from __future__ import annotations

import math
import statistics

from scipy.stats import t

import transformer_mb as tmb
from program import keep, machine, program
from transformer_mb.cli.commands.demo import MODEL, RECIPE
from transformer_mb.data import Pairs, demo_pairs
from transformer_mb.training.job import Given, prepare
from transformer_mb.training.run import execute
from transformer_mb.training.settings import Settings

EPOCHS = 6  # of 50 steps; the schedule is then the demo's, whose learning rate falls to zero at the end


def loss(backend, pairs, precision, seed):
    """The mean of the last epoch."""
    training = {**RECIPE, "epochs": EPOCHS, "seed": seed, "precision": precision}
    settings = Settings(model={**MODEL, "suppress_ids": []}, training=training, run={})
    return execute(prepare(settings, Given(pairs=Pairs(pairs), backend=backend), force=False)).state.loss


def summary(losses):
    """The mean ratio of bf16's loss to float32's with its interval, and the spread of float32 over seeds."""
    logs = [math.log(bf16 / full) for bf16, full in zip(losses["bf16"], losses["full"], strict=True)]
    half = t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.mean(logs)
    spread = statistics.stdev(losses["full"]) / statistics.mean(losses["full"])
    ratio, low, high = map(math.exp, (mean, mean - half, mean + half))
    return {"ratio": ratio, "from": low, "to": high, "spread_of_float32": spread}


def main():
    parser = program(__doc__)
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--seeds", type=int, default=220)
    options = parser.parse_args()
    backend, (pairs, _) = tmb.get_backend(options.backend), demo_pairs()
    losses = {"full": [], "bf16": []}
    for seed in range(options.seeds):
        for precision, found in losses.items():
            found.append(loss(backend, pairs, precision, seed))
        print(f"seed {seed}: " + ", ".join(f"{name} {found[-1]:.5f}" for name, found in losses.items()), flush=True)
    measured = {"machine": machine(), "backend": options.backend, "steps": 50 * EPOCHS, "losses": losses, **summary(losses)}
    print({name: round(value, 4) for name, value in summary(losses).items()})
    keep(options.json, measured)


if __name__ == "__main__":
    main()
