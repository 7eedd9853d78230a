"""Settings of decoding in a folder of ``transformers``: generation_config.json, or config.json where that is absent.

A setting is carried (``GenerationConfig``), or changes no token of a search, or it does and nothing here does the same: such a
one is refused unless the setting ``drop_decoding`` names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...config import TransformerConfig
from ...data.vocabulary import Vocabulary
from ...decoding.generation_config import USUAL, GenerationConfig
from ...errors import ConfigError, PortError
from ..model import PortedModel
from ..settings import names_of
from .hugging_face import CONFIG, read_object, write_object

GENERATION = "generation_config.json"
IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
SINGLE = (*IDS, "forced_bos_token_id", "forced_eos_token_id")  # a list of one is as good
SUPPRESSED = ("bad_words_ids", "suppress_tokens")
# Fields that change the tokens of a greedy or beam search as nothing here does, and the values with which they do not.
CHANGING: dict[str, tuple[Any, ...]] = {
    "do_sample": (False,),
    "num_beam_groups": (1,),
    "force_bos_token_to_be_generated": (False,),
    "forced_decoder_ids": ([],),
    "force_words_ids": ([],),
    "constraints": ([],),
    "guidance_scale": (1,),
    "watermarking_config": ({},),
    "penalty_alpha": (0,),
    "dola_layers": (),
    "stop_strings": ([], ""),
    "token_healing": (False,),
    "assistant_ensemble_weight": (),
    "low_memory": (False,),
    "max_time": (),
}
# Fields of drawing, of groups of beams, and how it is computed and what else is shown: no token of a search depends on them.
LISTED = """_from_model_config _commit_hash transformers_version use_cache cache_implementation cache_config max_cache_len
    temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff diversity_penalty num_return_sequences
    remove_invalid_values output_attentions output_hidden_states output_scores output_logits
    return_dict_in_generate return_legacy_cache is_assistant num_assistant_tokens num_assistant_tokens_schedule
    assistant_confidence_threshold assistant_early_exit assistant_lookbehind target_lookbehind prompt_lookup_num_tokens
    max_matching_ngram_size use_mtp speculation_type compile_config disable_compile continuous_batching_config
    prefill_chunk_size"""
INERT = LISTED.split()
KNOWN = {*SINGLE, *CHANGING, *INERT, *USUAL}


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """The settings read at ``path``.

    ``suppress_ids``: tokens that are never generated; ``generation``: all that is carried; ``fields``: what ``generate`` is to
    see in the proof, which decodes greedily; notes: one sentence each.
    """

    path: Path
    suppress_ids: tuple[int, ...]
    fields: Mapping[str, Any]
    notes: tuple[str, ...]
    generation: GenerationConfig | None = None


def read_decoding(folder: Path, config: Mapping[str, Any], settings: Mapping[str, Any]) -> DecodingSettings:
    """``config``: what config.json holds; of ``settings`` only ``drop_decoding`` matters. Raises PortError."""
    path = folder / GENERATION if (folder / GENERATION).is_file() else folder / CONFIG
    values = read_object(path) if path.name == GENERATION else config
    values = {name: _one(value) if name in SINGLE else value for name, value in values.items() if value is not None}
    words, tokens = _suppressed(path, values)
    changing = {name: values[name] for name, neutral in CHANGING.items() if name in values and values[name] not in neutral}
    notes = _dropped(path, changing, settings)
    if path.name == GENERATION and (unknown := sorted(set(values) - KNOWN)):
        notes.append(f"{path.name} holds {', '.join(unknown):.300}, not known here: not used.")
    # transformers lets the end token end a sentence whatever bad_words_ids says, though not whatever suppress_tokens says.
    single = [one for one in words if len(one) == 1]
    never = [one[0] for one in single if one[0] != config.get("eos_token_id")] + tokens
    fields = {**{name: values[name] for name in IDS if name in values}, "bad_words_ids": single, "suppress_tokens": tokens}
    try:
        generation = GenerationConfig.from_dict({name: value for name, value in values.items() if name in USUAL})
    except ConfigError as error:
        raise PortError(f"{path}: {error}") from None
    return DecodingSettings(
        path=path,
        suppress_ids=tuple(dict.fromkeys(never)),
        generation=generation,
        fields={name: value for name, value in fields.items() if value != []},
        notes=tuple(notes),
    )


def in_language(
    decoding: DecodingSettings, target: Vocabulary | None, config: TransformerConfig, settings: Mapping[str, Any]
) -> tuple[GenerationConfig | None, str]:
    """Return the settings of decoding by which each output begins with the language of the target, and a note of that.

    That is the first token, or of mBART that before it, which is in config.json: raises PortError where that is another.
    """
    generation, language = decoding.generation, settings.get("target_language")
    if language is None or target is None or generation is None:
        return generation, ""
    if not target.opening:
        if config.start_id != (code := target.closing[-1]):
            raise PortError(
                f"{decoding.path}: decoder_start_token_id must be the code of target_language {language}, {code}, got "
                f"{config.start_id}."
            )
        return generation, ""
    forced = target.opening[-1]
    if generation.forced_bos_token_id == forced:
        return generation, ""
    return replace(generation, forced_bos_token_id=forced), (
        f"Decoding as published begins each output with the token of {language} (forced_bos_token_id = {forced}), as "
        "target_language says."
    )


def write_generation(folder: Path, model: PortedModel, ids: Mapping[str, Any]) -> None:
    """Write generation_config.json: ``IDS`` of these ids, what the model brought, and its ``suppress_ids``.

    A model that brought none gets what published models of translation have: the longest output, and an end that is forced.
    """
    config, brought = model.config, model.generation
    ends = {"forced_eos_token_id": config.eos_id} if config.has_encoder else {}
    fields: dict[str, Any] = {**ends, "max_length": config.max_len} if brought is None else brought.to_dict()
    words = [list(word) for word in fields.get("bad_words_ids", ())]
    named = {word[0] for word in words if len(word) == 1} | set(fields.get("suppress_tokens", ()))
    words += [[number] for number in config.suppress_ids if number not in named]
    more = {"bad_words_ids": words} if words else {}
    write_object(folder / GENERATION, {**{name: ids[name] for name in IDS if name in ids}, **fields, **more})


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
