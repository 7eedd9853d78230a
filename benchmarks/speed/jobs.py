"""Jobs that are timed: each one's model, weights and inputs, made once into a folder that every contestant reads.

The weights are this project's initial ones, or those of a short training; a foreign program gets them in its own format, by
``port`` where it has files of its own.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import transformer_mb as tmb
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Batches, build_vocabularies, demo_pairs, pair_ids, preprocess_nmt, read_pairs
from transformer_mb.initialization import initial_weights
from transformer_mb.porting.port import port
from transformer_mb.training import Job, TrainingRecipe, train_model

from .asked import training_flop

PAIRS, SENTENCES, EPOCHS = 600, 100, 100
VOCABULARY, ROWS, LENGTH = 8000, 32, 32
BASE = {
    **tmb.presets.ARCHITECTURES["vaswani_base"],
    "source_vocab_size": VOCABULARY,
    "target_vocab_size": VOCABULARY,
    "encoder_attention_bias": True,
    "decoder_attention_bias": True,
    "max_len": 512,
}
# What torch.nn.Transformer and paddle.nn.Transformer are: final norms, and dropout inside attention and feed-forward network.
STACKS = TransformerConfig(
    **{**BASE, "share_embeddings": False, "tie_output": False, "output_bias": True, "attention_dropout": 0.1},
    final_norm=True, ffn_dropout=0.1, embedding_dropout=0.1,
)  # fmt: skip
# What MarianMT is: one table, sines before cosines, and the padding starts a translation and is never one of its tokens.
MARIAN = TransformerConfig(
    **{**BASE, "output_bias": True}, ffn_dropout=0.0, activation="silu", sinusoid_layout="halves", padding_vector_zero=True,
    eos_id=0, pad_id=VOCABULARY - 1, bos_id=1, decoder_start_id=VOCABULARY - 1, suppress_ids=(VOCABULARY - 1,),
)  # fmt: skip
ADAM = {"optimizer": "adam", "learning_rate": 1e-4, "clip_norm": 1.0, "normalization": "tokens"}
FIELDS = """
import dataclasses, transformer_mb
print(*(field.name for field in dataclasses.fields(transformer_mb.TransformerConfig)))
"""


def save(folder, config, weights, options, arrays, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    own = {f"weights/{name}": array.astype(np.float32) for name, array in weights.items()}
    np.savez(folder / "arrays.npz", **own, **arrays)
    (folder / "job.json").write_text(json.dumps({"config": config.to_dict(), "options": options, **texts}))


def read_by(checkout, folder):
    """Leave out of a made job what the configuration of an earlier commit has no field for, where it is the default."""
    path = {"PYTHONPATH": str(checkout)}
    asked = subprocess.run(
        [sys.executable, "-c", FIELDS], cwd=checkout, env=os.environ | path, check=True, capture_output=True, text=True
    )
    known, file = set(asked.stdout.split()), folder / "job.json"
    job = json.loads(file.read_text())
    defaults = {field.name: field.default for field in dataclasses.fields(TransformerConfig)}
    job["config"] = {name: value for name, value in job["config"].items() if name in known or value != defaults[name]}
    file.write_text(json.dumps(job))


def _book(data):
    pairs = read_pairs(data, num_examples=PAIRS) if data else demo_pairs()[0][:PAIRS]
    recipe = TrainingRecipe(**{**tmb.presets.RECIPES["d2l"], "epochs": EPOCHS})
    vocabularies = build_vocabularies(pairs, recipe.pipeline, min_freq=recipe.min_freq)
    batches = Batches(pair_ids(pairs, *vocabularies), recipe.batch_size, num_steps=recipe.num_steps)
    return pairs, recipe, vocabularies, tmb.presets.d2l(*map(len, vocabularies)), batches


def d2l_training(folder, data):
    """The book's: 600 pairs, batches of 64 x 10, 2 layers, 32 hidden units, 4 heads, Adam 0.005, clipping at 1."""
    _, recipe, _, config, batches = _book(data)
    epoch = list(batches.epoch(0))
    whole = {name: np.concatenate([getattr(batch, name) for batch in epoch])[None] for name in epoch[0]._fields}
    weights = initial_weights(config, 0, "xavier")
    save(folder, config, weights, recipe.trainer_options(), whole, batch_size=recipe.batch_size)


