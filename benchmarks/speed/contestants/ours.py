"""This project, in one backend: ``backend=NAME``; ``device``, ``dtype``, ``precision``, ``compile`` as users give them."""

from __future__ import annotations

import sys

import numpy as np

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Batches, Vocabulary
from transformer_mb.inference.translation import Translator
from transformer_mb.registry import decoding_backend


def finish(backend):
    """Wait for all that was begun: where the loss has come, MXNet, and PyTorch on a GPU, may be at the backward pass."""
    if backend == "mxnet":
        sys.modules["mxnet"].nd.waitall()
    if backend == "torch" and sys.modules["torch"].cuda.is_available():
        sys.modules["torch"].cuda.synchronize()


class Contestant:
    def __init__(self, inputs, backend, dtype="float32", device=None, **options):
        self.backend, int8 = decoding_backend(backend, device, dtype)
        self.version = f"{backend} {self.backend.version()}"
        self.inputs, self.epochs = inputs, 0
        config = TransformerConfig.from_dict(inputs.config)
        self.model = self.backend.from_weights(config, inputs.weights)
        self.exact = dtype == "float32"
        if int8:
            self.model = self.backend.quantized(self.model)
        if "target_in" in inputs.arrays:
            self.batches = [Batch(*batch) for batch in inputs.batches]
            self.drawn = self.batches_drawn() if "batch_size" in inputs.job else None
            chosen = {name: value == "true" if value in ("true", "false") else value for name, value in options.items()}
            self.trainer = None
            self.options = {**inputs.options, **chosen}
        elif "sources" in inputs.job:
            vocabularies = [Vocabulary(entries, "d2l") for entries in inputs.job["entries"]]
            self.translator = Translator(self.backend, self.model, *vocabularies, max_steps=inputs.options["steps"])

    def check(self):
        if "target_in" in self.inputs.arrays:
            return float(self.backend.losses(self.model, self.batches[0]).sum() / self.batches[0].num_tokens)
        if not self.exact:
            return None  # what a coarser format answers is its own
        return self.translations() if "sources" in self.inputs.job else self.tokens()

    def round(self):
        if "target_in" in self.inputs.arrays:
            self.trainer = self.trainer or self.backend.trainer(self.model, **self.options)
            for batch in self.drawn.epoch(self.epochs) if self.drawn else self.batches:
                loss = self.trainer.step(batch)
            float(loss)
            finish(self.backend.name)
            self.epochs += 1
            return self.inputs.target_tokens
        if "sources" in self.inputs.job:
            return sum(len(text.split()) + 1 for text in self.translations())
        return sum(map(len, self.tokens()))

    def batches_drawn(self):
        """Draw batches of the pairs in the one batch of all, anew in each epoch, as ``train`` draws them."""
        whole, eos = self.batches[0], self.inputs.config["eos_id"]
        sides = ((whole.source, whole.source_valid_lens), (whole.target_out, whole.target_valid_lens))
        sources, targets = (
            [[word for word in row[:length] if word != eos] for row, length in zip(rows.tolist(), lens, strict=True)]
            for rows, lens in sides
        )
        return Batches(list(zip(sources, targets, strict=True)), self.inputs.job["batch_size"], num_steps=whole.source.shape[1])

    def translations(self):
        return [self.translator.translate([source])[0] for source in self.inputs.job["sources"]]

    def tokens(self):
        arrays, steps = self.inputs.arrays, self.inputs.options["steps"]
        return [list(map(int, row)) for row in self.backend.greedy(self.model, arrays["source"], arrays["lens"], steps)]

    def margins(self, parted):
        """Return how far below the best token each lies that another took, of the largest logit: [row, step, token] each."""
        arrays, config = self.inputs.arrays, self.model.config
        rows, steps, others = map(np.array, zip(*parted, strict=True))
        chosen = np.array(self.tokens())[rows]
        given = np.insert(chosen[:, :-1], 0, config.start_id, axis=1)
        logits = self.backend.logits(self.model, arrays["source"][rows], given, arrays["lens"][rows])[
            np.arange(len(rows)), steps
        ]
        below = logits[np.arange(len(rows)), chosen[np.arange(len(rows)), steps]] - logits[np.arange(len(rows)), others]
        return np.abs(below / np.abs(logits).max(axis=-1)).tolist()
