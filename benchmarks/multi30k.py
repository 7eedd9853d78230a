"""Train examples/multi30k.toml, average the best checkpoints, translate with every backend, and score.

    python benchmarks/multi30k.py DATA --work FOLDER [--directions en-de,de-en,en-fr] [--train torch] [--json FILE]

DATA holds Multi30k's {train,val,test_2016_flickr}.{en,de,fr}.gz. What FOLDER has already is not made again, so a run that was
cut goes on. The model is trained in PyTorch; the mean of its best weights translates the test set with a beam of five in each
backend in float32, and in NumPy in float64. A line that differs from that reference is a near-tie when the reference finds
the backend's own translation too, once every log-probability is off by no more than this backend's largest error.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from program import keep, machine, program
from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "examples" / "multi30k.toml"
REFERENCE = "numpy float64"
BEAM, LENGTH_PENALTY = 5, 1.0  # [decoding] of the configuration
DRAWS = 400  # searches with perturbed log-probabilities, for each line that differs
# Large arrays come from the heap, which keeps them: mapped anew at each step, their pages cost a fifth of the time.
KEEP_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592"}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def command(*arguments):
    return [sys.executable, "-m", "transformer_mb", *map(str, arguments)]


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*arguments, **more):
    subprocess.run(command(*arguments), env=environment(**more), check=True)


def subwords(data, folder, source, target):
    """A vocabulary for both sides, made where it is not there yet."""
    path = folder / "subwords"
    if not path.exists():
        first, second = (data / f"train.{side}.gz" for side in (source, target))
        run("tokenizer", "train", "--data", first, "--target", second, "--shared", "--vocab-size", 8000, "--out", path)
    return path


def training(data, folder, source, target):
    """The arguments of `train` but for where it runs and what it writes."""
    flags = ("--data", "--target", "--validation", "--validation-target")
    paths = [data / f"{name}.{side}.gz" for name in ("train", "val") for side in (source, target)]
    files = [argument for pair in zip(flags, paths, strict=True) for argument in pair]
    return "train", CONFIG, *files, "--tokenizer", subwords(data, folder, source, target)


def trained(data, folder, source, target, backend):
    """The folder of the averaged model; the training and the mean are made where they are not there yet."""
    model, mean, seconds = folder / "model", folder / "mean", folder / "seconds.json"
    if not seconds.exists():
        start = time.perf_counter()
        where = ("--backend", backend, "--out", model, "--log", folder / "log.jsonl")
        run(*training(data, folder, source, target), *where, **KEEP_MEMORY)
        seconds.write_text(json.dumps(round(time.perf_counter() - start)))
    if not mean.exists():
        run("average", model, "--out", mean)
    return mean


def worker(model, backend, dtype, sources, references, out):
    """Translations, seconds, and the log-probability of each token of the references, as one file."""
    from transformer_mb.inference.translation import Translator

    translator = Translator.load(model, backend, dtype=dtype)
    texts, seconds = [], []
    for _ in range(2):  # the first compiles
        start = time.perf_counter()
        found = translator.hypotheses(sources, beam=BEAM, length_penalty=LENGTH_PENALTY, n_best=1)
        seconds.append(round(time.perf_counter() - start, 2))
        texts = [one[0].text for one in found]
    scores = translator.score(zip(sources, references, strict=True))
    measured = {"texts": texts, "seconds": seconds, "log_probabilities": [one.log_probabilities for one in scores]}
    out.write_text(json.dumps(measured, ensure_ascii=False), encoding="utf-8")


def decoded(model, folder, backend, dtype):
    out = folder / f"{backend} {dtype}.json"
    if not out.exists():
        arguments = [sys.executable, __file__, str(folder), "--worker", str(model), backend, dtype, str(out)]
        subprocess.run(arguments, env=environment(), check=True)
    return json.loads(out.read_text(encoding="utf-8"))


class Perturbed:
    """A beam session whose log-probabilities are off by up to ``size``."""

    def __init__(self, session, size, random):
        self.session, self.size, self.random = session, size, random

    def step(self, tokens, count):
        log_probs, ids = self.session.step(tokens, count)
        return log_probs + self.random.uniform(-self.size, self.size, log_probs.shape), ids

    def reorder(self, rows):
        self.session.reorder(rows)


def perturbed_translations(translator, source, size):
    """The different translations that the reference finds of one sentence, with perturbed log-probabilities."""
    import numpy as np

    from transformer_mb.inference.translation import Translator

    random = np.random.default_rng(0)
    plain = translator.backend

    class Backend(type(plain)):
        def start_beam(self, *inputs):
            return Perturbed(super().start_beam(*inputs), size, random)

    sides = translator.model, translator.source_vocabulary, translator.target_vocabulary
    noisy = Translator(Backend(plain.device_name, plain.dtype), *sides, batch_size=50)
    found = noisy.hypotheses([source] * DRAWS, beam=BEAM, length_penalty=LENGTH_PENALTY, n_best=1)
    return {one[0].text for one in found}


def largest_error(own, reference):
    """Return the largest error of a token's log-probability."""
    import numpy as np

    pairs = zip(own["log_probabilities"], reference["log_probabilities"], strict=True)
    return float(np.max([np.abs(np.subtract(*pair)).max() for pair in pairs]))


