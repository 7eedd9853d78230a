"""Settings of decoding in a folder of ``transformers``: generation_config.json, or config.json where that is absent.

A setting is carried, or left to the user who decodes, or it changes the tokens and has no place in the canonical form: such a
one is refused unless the setting ``drop_decoding`` names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import PortError
from ..settings import names_of
from .hugging_face import CONFIG, read_object

GENERATION = "generation_config.json"
IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
SINGLE = (*IDS, "forced_eos_token_id")  # a list of one is as good
SUPPRESSED = ("bad_words_ids", "suppress_tokens")
# Fields that change the tokens of a greedy or beam search, and the values with which they do not.
CHANGING: dict[str, tuple[Any, ...]] = {
    "min_length": (0,),
    "min_new_tokens": (0,),
    "do_sample": (False,),
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "begin_suppress_tokens": ([],),
    "forced_bos_token_id": (),
    "force_bos_token_to_be_generated": (False,),
    "forced_decoder_ids": ([],),
    "force_words_ids": ([],),
    "constraints": ([],),
    "sequence_bias": ({}, []),
    "exponential_decay_length_penalty": (),
    "guidance_scale": (1,),
    "watermarking_config": ({},),
    "penalty_alpha": (0,),
    "dola_layers": (),
    "stop_strings": ([], ""),
    "token_healing": (False,),
    "assistant_ensemble_weight": (),
}
# Fields that the user who decodes chooses, and what transformers does without them.
CHOSEN: dict[str, Any] = {
    "num_beams": 1,
    "num_beam_groups": 1,
    "diversity_penalty": 0,
    "early_stopping": False,
    "length_penalty": 1,
    "max_length": 20,
    "max_new_tokens": None,
    "max_time": None,
    "num_return_sequences": 1,
    "temperature": 1,
    "top_k": 50,
    "top_p": 1,
    "min_p": None,
    "top_h": None,
    "typical_p": 1,
    "epsilon_cutoff": 0,
    "eta_cutoff": 0,
}
# How it is computed and what else is shown: no token depends on them.
LISTED = """_from_model_config _commit_hash transformers_version use_cache cache_implementation cache_config max_cache_len
    renormalize_logits remove_invalid_values output_attentions output_hidden_states output_scores output_logits
    return_dict_in_generate return_legacy_cache low_memory is_assistant num_assistant_tokens num_assistant_tokens_schedule
    assistant_confidence_threshold assistant_early_exit assistant_lookbehind target_lookbehind prompt_lookup_num_tokens
    max_matching_ngram_size use_mtp speculation_type compile_config disable_compile continuous_batching_config
    prefill_chunk_size"""
INERT = LISTED.split()
KNOWN = {*SINGLE, *SUPPRESSED, *CHANGING, *CHOSEN, *INERT}


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """The settings read at ``path``: tokens that are never generated, the fields that ``generate`` is to see, and notes."""

    path: Path
    suppress_ids: tuple[int, ...]
    fields: Mapping[str, Any]
    notes: tuple[str, ...]


def read_decoding(folder: Path, config: Mapping[str, Any], settings: Mapping[str, Any]) -> DecodingSettings:
    """``config``: what config.json holds; of ``settings`` only ``drop_decoding`` matters. Raises PortError."""
    path = folder / GENERATION if (folder / GENERATION).is_file() else folder / CONFIG
    values = read_object(path) if path.name == GENERATION else config
    values = {name: _one(value) if name in SINGLE else value for name, value in values.items() if value is not None}
    changing = {name: values[name] for name, neutral in CHANGING.items() if name in values and values[name] not in neutral}
    if values.get("forced_eos_token_id", config.get("eos_token_id")) != config.get("eos_token_id"):
        changing["forced_eos_token_id"] = values["forced_eos_token_id"]
    words, tokens = _suppressed(path, values)
    if longer := [one for one in words if len(one) > 1]:
        changing["bad_words_ids"] = longer
    notes = _dropped(path, changing, settings)
    chosen = {name: values[name] for name, usual in CHOSEN.items() if values.get(name, usual) != usual}
    if chosen.get("max_length") == config.get("max_position_embeddings"):
        chosen.pop("max_length", None)  # all positions are what ours has too
    if chosen:
        notes.append(f"{path.name} sets {_listed(chosen)}: whoever decodes chooses these, and they do not travel.")
    if path.name == GENERATION and (unknown := sorted(set(values) - KNOWN)):
        notes.append(f"{path.name} holds {', '.join(unknown):.300}, not known here: not used.")
    # transformers lets the end token end a sentence whatever bad_words_ids says, though not whatever suppress_tokens says.
    single = [one for one in words if len(one) == 1]
    never = [one[0] for one in single if one[0] != config.get("eos_token_id")] + tokens
    fields = {**{name: values[name] for name in IDS if name in values}, "bad_words_ids": single, "suppress_tokens": tokens}
    fields = {name: value for name, value in fields.items() if value != []}
    return DecodingSettings(path=path, suppress_ids=tuple(dict.fromkeys(never)), fields=fields, notes=tuple(notes))


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def check_ids(decoding: DecodingSettings, config: Mapping[str, Any]) -> None:
    """Both files must mean the same tokens, and one token must end a sentence."""
    values = decoding.fields
    given = {name: values.get(name, config.get(name)) for name in ("pad_token_id", "eos_token_id")}
    given["decoder_start_token_id"] = values.get("decoder_start_token_id", values.get("bos_token_id"))
    for name, value in given.items():
        if isinstance(value, list):
            raise PortError(f"{decoding.path}: {name} must be a single token for a model to be ported, got {value!r:.60}.")
        if value != config.get(name):
            raise PortError(f"{decoding.path}: {name} must be that of {CONFIG}, {config.get(name)!r:.20}, got {value!r:.60}.")


def _suppressed(path: Path, values: Mapping[str, Any]) -> tuple[list[list[int]], list[int]]:
    words, tokens = (values.get(name, []) for name in SUPPRESSED)
    if not isinstance(words, list) or not all(isinstance(one, list) and one for one in words):
        raise PortError(f"{path}: bad_words_ids must be a list of lists of token ids, got {words!r:.60}.")
    if not isinstance(tokens, list):
        raise PortError(f"{path}: suppress_tokens must be a list of token ids, got {tokens!r:.60}.")
    if not all(type(number) is int for one in (*words, tokens) for number in one):
        raise PortError(f"{path}: {' and '.join(SUPPRESSED)} must hold whole numbers, got {[*words, tokens]!r:.60}.")
    return words, tokens


def _dropped(path: Path, changing: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    names = names_of(settings, "drop_decoding")
    if absent := sorted(set(names) - set(changing)):
        raise PortError(f"drop_decoding must name what {path} sets and no port can carry, got {', '.join(absent)}.")
    if kept := {name: value for name, value in changing.items() if name not in names}:
        agreed = json.dumps({"drop_decoding": list(changing)})
        raise PortError(
            f"{path} sets {_listed(kept)}: the ported model would decode without and give other tokens. If that is meant, "
            f"say {agreed} in the settings (config)."
        )
    return [f"{path.name} sets {_listed(changing)}: dropped, as drop_decoding says."] if changing else []


def _listed(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r:.60}" for name, value in fields.items())
