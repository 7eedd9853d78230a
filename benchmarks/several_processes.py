"""Tokens per second of one process and of several with one thread each, what a step sums, and how long the sum takes.

    python benchmarks/several_processes.py [--backends numpy,torch] [--processes 2] [--rounds 5] [--json FILE]
    python benchmarks/several_processes.py --against CHECKOUT    # one process alone: this source and another, in turns

The batch is the same for any number of processes: 64 sentence pairs of 32 tokens; 3 + 3 layers, 256 hidden units, Adam,
clipping at 1. Each process keeps to one processor. Steps are timed in turns of one and of several processes, so that a machine
whose speed drifts favors neither; medians are reported. The sum is that of all gradients, called by itself, also where a
compiled step does it amid other work (JAX, TensorFlow).
"""

from __future__ import annotations

import argparse
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from program import keep, machine, program

ROOT = Path(__file__).parents[1]
ROWS, LENGTH, WORDS, STEPS, WARM_UP, SUMS = 64, 32, 4000, 5, 3, 20


def trainer_of(name):
    """A trainer, and its batch; as far as ``main`` has them too."""
    import numpy as np

    from transformer_mb.batch import Batch
    from transformer_mb.config import TransformerConfig
    from transformer_mb.registry import get_backend

    config = TransformerConfig(
        source_vocab_size=WORDS, target_vocab_size=WORDS, num_hiddens=256, ffn_num_hiddens=1024, encoder_num_heads=4,
        decoder_num_heads=4, encoder_num_layers=3, decoder_num_layers=3, max_len=LENGTH,
    )  # fmt: skip
    backend = get_backend(name)
    trainer = backend.trainer(backend.build(config, seed=0), optimizer="adam", learning_rate=1e-4, clip_norm=1.0)
    source, target_in, target_out = np.random.default_rng(0).integers(4, WORDS, (3, ROWS, LENGTH))
    lengths = np.full(ROWS, LENGTH)
    return trainer, Batch(source, lengths, target_in, target_out, lengths)


def worker(name):
    """Run one process: at each line of input some steps or sums, and the seconds of one of them as a line of output."""
    processes = None
    if int(os.environ["WORLD_SIZE"]) > 1:
        from transformer_mb.distributed import Place
        from transformer_mb.registry import join_processes

        processes = join_processes(name, Place.from_environment())
    trainer, batch = trainer_of(name)
    if processes is not None:
        trainer.join(processes)
    print("ready", sum(math.prod(parameter.shape) for parameter in trainer.parameters.values()), flush=True)
    for line in sys.stdin:
        wanted, count = line.split()
        work = steps if wanted == "step" else sums
        print(work(name, trainer, batch, int(count)), flush=True)


def steps(name, trainer, batch, count):
    start = time.perf_counter()
    for _ in range(count):
        loss = trainer.step(batch)
    float(loss)
    return (time.perf_counter() - start) / count


def sums(name, trainer, batch, count):
    total = summing(name, trainer)
    total()  # compiled, where it is
    start = time.perf_counter()
    for _ in range(count):
        total()
    return (time.perf_counter() - start) / count


def summing(name, trainer):
    """A function that adds up gradients as a step does, and waits for the sum."""
    processes, values = trainer.processes, [trainer.parameters[key].value for key in trainer.parameters]
    if name == "torch":
        gradients = [value.detach().clone() for value in values]
        return lambda: processes.reduce(gradients)
    if name == "paddle":
        vectors = trainer.optimizer.flatten([value.detach().clone() for value in values])
        return lambda: processes.reduce(vectors)
    if name == "mxnet":
        from mxnet import np as mnp

        gradients = mnp.concatenate(values, axis=None)
        return lambda: processes.reduce(gradients).wait_to_read()
    if name == "tensorflow":
        import tensorflow as tf

        reduce = processes.compiled(lambda gradients: processes.reduce([1.0 * one for one in gradients]))
        gradients = [tf.convert_to_tensor(value) for value in values]
        return lambda: reduce(gradients)[0].numpy()
    if name == "jax":
        import jax
        import numpy as np

        # Within its step XLA places the sums where it likes; here it is one, of a row from each process.
        rows = processes.mesh.rows(np.ones((1, sum(value.size for value in values)), np.float32))
        reduce = jax.jit(lambda gradients: gradients.sum(0), out_shardings=processes.mesh.layout(()))
        return lambda: reduce(rows).block_until_ready()
    return lambda: processes.reduce(trainer.optimizer.whole.gradient)


def on_processor(rank):
    """Keep to one processor: not every framework can be told to use one thread."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[rank % len(allowed)]})


class Group:
    """Processes that take steps together when told to."""

    def __init__(self, name, size, source=ROOT):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        shared = {**os.environ, **threads, "PYTHONPATH": str(source), "GLOO_SOCKET_IFNAME": "lo"}
        shared |= {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TF_CPP_MIN_LOG_LEVEL": "2"}
        self.size = size
        self.running = [
            subprocess.Popen(
                [sys.executable, __file__, "--worker", name], env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=partial(on_processor, rank),
            )
            for rank in range(size)
        ]  # fmt: skip
        self.parameters, *_ = [int(self._line(process, "ready").split()[1]) for process in self.running]

    @staticmethod
    def _line(process, begins=""):
        for line in process.stdout:
            if line.startswith(begins) and line.strip() and (begins or line[0].isdigit()):
                return line
        raise SystemExit(f"A process has ended with status {process.wait()}.")

    def timed(self, wanted, count):
        """Seconds of one, that of the slowest process."""
        for process in self.running:
            process.stdin.write(f"{wanted} {count}\n")
        return max(float(self._line(process)) for process in self.running)

    def end(self):
        for process in self.running:
            process.kill()
            process.wait()


def measured(groups, rounds):
    """Seconds per step of each group, round by round."""
    for group in groups:
        group.timed("step", WARM_UP)
    return [[group.timed("step", STEPS) for group in groups] for _ in range(rounds)]


def of_backend(name, options):
    others = [Group(name, 1, Path(options.against).resolve())] if options.against else [Group(name, options.processes)]
    groups = [Group(name, 1), *others]
    try:
        rounds = measured(groups, options.rounds)
        one, other = (statistics.median(times) for times in zip(*rounds, strict=True))
        ratio = statistics.median(first / second for first, second in rounds)
        if options.against:
            return {"ms_per_step": round(1e3 * one, 1), "ms_of_the_other": round(1e3 * other, 1), "ratio": round(ratio, 3)}
        alone = groups[1].timed("sum", SUMS)
        return {
            "tokens_per_second": {"1": round(ROWS * LENGTH / one), str(options.processes): round(ROWS * LENGTH / other)},
            "speedup": round(ratio, 2),
            "bytes_summed_per_step": 4 * groups[0].parameters,
            "ms_of_the_sum": round(1e3 * alone, 2),
        }
    finally:
        for group in groups:
            group.end()


def main():
    from transformer_mb.built_in import BUILT_IN  # not in a worker, whose source may be older

    parser = program(__doc__)
    parser.add_argument("--backends", default=",".join(BUILT_IN))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", metavar="CHECKOUT")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    results = {}
    for name in options.backends.split(","):
        results[name] = of_backend(name, options)
        print(f"{name:12} {results[name]}", flush=True)
    job = {"rows": ROWS, "length": LENGTH, "rounds": options.rounds, "processes": options.processes}
    keep(options.json, {"job": job, "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
