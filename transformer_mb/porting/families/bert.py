"""BERT and its kin (MiniLM) as ``transformers`` saves them (Devlin et al. 2019): an encoder, with or without the pooler.

Heads for a task (``cls.*``, ``classifier.*``, ``qa_outputs.*``) have no place in the canonical form; a note says that they
stay behind. Words become ids outside of this project: a BERT vocabulary needs WordPiece, and each sentence ``[CLS]`` before
it and ``[SEP]`` after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...config import TransformerConfig
from ...data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ...errors import PortError
from ...files.regular import read_regular_text
from ...parameters import parameter_shapes
from ..ported import Arrays, NativeFile, PortedModel
from ..settings import check_sizes, made_config, vocabularies
from .generation import KNOWN
from .hugging_face import (
    ACTIVATIONS,
    CONFIG,
    Fields,
    check_holds,
    is_model,
    read_object,
    read_weights,
    take,
    vocabulary_of,
    write_object,
    write_weights,
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
    "attention.W_q": "attention.self.query",
    "attention.W_k": "attention.self.key",
    "attention.W_v": "attention.self.value",
    "attention.W_o": "attention.output.dense",
    "addnorm1.ln": "attention.output.LayerNorm",
    "ffn.dense1": "intermediate.dense",
    "ffn.dense2": "output.dense",
    "addnorm2.ln": "output.LayerNorm",
}
# What BertConfig is made of for the proof.
NATIVE = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "type_vocab_size"),
    *("max_position_embeddings", "layer_norm_eps", "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob"),
    "pad_token_id",
)
NEEDED = {
    "architecture": "encoder",
    "norm_position": "post",
    "norm_kind": "layer_norm",
    "norm_affine": True,
    "final_norm": False,
    "embedding_norm": True,
    "embedding_scale": False,
    "position": "learned",
    "position_offset": 0,
    "encoder_attention_bias": True,
    "ffn_bias": True,
    "ffn_dropout": 0.0,
}


def recognize(folder: Path) -> bool:
    return is_model(folder, "bert")


def read(folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """``settings`` may change what changes no tensor, and bring a vocabulary; raises PortError."""
    fields = Fields(folder / CONFIG, "bert")
    native = read_weights(folder)
    own = {n: a for n, a in native.tensors.items() if not n.startswith(HEADS) and n.removeprefix(PREFIX) != POSITION_IDS}
    heads = [name for name in native.tensors if name.startswith(HEADS)]
    found = {_modern(name): value for name, value in own.items()}
    config = made_config(_fields(fields, found), settings, {})
    check_sizes(config, len(found))
    shapes = parameter_shapes(config)
    weights = take(found, {name: foreign_name(name) for name in shapes}, shapes, str(folder))
    vocabulary, problem = _vocabulary(folder, config)
    vocabulary = vocabularies(settings).get("source_vocabulary", vocabulary)
    dropped = f"The task's head stays behind: {', '.join(heads)}." if heads else ""
    said, odd = fields.native(NATIVE, (*KNOWN, "position_embedding_type"))
    notes = (*native.notes, *odd, *(note for note in (dropped, problem) if note))
    ran = NativeFile(format="safetensors", tensors=own, settings={"config": said})
    return PortedModel(config=config, weights=weights, source_vocabulary=vocabulary, notes=notes, native=ran)


def write(model: PortedModel, folder: Path) -> None:
    """What ``BertModel.from_pretrained`` loads; without a pooler it makes one up and says so."""
    config = model.config
    check_holds(config, NEEDED, "A BERT folder")
    if not config.token_types:
        raise PortError("A BERT folder cannot hold this model: token_types must be at least 1, got 0.")
    fields = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": config.source_vocab_size,
        "hidden_size": config.num_hiddens,
        "intermediate_size": config.ffn_num_hiddens,
        "num_attention_heads": config.encoder_num_heads,
        "num_hidden_layers": config.encoder_num_layers,
        "max_position_embeddings": config.max_len,
        "type_vocab_size": config.token_types,
        "layer_norm_eps": config.norm_eps,
        "hidden_act": ACTIVATIONS[config.activation][0],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout_rate,
        "position_embedding_type": "absolute",
        "pad_token_id": config.pad_id,
    }
    write_object(folder / CONFIG, fields)
    write_weights(folder, {foreign_name(name): value for name, value in model.weights.items()})
    if model.source_vocabulary is not None:
        (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in model.source_vocabulary.entries), encoding="utf-8")


def foreign_name(name: str) -> str:
    """The name in a BertModel's state_dict."""
    if name in OUTER:
        return OUTER[name]
    layer, _, kind = name.rpartition(".")
    if layer in OUTER:
        return f"{OUTER[layer]}.{kind}"
    _, _, block, layer = layer.split(".", 3)
    return f"encoder.layer.{block.removeprefix('block')}.{BLOCK[layer]}.{kind}"


def _fields(fields: Fields, found: Arrays) -> dict[str, Any]:
    fields.require("position_embedding_type", "absolute", "absolute")
    fields.require("is_decoder", False, False)
    pad_id = fields.get("pad_token_id", int)
    table = found.get(OUTER["encoder.embedding.weight"])
    return {
        "architecture": "encoder",
        "source_vocab_size": fields.get("vocab_size", int),
        "num_hiddens": fields.get("hidden_size", int),
        "ffn_num_hiddens": fields.get("intermediate_size", int),
        "encoder_num_heads": fields.get("num_attention_heads", int),
        "encoder_num_layers": fields.get("num_hidden_layers", int),
        "max_len": fields.get("max_position_embeddings", int),
        "token_types": fields.get("type_vocab_size", int),
        "norm_eps": fields.get("layer_norm_eps", float),
        "activation": fields.activation("hidden_act"),
        "dropout": float(fields.get("hidden_dropout_prob", float)),
        "attention_dropout": float(fields.get("attention_probs_dropout_prob", float)),
        "pooler": "pooler.dense.weight" in found,
        "embedding_norm": True,
        "embedding_scale": False,
        "position": "learned",
        "encoder_attention_bias": True,
        "pad_id": pad_id,
        "padding_vector_zero": table is not None and 0 <= pad_id < len(table) and not table[pad_id].any(),
    }


def _modern(name: str) -> str:
    """The name in a BertModel; files of before 2019 call the scale and shift of a normalisation gamma and beta."""
    name = name.removeprefix(PREFIX)
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _vocabulary(folder: Path, config: TransformerConfig) -> tuple[Vocabulary | None, str]:
    ids = _token_ids(folder)
    if not ids:
        return None, f"There is no {VOCABULARY} or {TOKENIZER} that lists the tokens: the vocabulary was left out."
    special = {role: ids.get(ROLES[role], config.pad_id) for role in SPECIAL_TOKENS}
    return vocabulary_of(ids, config.source_vocab_size or 0, special, VOCABULARY)


def _token_ids(folder: Path) -> Mapping[str, int]:
    if (folder / VOCABULARY).is_file():
        try:
            lines = read_regular_text(folder / VOCABULARY, "vocabulary").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise PortError(f"{folder / VOCABULARY} cannot be read: {error}.") from None
        return {token: number for number, token in enumerate(lines)}
    if not (folder / TOKENIZER).is_file():
        return {}
    model = read_object(folder / TOKENIZER).get("model")
    ids = model.get("vocab") if isinstance(model, dict) else None
    return ids if isinstance(ids, dict) else {}
