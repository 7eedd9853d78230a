"""A CTranslate2 folder, run by its own engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from ..probe import padded_tokens, parts

Arrays = dict[str, np.ndarray]
ONE_THREAD = {"device": "cpu", "compute_type": "float32", "inter_threads": 1, "intra_threads": 1}
# With the engine's own defaults a sentence has at least one token, and longer sources are cut.
GREEDY = {"beam_size": 1, "min_decoding_length": 0, "max_input_length": 0, "max_batch_size": 64}


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """An encoder and a decoder together show ``logits`` and ``tokens``, no states.

    The logits of tokens that decoding never produces are far below all others.
    """
    import ctranslate2

    config = TransformerConfig.from_dict(settings["config"])
    one = _encoded if not config.has_decoder else _translated if config.has_encoder else _continued
    return one(parts(arrays)[0], settings), {"ran": f"ctranslate2 {ctranslate2.__version__}"}


def _encoded(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    encoder = ctranslate2.Encoder(settings["path"], **ONE_THREAD)
    types = [row.tolist() for row in arrays["token_types"]] if "token_types" in arrays else None
    source, lens = (np.ascontiguousarray(arrays[name], np.int32) for name in ("source", "source_valid_lens"))
    view = ctranslate2.StorageView.from_array
    output = encoder.forward_batch(view(source), view(lens), token_type_ids=types)
    outputs = {"encoder": np.array(output.last_hidden_state)}
    if settings["config"]["pooler"]:
        outputs["pooled"] = np.array(output.pooler_output)
    return outputs


def _continued(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    generator = ctranslate2.Generator(settings["path"], **ONE_THREAD)
    return {"logits": np.array(generator.forward_batch(arrays["target"].tolist()))}


def _translated(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Arrays:
    import ctranslate2

    translator = ctranslate2.Translator(settings["path"], **ONE_THREAD)
    source_tokens, target_tokens = vocabularies(settings["path"])
    described = json.loads((Path(settings["path"]) / "config.json").read_text(encoding="utf-8"))
    ending = [source_tokens[settings["config"]["eos_id"]]] if described.get("add_source_eos") else []
    sources = [
        _without([source_tokens[number] for number in row[:length]], ending)
        for row, length in zip(arrays["source"].tolist(), arrays["source_valid_lens"].tolist(), strict=True)
    ]
    numbers, steps = {token: number for number, token in enumerate(target_tokens)}, settings["max_steps"]
    results = translator.translate_batch(sources, max_decoding_length=steps, **GREEDY)
    sentences = [[numbers[token] for token in one.hypotheses[0]] for one in results]
    outputs = {"tokens": padded_tokens(sentences, steps)}
    if "target" in arrays:
        targets = [[target_tokens[number] for number in row] for row in arrays["target"].tolist()]
        outputs["logits"] = _logits(translator, sources, targets)
    return outputs


def _without(sentence: list[str], ending: list[str]) -> list[str]:
    """A source without the end that the engine itself appends."""
    if not ending:
        return sentence
    if sentence[-1:] != ending:
        raise PortError(f"Sources must end in {ending[0]}, as the engine ends them, got {sentence[-1]}.")
    return sentence[:-1]


def _logits(translator: Any, sources: list[list[str]], targets: list[list[str]]) -> np.ndarray:
    """[B, T, V]. The engine shows them of the step that it decodes, so each step is decoded after the tokens before it."""
    steps = []
    for step in range(len(targets[0])):
        prefix = [row[1 : step + 1] for row in targets]  # the start token is the engine's own
        options = {**GREEDY, "max_decoding_length": step + 1, "return_logits_vocab": True}
        results = translator.translate_batch(sources, target_prefix=prefix, **options)
        steps.append([np.array(one.logits[0][-1]).reshape(-1) for one in results])
    return np.stack(steps, axis=1)


def vocabularies(path: str) -> tuple[list[str], list[str]]:
    """The tokens by id of both sides of a folder."""
    shared = Path(path) / "shared_vocabulary.json"
    names = [shared, shared] if shared.is_file() else [Path(path) / f"{side}_vocabulary.json" for side in ("source", "target")]
    source, target = (json.loads(name.read_text(encoding="utf-8")) for name in names)
    return source, target
