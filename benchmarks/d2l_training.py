"""Milliseconds per epoch of the D2L job: ours and d2l's own torch code, in turns, each in a process of its own.

    python benchmarks/d2l_training.py DATA.tsv [--rounds 15] [--json FILE]

The job is the book's: 600 pairs, batches of 64 x 10, 2 layers, 32 hidden units, 4 heads, Adam 0.005, clipping at 1.
An epoch includes drawing the batches. Ratios are taken round by round, so that a machine whose speed drifts does not
favour anyone; their median is reported.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import time

PEER = "d2l 0.17.6 (torch)"


def ours(name, pairs):
    import transformer_mb as tmb
    from transformer_mb.data import Batches, build_vocabularies, pair_ids
    from transformer_mb.training.agreement import Agreement
    from transformer_mb.training.interruption import Interruption
    from transformer_mb.training.loop import run_epoch
    from transformer_mb.training.progress import Progress
    from transformer_mb.training.recipe import TrainingRecipe
    from transformer_mb.training.schedules import Span
    from transformer_mb.training.state import TrainingState

    backend = tmb.get_backend(name)
    recipe = TrainingRecipe(**tmb.presets.RECIPES["d2l"])
    vocabularies = build_vocabularies(pairs, "d2l", min_freq=recipe.min_freq)
    model = backend.build(tmb.presets.d2l(*map(len, vocabularies)))
    trainer = backend.trainer(model, **recipe.trainer_options())
    batches = Batches(pair_ids(pairs, *vocabularies), recipe.batch_size, num_steps=recipe.num_steps)
    state, progress, span = TrainingState(), Progress(), Span(0, len(batches), model.config.num_hiddens)

    def epoch():
        agreement = Agreement(trainer.processes, dict, Interruption(progress.interrupted))
        run_epoch(trainer, batches, recipe, span, state, progress, agreement)
        return state.end_epoch()

    return epoch


def peer(pairs):
    from d2l_peer import Peer

    return Peer(pairs).epoch


def worker(contender, pairs, pipe):
    epoch = peer(pairs) if contender == PEER else ours(contender, pairs)
    pipe.send("ready")
    while pipe.recv() == "epoch":
        start = time.perf_counter()
        epoch()
        pipe.send(time.perf_counter() - start)


def measure(contenders, pairs, rounds, warm_up=3):
    context = multiprocessing.get_context("spawn")
    pipes, seconds = {}, {name: [] for name in contenders}
    for name in contenders:
        pipes[name], child = context.Pipe()
        context.Process(target=worker, args=(name, pairs, child), daemon=True).start()
        pipes[name].recv()
    for turn in range(warm_up + rounds):
        for name, pipe in pipes.items():
            pipe.send("epoch")
            taken = pipe.recv()
            if turn >= warm_up:
                seconds[name].append(taken)
    for pipe in pipes.values():
        pipe.send("stop")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--backends", default="numpy,torch")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    from transformer_mb.data import read_pairs

    contenders = [PEER, *options.backends.split(",")]
    seconds = measure(contenders, read_pairs(options.data, num_examples=600), options.rounds)
    results = {}
    for name in contenders:
        ratios = [a / b for a, b in zip(seconds[name], seconds[PEER], strict=True)]
        results[name] = {
            "ms_per_epoch": round(1e3 * statistics.median(seconds[name]), 1),
            "ms_min": round(1e3 * min(seconds[name]), 1),
            "ms_max": round(1e3 * max(seconds[name]), 1),
            "ratio_to_d2l": round(statistics.median(ratios), 3),
        }
        print(f"{name:20} {results[name]}")
    if options.json:
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"job": "d2l", "rounds": options.rounds, "machine": machine, "results": results}, file, indent=2)


if __name__ == "__main__":
    main()
