"""MarianMT as ``transformers`` saves it (Junczys-Dowmunt et al. 2018): post-norm, biases everywhere, sines before cosines.

``final_logits_bias`` is the output projection's bias. ``forced_eos_token_id`` has no place in the canonical form: it makes
``generate`` end its longest output with ``</s>``, where ours is cut off.
``transformers`` knows no other order of normalisation for this family, whatever ``normalize_before`` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ...positions import sinusoid_table
from ..model import NativeFile, PortedModel
from ..settings import build_config, check_holds, check_sizes, usual, vocabularies
from .generation import GENERATION, KNOWN, check_ids, read_decoding
from .hugging_face import (
    ACTIVATIONS,
    CONFIG,
    Fields,
    LibraryModel,
    canonical_weights,
    family_of,
    read_weights,
    rows_without_token,
    write_object,
    write_weights,
)
from .marian_tokenizers import both_vocabularies, without_tokenizers, write_vocabularies
from .naming_schemes import LayerNames, projections

MODEL = LibraryModel(model_type="marian", classes=("MarianMTModel",))
BIAS = "final_logits_bias"
SHARED, HEAD = "model.shared.weight", "lm_head.weight"
TABLES = {"encoder": "model.encoder.embed_tokens.weight", "decoder": "model.decoder.embed_tokens.weight"}
POSITIONS = tuple(f"model.{side}.embed_positions.weight" for side in TABLES)
FEED_FORWARD = {"ffn.dense1": "fc1", "ffn.dense2": "fc2"}
BLOCKS = {
    "encoder": {
        **projections("attention", "self_attn"),
        "addnorm1.ln": "self_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm2.ln": "final_layer_norm",
    },
    "decoder": {
        **projections("attention1", "self_attn"),
        "addnorm1.ln": "self_attn_layer_norm",
        **projections("attention2", "encoder_attn"),
        "addnorm2.ln": "encoder_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm3.ln": "final_layer_norm",
    },
}
# A shared table has the name of its first place.
OUTER = {
    "encoder.embedding.weight": TABLES["encoder"],
    "decoder.embedding.weight": TABLES["decoder"],
    "decoder.dense.weight": HEAD,
    "decoder.dense.bias": BIAS,
}
NAMES = LayerNames(block="model.{side}.layers.{number}.", blocks=BLOCKS, outer=OUTER)
SIZES = {
    "num_hiddens": "d_model",
    "ffn_num_hiddens": "encoder_ffn_dim",
    "encoder_num_heads": "encoder_attention_heads",
    "decoder_num_heads": "decoder_attention_heads",
    "encoder_num_layers": "encoder_layers",
    "decoder_num_layers": "decoder_layers",
    "max_len": "max_position_embeddings",
    "pad_id": "pad_token_id",
    "eos_id": "eos_token_id",
    "decoder_start_id": "decoder_start_token_id",
}
RATES = {"dropout": "dropout", "attention_dropout": "attention_dropout", "ffn_dropout": "activation_dropout"}
# Second names that transformers lets overrule the first.
ALIASES = {"hidden_size": "d_model", "num_attention_heads": "encoder_attention_heads", "num_hidden_layers": "encoder_layers"}
SHARING = ("share_encoder_decoder_embeddings", "tie_word_embeddings")
# What MarianConfig is made of for the proof.
NATIVE = (
    *("vocab_size", "decoder_vocab_size", "decoder_ffn_dim", "activation_function", "scale_embedding", "bos_token_id"),
    *(*SIZES.values(), *RATES.values(), *SHARING),
)
FIXED = {  # the epsilon is in no field of config.json
    **usual("architecture", "norm_position", "norm_kind", "norm_eps", "norm_affine", "final_norm", "embedding_norm"),
    **usual("position"),
    "sinusoid_layout": "halves",
    "position_offset": 0,
    "encoder_attention_bias": True,
    "decoder_attention_bias": True,
    **usual("ffn_bias", "token_types", "compat_decode"),
}


def read(folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """``settings`` may change what changes no tensor, and bring vocabularies; raises PortError."""
    fields = Fields(folder / CONFIG, MODEL)
    absent = fields.fill({**SIZES, **RATES}, settings)
    native = read_weights(folder)
    own = _without_positions(native.tensors, folder)
    tensors = dict(own)
    tables = _tables(tensors, folder)
    if BIAS in tensors and tensors[BIAS].ndim == 2:
        tensors[BIAS] = tensors[BIAS].reshape(-1)
    recorded = _fields(fields, tables)
    decoding = read_decoding(folder, fields.values, settings)
    config = build_config({**recorded, "suppress_ids": decoding.suppress_ids}, settings, {})
    check_ids(decoding, fields.values)
    check_sizes(config, len(native.tensors))
    _check_ties(fields, config, native.tensors)
    weights = canonical_weights({**tensors, **_stored(tables, config)}, NAMES, config, folder)
    source, target, problem = both_vocabularies(folder, config)
    unnamed = tuple(number for number in rows_without_token(target) if number not in config.suppress_ids)
    config = config.replace(suppress_ids=(*config.suppress_ids, *unnamed))
    model_fields, unknown = fields.native(NATIVE, (*ALIASES, *KNOWN))
    notes = (*native.notes, *unknown, *decoding.notes, *((problem,) if problem else ()), *_of_unnamed(unnamed))
    generation = dict(decoding.fields)
    if unnamed:  # they are ruled out on both sides of the proof
        generation["suppress_tokens"] = [*generation.get("suppress_tokens", []), *unnamed]
    run = NativeFile(format="safetensors", tensors=own, settings={"config": model_fields, "generation": generation})
    words: dict[str, Any] = {"source_vocabulary": source, "target_vocabulary": target, **vocabularies(settings)}
    return PortedModel(config=config, weights=weights, notes=notes, native=run, shown=absent, **words)


def write(model: PortedModel, folder: Path) -> None:
    """Write what ``MarianMTModel.from_pretrained`` loads, and of subwords what ``AutoTokenizer.from_pretrained`` does."""
    config = model.config
    check_holds(config, {**FIXED, "embedding_dropout_rate": config.dropout}, "A MarianMT folder")
    fields = {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.source_vocab_size,
        "decoder_vocab_size": config.target_vocab_size,
        "share_encoder_decoder_embeddings": config.share_embeddings,
        "tie_word_embeddings": config.tie_output,
        "decoder_ffn_dim": config.ffn_num_hiddens,
        "activation_function": ACTIVATIONS[config.activation][0],
        "scale_embedding": config.embedding_scale,
        "bos_token_id": config.bos_id,
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        **{theirs: getattr(config, ours) for ours, theirs in RATES.items()},
        "attention_dropout": config.attention_dropout_rate,
        "decoder_start_token_id": config.start_id,
    }
    generation = {
        **{name: fields[name] for name in ("bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id")},
        **({"bad_words_ids": [[number] for number in config.suppress_ids]} if config.suppress_ids else {}),
        "forced_eos_token_id": config.eos_id,
        "max_length": config.max_len,
    }
    write_object(folder / CONFIG, fields)
    write_object(folder / GENERATION, generation)
    write_weights(folder, _foreign_weights(model))
    write_vocabularies(folder, model)


def _foreign_weights(model: PortedModel) -> dict[str, np.ndarray]:
    config = model.config
    tensors = {NAMES.tensor(name): value for name, value in model.weights.items()}
    bias = tensors.pop(BIAS, np.zeros(config.target_vocab_size or 0, np.float32))
    tensors[BIAS] = bias.reshape(1, -1)
    if config.share_embeddings:
        tensors[SHARED] = tensors.pop(TABLES["encoder"])
        if not config.tie_output:
            # transformers then unties all three tables.
            tensors.update({name: tensors[SHARED].copy() for name in TABLES.values()})
    return tensors


def _of_unnamed(ids: tuple[int, ...]) -> tuple[str, ...]:
    if not ids:
        return ()
    said = f"The ids {ids[0]} to {ids[-1]}" if len(ids) > 1 else f"The id {ids[0]}"
    return (
        f"{said} of the embedding stand for no token: no text gives them, and decoding never produces them (suppress_ids).",
    )


def _without_positions(tensors: Mapping[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    """Releases before 4.0 saved the sinusoids, which are no weights; others than ours would be another model."""
    for name in POSITIONS:
        table = tensors.get(name)
        if table is None:
            continue
        whole = table.ndim == 2 and table.shape[1] % 2 == 0
        expected = sinusoid_table(table.shape[0], table.shape[1], "halves") if whole else None
        if expected is None or np.abs(table - expected).max(initial=0.0) > 1e-6:
            raise PortError(f"{folder}: {name} must be the table of sinusoids, but it is not.")
    return {name: array for name, array in tensors.items() if name not in POSITIONS}


def _tables(tensors: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    """Takes the embeddings of both sides and the output projection out of ``tensors``: each is stored where it is not tied."""
    shared = tensors.pop(SHARED, None)
    tables = {side: tensors.pop(name, shared) for side, name in TABLES.items()}
    missing = [TABLES[side] for side, table in tables.items() if table is None]
    if missing:
        raise PortError(f"{folder} must hold {SHARED} or {' and '.join(missing)}, but it holds none of them.")
    tables["head"] = tensors.pop(HEAD, tables["decoder"])
    return tables  # type: ignore[return-value]


def _stored(tables: Mapping[str, np.ndarray], config: TransformerConfig) -> dict[str, np.ndarray]:
    """Return what the canonical form stores of the three tables."""
    stored = {TABLES["encoder"]: tables["encoder"]}
    if not config.share_embeddings:
        stored[TABLES["decoder"]] = tables["decoder"]
    if not config.tie_output:
        stored[HEAD] = tables["head"]
    return stored


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return first is second or np.array_equal(first, second)


def _fields(fields: Fields, tables: Mapping[str, np.ndarray]) -> dict[str, Any]:
    sizes = fields.all(SIZES, int)
    fields.require("decoder_ffn_dim", sizes["ffn_num_hiddens"], sizes["ffn_num_hiddens"])
    for second, first in ALIASES.items():
        fields.require(second, fields.values[first], fields.values[first])
    pad_id, vocab_size = sizes["pad_id"], fields.get("vocab_size", int)
    return {
        **FIXED,
        **sizes,
        **fields.all(RATES, float),
        "source_vocab_size": vocab_size,
        "target_vocab_size": fields.get("decoder_vocab_size", int, vocab_size),
        "bos_id": fields.get("bos_token_id", int, sizes["decoder_start_id"]),
        "activation": fields.activation("activation_function"),
        "embedding_scale": fields.get("scale_embedding", bool),
        "share_embeddings": _same(tables["encoder"], tables["decoder"]),
        "tie_output": _same(tables["decoder"], tables["head"]),
        "padding_vector_zero": all(0 <= pad_id < len(table) and not table[pad_id].any() for table in tables.values()),
        "output_bias": True,
    }


def _check_ties(fields: Fields, config: TransformerConfig, tensors: Mapping[str, np.ndarray]) -> None:
    """transformers ignores the tables of a file that its config.json says are one, and makes up those said to be apart."""
    tied, shared = fields.get("tie_word_embeddings", bool, True), fields.get("share_encoder_decoder_embeddings", bool, True)
    if not shared and (absent := [name for name in TABLES.values() if name not in tensors]):
        listed = " and ".join(absent)
        raise PortError(f"{fields.path}: share_encoder_decoder_embeddings is false, but the file holds no {listed}.")
    if not tied and HEAD not in tensors:
        raise PortError(f"{fields.path}: tie_word_embeddings is false, but the file holds no {HEAD}.")
    if tied and not config.tie_output:
        raise PortError(f"{fields.path}: tie_word_embeddings is true, but {HEAD} is not the decoder's embedding table.")
    if tied and shared and not config.share_embeddings:
        raise PortError(f"{fields.path}: share_encoder_decoder_embeddings is true, but the two embedding tables differ.")


ROW = family_of(MODEL, "HF MarianMT folder", read=read, write=write, note=without_tokenizers)
