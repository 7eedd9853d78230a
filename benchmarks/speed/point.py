"""A point of the cost curves, in a process of its own: the best of a few training steps, and of a few greedy decodings.

    python -m speed.point BACKEND training|decoding LENGTH TOKENS ROWS WIDTH DEPTH VOCABULARY

Prints a JSON object: seconds, tokens, what is asked for (of a step in FLOP, of a decoded token in bytes read), and MiB at most.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import transformer_mb as tmb
from transformer_mb.batch import Batch
from transformer_mb.initialization import initial_weights

from .asked import decoding_bytes, training_flop
from .contestants.ours import finish
from .worker import memory

TIMES, SECONDS = 3, 1.0  # at least so often, and about so long
INSIDE, HEAD = 4, 64  # the feed-forward network's width in the model's; the width of a head


def main():
    backend, work, *sizes = sys.argv[1:]
    point = dict(zip(("length", "tokens", "rows", "width", "depth", "vocabulary"), map(int, sizes), strict=True))
    framework = tmb.get_backend(backend)
    config = config_of(point)
    weights = initial_weights(config, 0, "xavier")
    weights["decoder.dense.bias"] = np.where(np.arange(config.target_vocab_size) == config.eos_id, -1e4, 0.0).astype(np.float32)
    model = framework.from_weights(config, weights)
    call, tokens = {"training": training, "decoding": decoding}[work](framework, model, point)
    training_asks = point["tokens"] * training_flop(config, point["length"])
    asked = training_asks if work == "training" else decoding_bytes(weights)
    print(json.dumps({"seconds": best(call), "tokens": tokens, "asked": asked, "memory_MiB": round(memory())}))


def config_of(point):
    heads = max(point["width"] // HEAD, 1)
    return tmb.TransformerConfig(
        source_vocab_size=point["vocabulary"], target_vocab_size=point["vocabulary"], num_hiddens=point["width"],
        ffn_num_hiddens=INSIDE * point["width"], encoder_num_heads=heads, decoder_num_heads=heads,
        encoder_num_layers=point["depth"], decoder_num_layers=point["depth"], dropout=0.1, max_len=2048,
    )  # fmt: skip


def training(framework, model, point):
    rows = max(point["tokens"] // point["length"], 1)
    source, entering, leaving = np.random.default_rng(0).integers(4, point["vocabulary"], (3, rows, point["length"]))
    lens = np.full(rows, point["length"])
    batch = Batch(source, lens, entering, leaving, lens)
    trainer = framework.trainer(model, normalization="tokens")

    def call():
        float(trainer.step(batch))
        finish(framework.name)

    return call, rows * point["length"]


def decoding(framework, model, point):
    source = np.random.default_rng(0).integers(4, point["vocabulary"], (point["rows"], point["length"]))

    def call():
        found = framework.greedy(model, source, np.full(len(source), point["length"]), point["length"])
        assert {len(row) for row in found} == {point["length"]}

    return call, source.size


def best(call):
    call()
    taken = []
    while len(taken) < TIMES or sum(taken) < SECONDS:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    main()