def d2l_decoding(folder, data):
    """The same model, trained with NumPy, translates one sentence after the other, at positions that are the book's."""
    pairs, recipe, vocabularies, config, batches = _book(data)
    backend = tmb.get_backend("numpy")
    model = backend.build(config)
    train_model(Job(backend, batches, recipe), model)
    processed = dict.fromkeys(preprocess_nmt(source) for source, _ in pairs)
    # The book cuts longer ones, so that its model is asked something else.
    sources = [source for source in processed if len(source.split()) < recipe.num_steps][:SENTENCES]
    entries = [list(vocabulary.entries) for vocabulary in vocabularies]
    as_the_book = config.replace(compat_decode="d2l")
    save(folder, as_the_book, backend.get_weights(model), {"steps": recipe.num_steps}, {}, sources=sources, entries=entries)


def _batch(rows=ROWS, length=LENGTH):
    source, target_in, target_out = np.random.default_rng(0).integers(4, VOCABULARY - 1, (3, 1, rows, length))
    lens = np.full((1, rows), length)
    named = ("source", "source_valid_lens", "target_in", "target_out", "target_valid_lens")
    return dict(zip(named, (source, lens, target_in, target_out, lens), strict=True))


def base_training(folder, data):
    """6 + 6 layers, 512 hidden units, 2048 inside, 8 heads, 32 x 32 tokens of 8,000, dropout 0.1: as nn.Transformer has it."""
    _training(folder, STACKS, ROWS, LENGTH)


def _training(folder, config, rows, length):
    asked = {"flop_per_token": training_flop(config, length)}
    save(folder, config, initial_weights(config, 0, "xavier"), ADAM, _batch(rows, length), **asked)


def base_training_on_gpu(folder, data):
    """The same model with what a GPU needs to be busy: 256 x 128 tokens."""
    _training(folder, STACKS, 256, 128)


def big_training_on_gpu(folder, data):
    """The larger model of Vaswani et al. (2017), table 3: 1,024 hidden units, 4,096 inside, 16 heads; 128 x 128 tokens."""
    big = STACKS.replace(num_hiddens=1024, ffn_num_hiddens=4096, encoder_num_heads=16, decoder_num_heads=16)
    _training(folder, big, 128, 128)


def _marian(folder):
    """Write a checkpoint, and the folders that MarianMT and CTranslate2 read, made once for all jobs; <eos> is never the
    best token. CTranslate2's only where it is there: a machine with a GPU does without."""
    weights = dict(initial_weights(MARIAN, 0, "xavier"))
    weights["decoder.dense.bias"] = np.where(np.arange(VOCABULARY) == MARIAN.eos_id, -1e4, 0.0).astype(np.float32)
    common = folder.parent / "marian"
    folder.mkdir(parents=True, exist_ok=True)
    if not (common / "checkpoint").exists():
        tmb.save(tmb.get_backend("numpy").from_weights(MARIAN, weights), common / "checkpoint")
    for to in ("marian", "ctranslate2"):
        if to == "ctranslate2" and find_spec(to) is None:
            continue
        if not (common / to).exists():
            port(common / "checkpoint", common / to, to=to)
        if not (folder / to).exists():
            (folder / to).symlink_to(common / to)
    return weights


def marian_training(folder, data):
    """The same sizes as MarianMT has them: one table, no dropout inside."""
    save(folder, MARIAN, _marian(folder), ADAM, _batch())


def _decoding(rows):
    def make(folder, data):
        source = np.random.default_rng(1).integers(4, VOCABULARY - 1, (rows, LENGTH))
        save(folder, MARIAN, _marian(folder), {"steps": LENGTH}, {"source": source, "lens": np.full(rows, LENGTH)})

    return make


JOBS = {
    "d2l_training": d2l_training,
    "d2l_decoding": d2l_decoding,
    "base_training": base_training,
    "base_training_on_gpu": base_training_on_gpu,
    "big_training_on_gpu": big_training_on_gpu,
    "marian_training": marian_training,
    "base_decoding_1": _decoding(1),
    "base_decoding_32": _decoding(32),
    "base_decoding_256": _decoding(256),
}


def made(name, folder, data):
    """The folder of a job; what is there is kept."""
    place = Path(folder) / name
    if not (place / "job.json").exists():
        JOBS[name](place, data)
    return place
