"""Train examples/multi30k.toml in other frameworks: a tenth of it in each, and a whole one that changes framework twice.

    python benchmarks/multi30k_frameworks.py DATA --work FOLDER follow [--backends jax,tensorflow] [--json FILE]
    python benchmarks/multi30k_frameworks.py DATA --work FOLDER change [--others jax] [--seeds 1,2,3] [--epochs 3] [--json FILE]

`follow` needs the training of benchmarks/multi30k.py in the same FOLDER, whose validation losses it is compared with: the
batches are the same and so are the initial weights, the dropout is each framework's own. `change` trains with PyTorch a shorter
schedule from its beginning to its end, and again with the middle third in another framework.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import time
from pathlib import Path

from multi30k import KEEP_MEMORY, command, environment, logged, training

from program import keep, program

SOURCE, TARGET = "en", "de"
TENTH = 4  # of the configuration's forty epochs, each of which ends with a validation
WARMUP = 100  # steps of the shorter schedule


def losses(log):
    """Return the loss of each validation, by its step."""
    return {row["step"]: row["validation_loss"] for row in logged(log, "validation_loss")} if log.exists() else {}


def train_until(validations, log, *arguments):
    """Run `train` and end it by SIGTERM once its log holds ``validations`` validations; None lets it end by itself."""
    process = subprocess.Popen(command(*arguments, "--log", log), env=environment(**KEEP_MEMORY))
    while validations is not None and process.poll() is None and len(losses(log)) < validations:
        time.sleep(0.5)
    if validations is not None:
        process.send_signal(signal.SIGTERM)
    status = process.wait()
    if status != (0 if validations is None else 128 + signal.SIGTERM):
        raise SystemExit(f"train must end as asked, got status {status}.")


def follow(data, work, backends):
    """Validation losses of a tenth of the training, beside PyTorch's."""
    folder = work / f"{SOURCE}-{TARGET}"
    expected = dict(list(losses(folder / "log.jsonl").items())[:TENTH])
    results = {}
    for name in backends:
        own = folder / f"follow-{name}"
        log = own / "log.jsonl"
        if len(losses(log)) < TENTH:
            own.mkdir(parents=True, exist_ok=True)
            beginning = training(data, folder, SOURCE, TARGET)
            train_until(TENTH, log, *beginning, "--backend", name, "--out", own / "model", "--force")
        got = losses(log)
        off = {step: got[step] / loss - 1 for step, loss in expected.items()}
        print(f"{name}: " + ", ".join(f"step {step} {got[step]:.4f} ({one:+.2%})" for step, one in off.items()), flush=True)
        results[name] = {str(step): [round(loss, 4), round(got[step], 4)] for step, loss in expected.items()}
    return results


def change(data, work, others, seeds, epochs):
    """The last validation loss of trainings that stay in PyTorch, and of those that do not, by seed."""
    folder = work / f"{SOURCE}-{TARGET}"
    shorter = ("--epochs", epochs, "--warmup-steps", WARMUP, "--validation-metric", "loss")
    beginning = (*training(data, folder, SOURCE, TARGET), *shorter)
    places = {"torch": ("torch",), **{name: ("torch", name, "torch") for name in others}}
    results = {}
    for name, backends in places.items():
        for seed in seeds:
            own = folder / f"change-{name}-{seed}"
            log = own / "log.jsonl"
            for part, backend in enumerate(backends, start=1):
                until = part * epochs // len(backends)
                if len(losses(log)) >= until:
                    continue
                own.mkdir(parents=True, exist_ok=True)
                begun = ("train", "--resume") if part > 1 else (*beginning, "--seed", seed, "--force")
                train_until(None if until == epochs else until, log, *begun, "--backend", backend, "--out", own / "model")
            results.setdefault(name, {})[str(seed)] = round(list(losses(log).values())[-1], 4)
        mean, spread = statistics.mean(results[name].values()), statistics.stdev(results[name].values())
        print(f"{' to '.join(backends)}: {results[name]}, mean {mean:.4f}, standard deviation {spread:.4f}", flush=True)
    return {"epochs": epochs, "last_validation_loss": results}


def main():
    parser = program(__doc__, "what it holds of the other stays")
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("what", choices=("follow", "change"))
    parser.add_argument("--backends", default="jax,tensorflow", help="of `follow`")
    parser.add_argument("--others", default="jax", help="of `change`: each is visited once, in the middle")
    parser.add_argument("--seeds", default="1,2,3", help="of `change`")
    parser.add_argument("--epochs", type=int, default=3, help="of `change`")
    options = parser.parse_args()
    if options.what == "follow":
        result = follow(options.data, options.work, options.backends.split(","))
    else:
        result = change(options.data, options.work, options.others.split(","), options.seeds.split(","), options.epochs)
    if options.json:
        content = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
        keep(options.json, {**content, options.what: {**content.get(options.what, {}), **result}})


if __name__ == "__main__":
    main()
