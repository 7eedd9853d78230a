"""A CTranslate2 folder: written through its own specifications, run by its own engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ..probe import padded_tokens
from .ctranslate2_spec import specification

Arrays = dict[str, np.ndarray]
ONE_THREAD = {"device": "cpu", "compute_type": "float32", "inter_threads": 1, "intra_threads": 1}
TOGETHER = 64  # sentences in one batch


def write(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """``arrays`` are canonical weights in float32; fills the folder ``path``."""
    config = TransformerConfig.from_dict(settings["config"])
    tokens = {side: settings[f"{side}_tokens"] for side in ("source", "target") if f"{side}_tokens" in settings}
    spec = specification(config, arrays, tokens)
    spec.validate()
    spec.optimize()  # a table that is in two places is stored once
    spec.save(settings["path"])
    return {}, {}


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Encoder and decoder give ``tokens`` alone: the engine does not show its states. One side alone gives those."""
    import ctranslate2

    config, path, facts = (
        TransformerConfig.from_dict(settings["config"]),
        settings["path"],
        {"ctranslate2": ctranslate2.__version__},
    )
    if not config.has_decoder:
        encoder = ctranslate2.Encoder(path, **ONE_THREAD)
        types = [row.tolist() for row in arrays["token_types"]] if "token_types" in arrays else None
        output = encoder.forward_batch(_view(arrays["source"]), _view(arrays["source_valid_lens"]), token_type_ids=types)
        outputs = {"encoder": np.array(output.last_hidden_state)}
        if config.pooler:
            outputs["pooled"] = np.array(output.pooler_output)
        return outputs, facts
    if not config.has_encoder:
        generator = ctranslate2.Generator(path, **ONE_THREAD)
        return {"logits": np.array(generator.forward_batch(arrays["target"].tolist()))}, facts
    source_tokens, target_tokens = vocabularies(path)
    translator = ctranslate2.Translator(path, **ONE_THREAD)
    found = translator.translate_batch(
        _sources(arrays, source_tokens),
        max_batch_size=TOGETHER,
        beam_size=1,
        max_decoding_length=settings["max_steps"],
        min_decoding_length=0,
        max_input_length=0,
    )
    numbers = {token: number for number, token in enumerate(target_tokens)}
    sentences = [[numbers[token] for token in one.hypotheses[0]] for one in found]
    return {"tokens": padded_tokens(sentences, settings["max_steps"])}, facts


def score(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """``log_probabilities`` [B, T + 1] of the tokens of ``target`` [B, T] and the end token after them, one batch."""
    import ctranslate2

    source_tokens, target_tokens = vocabularies(settings["path"])
    translator = ctranslate2.Translator(settings["path"], **ONE_THREAD)
    targets = [[target_tokens[number] for number in row] for row in arrays["target"].tolist()]
    found = translator.score_batch(_sources(arrays, source_tokens), targets, max_input_length=0)
    return {"log_probabilities": np.array([one.log_probs for one in found])}, {}


def vocabularies(path: str) -> tuple[list[str], list[str]]:
    """The tokens by id of both sides of a folder."""
    shared = Path(path) / "shared_vocabulary.json"
    names = [shared, shared] if shared.is_file() else [Path(path) / f"{side}_vocabulary.json" for side in ("source", "target")]
    source, target = (json.loads(name.read_text(encoding="utf-8")) for name in names)
    return source, target


def _sources(arrays: Mapping[str, np.ndarray], tokens: list[str]) -> list[list[str]]:
    rows = zip(arrays["source"].tolist(), arrays["source_valid_lens"].tolist(), strict=True)
    return [[tokens[number] for number in row[:length]] for row, length in rows]


def _view(array: np.ndarray) -> Any:
    import ctranslate2

    return ctranslate2.StorageView.from_array(np.ascontiguousarray(array, np.int32))