def tokenized(texts, language):
    """Tokenize as papers on Multi30k score: Moses' punctuation and tokens, in lower case."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [tokenizer.tokenize(normalizer.normalize(text.lower()), return_str=True, escape=False) for text in texts]


def scores(texts, references, language):
    from sacrebleu.metrics import BLEU

    from transformer_mb.inference.evaluation import bleu, chrf

    lowercased = BLEU(tokenize="none", force=True)
    of_tokens = lowercased.corpus_score(tokenized(texts, language), [tokenized(references, language)])
    plain = {name: measure(texts, references) for name, measure in (("bleu", bleu), ("chrf", chrf))}
    named = {name: {"value": round(one.value, 2), "signature": one.signature} for name, one in plain.items()}
    return {**named, "bleu of lowercased Moses tokens": round(of_tokens.score, 2)}


def compared(model, sources, by_backend, reference):
    """Return of each backend the share of lines that are the reference's, and whether the others are near-ties."""
    from transformer_mb.inference.translation import Translator

    translator = Translator.load(model, "numpy", dtype="float64")
    results = {}
    for name, own in by_backend.items():
        error = largest_error(own, reference)
        differing = [number for number, text in enumerate(own["texts"]) if text != reference["texts"][number]]
        found = {number: perturbed_translations(translator, sources[number], error) for number in differing}
        results[name] = {
            "identical_lines": round(1 - len(differing) / len(sources), 4),
            "largest_error_of_a_log_probability": float(f"{error:.2g}"),
            "differing_lines": [
                {
                    "line": number + 1, "near_tie": own["texts"][number] in found[number], "text": own["texts"][number],
                    "reference": reference["texts"][number],
                }
                for number in differing
            ],
        }  # fmt: skip
    return results


def logged(log, name):
    """The lines of a training's log that hold this figure."""
    rows = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if name in row]


def curve(log):
    """Return of each validation [step, loss, BLEU, chrF]."""
    names = ("step", "validation_loss", "validation_bleu", "validation_chrf")
    return [[round(row[name], 4) for name in names] for row in logged(log, names[-1])]


def speed(log):
    return round(statistics.median(row["tokens_per_second"] for row in logged(log, "tokens_per_second")))


def direction(data, folder, source, target, backend, backends):
    folder.mkdir(parents=True, exist_ok=True)
    mean = trained(data, folder, source, target, backend)
    sources, references = (lines(data / f"test_2016_flickr.{side}.gz") for side in (source, target))
    (folder / "test.json").write_text(json.dumps([sources, references]), encoding="utf-8")
    reference = decoded(mean, folder, "numpy", "float64")
    by_backend = {name: decoded(mean, folder, name, "float32") for name in backends}
    against = compared(mean, sources, by_backend, reference)
    settings = json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))
    result = {
        "trained_with": backend, "seconds_of_training": json.loads((folder / "seconds.json").read_text()),
        "target_tokens_per_second": speed(folder / "log.jsonl"), "config": settings, "validations": curve(folder / "log.jsonl"),
        "scores": {REFERENCE: scores(reference["texts"], references, target)},
        "decoding": {},
    }  # fmt: skip
    for name, own in by_backend.items():
        result["scores"][name] = scores(own["texts"], references, target)
        result["decoding"][name] = {**against[name], "seconds": own["seconds"]}
    return result


def told(name, result):
    of, minutes = result["scores"][REFERENCE], result["seconds_of_training"] / 60
    yield f"{name}: trained {minutes:.1f} min, BLEU {of['bleu']['value']} ({of['bleu']['signature']})"
    yield f"  chrF {of['chrf']['value']}, BLEU of lowercased Moses tokens {of['bleu of lowercased Moses tokens']}"
    for backend, own in result["decoding"].items():
        ties = sum(line["near_tie"] for line in own["differing_lines"])
        count = len(own["differing_lines"])
        score = result["scores"][backend]["bleu"]["value"]
        yield f"  {backend}: BLEU {score}, {own['identical_lines']:.1%} identical, {ties} of {count} others near-ties"


def main():
    parser = program(__doc__, "directions that it holds and that are not asked for stay")
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--directions", default="en-de,de-en,en-fr")
    parser.add_argument("--train", default="torch", help="the backend that trains")
    parser.add_argument("--backends", default=",".join(BUILT_IN), help="those that translate")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        model, backend, dtype, out = options.worker
        sources, references = json.loads((options.data / "test.json").read_text(encoding="utf-8"))
        worker(Path(model), backend, dtype, sources, references, Path(out))
        return
    job = {"beam": BEAM, "length_penalty": LENGTH_PENALTY, "draws": DRAWS}
    content = {"job": job, "machine": machine(), "directions": {}}
    if options.json and options.json.exists():
        content["directions"] = json.loads(options.json.read_text(encoding="utf-8"))["directions"]
    for name in options.directions.split(","):
        folder = options.work / name
        result = direction(options.data, folder, *name.split("-"), options.train, options.backends.split(","))
        content["directions"][name] = result
        print(*told(name, result), sep="\n", flush=True)
        keep(options.json, content)


if __name__ == "__main__":
    main()
