"""CTranslate2 on the folder that this project exports: ``compute_type=float32`` or ``int8``."""

from __future__ import annotations

import json

import ctranslate2


class Contestant:
    def __init__(self, inputs, compute_type="float32"):
        folder = inputs.folder / "ctranslate2"
        self.version = f"ctranslate2 {ctranslate2.__version__}"
        self.inputs, self.exact = inputs, compute_type == "float32"
        self.engine = ctranslate2.Translator(str(folder), device="cpu", compute_type=compute_type)
        words = json.loads((folder / "shared_vocabulary.json").read_text())
        self.numbers = {word: number for number, word in enumerate(words)}
        self.lines = [[words[number] for number in row] for row in inputs.arrays["source"]]

    def check(self):
        return self.tokens() if self.exact else None  # what int8 answers is its own

    def round(self):
        return sum(map(len, self.tokens()))

    def tokens(self):
        steps = self.inputs.options["steps"]
        options = {"beam_size": 1, "max_decoding_length": steps, "max_batch_size": len(self.lines)}
        results = self.engine.translate_batch(self.lines, **options)
        return [[self.numbers[word] for word in result.hypotheses[0]] for result in results]
