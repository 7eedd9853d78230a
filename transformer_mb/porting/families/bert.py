"""BERT and its kin (MiniLM) as ``transformers`` saves them (Devlin et al. 2019): an encoder, with or without the pooler.

Heads for a task (``cls.*``, ``classifier.*``, ``qa_outputs.*``) have no place in the canonical form; a note says that they
stay behind. Words become ids outside of this project: a BERT vocabulary needs WordPiece, and each sentence ``[CLS]`` before
it and ``[SEP]`` after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ...errors import PortError
from ...files.regular import read_regular_text
from ..model import Arrays, NativeFile, PortedModel
from ..safety.port_errors import system_errors
from ..settings import build_config, check_holds, check_sizes, usual, vocabularies
from .generation import KNOWN
from .hugging_face import (
    ACTIVATIONS,
    CONFIG,
    Fields,
    LibraryModel,
    canonical_weights,
    family_of,
    read_object,
    read_weights,
    vocabulary_of,
    write_object,
    write_weights,
)
from .naming_schemes import LayerNames

MODEL = LibraryModel(
    model_type="bert",
    classes=(
        "BertModel",
        *(f"BertFor{task}" for task in ("PreTraining", "MaskedLM", "NextSentencePrediction", "MultipleChoice")),
        *(f"BertFor{task}" for task in ("SequenceClassification", "TokenClassification", "QuestionAnswering")),
    ),
    nameless=(
        "hidden_size",
        "it names no model (model_type, architectures): from bert (--from) reads it where its tensors are BERT's",
        f"{CONFIG} names no model: that it is a BERT and no kin of it was taken on trust.",
    ),
)
PREFIX = "bert."
HEADS = ("cls.", "classifier.", "qa_outputs.")
POSITION_IDS = "embeddings.position_ids"  # 0, 1, 2, ...: no weights
VOCABULARY, TOKENIZER = "vocab.txt", "tokenizer.json"
ROLES = {"unk": "[UNK]", "pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]"}
OUTER = {
    "encoder.embedding.weight": "embeddings.word_embeddings.weight",
    "encoder.pos_embedding.weight": "embeddings.position_embeddings.weight",
    "encoder.type_embedding.weight": "embeddings.token_type_embeddings.weight",
    "encoder.embedding_norm": "embeddings.LayerNorm",
    "pooler.dense": "pooler.dense",
}
BLOCK = {
    **{f"attention.W_{one[0]}": f"attention.self.{one}" for one in ("query", "key", "value")},
    "attention.W_o": "attention.output.dense",
    "addnorm1.ln": "attention.output.LayerNorm",
    "ffn.dense1": "intermediate.dense",
    "ffn.dense2": "output.dense",
    "addnorm2.ln": "output.LayerNorm",
}
NAMES = LayerNames(block="encoder.layer.{number}.", blocks={"encoder": BLOCK}, outer=OUTER)  # of a BertModel's state_dict
SIZES = {
    "source_vocab_size": "vocab_size",
    "num_hiddens": "hidden_size",
    "ffn_num_hiddens": "intermediate_size",
    "encoder_num_heads": "num_attention_heads",
    "encoder_num_layers": "num_hidden_layers",
    "max_len": "max_position_embeddings",
    "token_types": "type_vocab_size",
    "pad_id": "pad_token_id",
}
RATES = {
    "norm_eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
NATIVE = (*SIZES.values(), *RATES.values(), "hidden_act")  # what BertConfig is made of for the proof
FIXED = {
    "architecture": "encoder",
    "embedding_norm": True,
    "embedding_scale": False,
    "position": "learned",
    "encoder_attention_bias": True,
}
NEEDED = {
    **FIXED,
    **usual("norm_position", "norm_kind", "norm_affine", "final_norm", "position_offset", "ffn_bias"),
    "ffn_dropout": 0.0,
}


def read(folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """``settings`` may change what changes no tensor, and bring a vocabulary; raises PortError."""
    fields = Fields(folder / CONFIG, MODEL)
    absent = fields.fill({**SIZES, **RATES}, settings)
    native = read_weights(folder)
    own = {n: a for n, a in native.tensors.items() if not n.startswith(HEADS) and n.removeprefix(PREFIX) != POSITION_IDS}
    heads = [name for name in native.tensors if name.startswith(HEADS)]
    _check_position_ids(native.tensors, folder)
    tensors = {_modern(name): value for name, value in own.items()}
    config = build_config(_fields(fields, tensors), settings, {})
    check_sizes(config, len(tensors))
    weights = canonical_weights(tensors, NAMES, config, folder)
    vocabulary, problem = _vocabulary(folder, config)
    vocabulary = vocabularies(settings).get("source_vocabulary", vocabulary)
    dropped = f"The task's head stays behind: {', '.join(heads)}." if heads else ""
    model_fields, unknown = fields.native(NATIVE, (*KNOWN, "position_embedding_type", "tie_word_embeddings"))
    notes = (*fields.doubts, *native.notes, *unknown, *(note for note in (dropped, problem) if note))
    run = NativeFile(format="safetensors", tensors=own, settings={"config": model_fields})
    return PortedModel(config=config, weights=weights, source_vocabulary=vocabulary, notes=notes, native=run, shown=absent)


def write(model: PortedModel, folder: Path) -> None:
    """Write what ``BertModel.from_pretrained`` loads; without a pooler it makes one up and says so."""
    config = model.config
    check_holds(config, {**NEEDED, "embedding_dropout_rate": config.dropout}, "A BERT folder")
    if not config.token_types:
        raise PortError("A BERT folder cannot hold this model: token_types must be at least 1, got 0.")
    fields = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        **{theirs: getattr(config, ours) for ours, theirs in {**SIZES, **RATES}.items()},
        "attention_probs_dropout_prob": config.attention_dropout_rate,
        "hidden_act": ACTIVATIONS[config.activation][0],
        "position_embedding_type": "absolute",
    }
    write_object(folder / CONFIG, fields)
    write_weights(folder, {NAMES.tensor(name): value for name, value in model.weights.items()})
    if model.source_vocabulary is not None:
        (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in model.source_vocabulary.entries), encoding="utf-8")


def _fields(fields: Fields, tensors: Arrays) -> dict[str, Any]:
    fields.require("position_embedding_type", "absolute", "absolute")
    fields.require("is_decoder", False, False)
    sizes = fields.all(SIZES, int)
    table, pad_id = tensors.get(OUTER["encoder.embedding.weight"]), sizes["pad_id"]
    return {
        **FIXED,
        **sizes,
        **fields.all(RATES, float),
        "activation": fields.activation("hidden_act"),
        "pooler": "pooler.dense.weight" in tensors,
        "padding_vector_zero": table is not None and 0 <= pad_id < len(table) and not table[pad_id].any(),
    }


def _check_position_ids(tensors: Arrays, folder: Path) -> None:
    """Older releases saved them and computed with what a file held."""
    for name, array in tensors.items():
        if name.removeprefix(PREFIX) == POSITION_IDS and not np.array_equal(array.reshape(-1), np.arange(array.size)):
            raise PortError(f"{folder}: {name} must count from 0, got {array.reshape(-1)[:5].tolist()} at its beginning.")


def _modern(name: str) -> str:
    """The name in a BertModel; files of before 2019 call the scale and shift of a normalisation gamma and beta."""
    name = name.removeprefix(PREFIX)
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _vocabulary(folder: Path, config: TransformerConfig) -> tuple[Vocabulary | None, str]:
    ids = _token_ids(folder)
    if not ids:
        return None, f"There is no {VOCABULARY} or {TOKENIZER} that lists the tokens: the vocabulary was left out."
    special = {role: ids.get(ROLES[role], config.pad_id) for role in SPECIAL_TOKENS}
    words = partial(Vocabulary, pipeline="words", special=special)
    return vocabulary_of(ids, config.source_vocab_size or 0, VOCABULARY, words)


def _token_ids(folder: Path) -> Mapping[str, int]:
    if (folder / VOCABULARY).is_file():
        with system_errors(f"{folder / VOCABULARY} cannot be read", UnicodeDecodeError):
            lines = read_regular_text(folder / VOCABULARY, "vocabulary").removesuffix("\n").split("\n")
        return {token: number for number, token in enumerate(lines)}
    if not (folder / TOKENIZER).is_file():
        return {}
    model = read_object(folder / TOKENIZER).get("model")
    ids = model.get("vocab") if isinstance(model, dict) else None
    return ids if isinstance(ids, dict) else {}


ROW = family_of(MODEL, "HF BERT/MiniLM folder", read=read, write=write, options=", add_pooling_layer={pooler}")
