"""Folders of ``transformers`` read by the tables of their family (see ``description``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...config import LONGEST_TABLE, TransformerConfig
from ...errors import PortError
from ...positions import sinusoid_table
from ...task_heads import Head
from ..kinds import Family
from ..model import Arrays, NativeFile, PortedModel
from ..settings import build_config, check_sizes, vocabularies
from . import token_tables
from .carried_files import carried_files
from .described_writing import write
from .description import Description, Named
from .generation import KNOWN, DecodingSettings, check_ids, in_language, read_decoding
from .hugging_face import CONFIG, Fields, canonical_weights, family_of, read_weights, rows_without_token
from .position_tables import UNITS
from .task_layouts import check_tied, found_heads, said_of

COMPUTED = "a table that is computed here, as the library saves it"


class Parts(NamedTuple):
    """Tensors: the model's by the base model's names; of heads; computed tables; the model's as they were read."""

    plain: Named
    heads: Named
    computed: Named
    run: Named


def read(family: Description, folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """``settings`` may change what changes no tensor, and bring vocabularies; raises PortError."""
    fields = Fields(folder / CONFIG, family.library)
    written = {name: value for name, value in fields.values.items() if value is not None or name in family.nulls}
    fields.values = family.modern({**family.absent, **written})
    absent = fields.fill({**family.sizes, **family.rates, **family.switches}, settings)
    native = read_weights(folder)
    parts = parted(family, native.tensors, folder)
    tensors = dict(parts.plain)
    found = token_tables.taken(family.tables, tensors, folder)
    recorded = {**_fields(family, fields, tensors), **token_tables.fields_of(family.tables, found, fields)}
    decoding = _decoding(family, folder, fields, settings)
    config = build_config({**recorded, "suppress_ids": decoding.suppress_ids}, settings, {})
    _check_decoding(family, decoding, fields)
    check_sizes(config, len(native.tensors))
    token_tables.check_ties(family.tables, fields, config, parts.plain)
    tied = {family.names.tensor(name): array for name, array in token_tables.stored(found, config).items()}
    weights = canonical_weights({**tensors, **tied}, family.names, config, folder)
    heads = found_heads(family.heads, parts.heads, fields.values)
    kept = (*heads, Head(task="", made_by=COMPUTED, tensors=parts.computed)) if parts.computed else heads
    check_tied(heads, weights, fields.values, fields.path)
    source, target, problem = family.read_words(folder, config, settings)
    config, generation, unnamed = _without_unnamed(config, decoding, target)
    model_fields, unknown = fields.native(family.known, (*KNOWN, *family.absent))
    given = vocabularies(settings)
    words = {"source_vocabulary": source, "target_vocabulary": target, **given}
    published, begun = in_language(decoding, None if given else target, config, settings)
    told = (problem, unnamed, begun, *said_of(heads))
    library = family.library
    facts: dict[str, Any] = {
        "config": model_fields,
        "generation": generation,
        "class": library.classes[0],
        "type": library.model_type,
    }
    facts["heads"] = [_as_run(head) for head in heads if head.task]
    facts["kept"] = [name for head in heads if not head.task for name in head.tensors]
    return PortedModel(
        config=config,
        weights=weights,
        generation=published,
        notes=(*fields.doubts, *native.notes, *unknown, *decoding.notes, *(note for note in told if note)),
        native=NativeFile(format="safetensors", tensors={**parts.run, **parts.computed, **parts.heads}, settings=facts),
        heads=kept,
        carried=carried_files(folder, bool(given)),
        carried_type=library.model_type,
        shown=absent,
        **words,
    )


def parted(family: Description, tensors: Arrays, folder: Path) -> Parts:
    """Tell the model's tensors from those of heads.

    A file of the base model alone has no prefix; buffers and computed tables are checked and left out.
    """
    prefix, tables = family.prefix, family.tables
    prefixed = any(name.startswith(prefix) for name in tensors)
    parts = Parts({}, {}, {}, {})
    for name, array in tensors.items():
        own = name.removeprefix(prefix)
        ours = name.startswith(prefix) if prefixed else own.split(".")[0] in family.levels
        if own in family.sinusoids:
            _check_sinusoids(own, array, str(family.fixed["sinusoid_layout"]), folder)
            parts.computed[name] = array
        elif ours and any(re.fullmatch(pattern, own) for pattern in family.buffers):
            _check_buffer(own, array, folder)
        elif ours or name in (tables.output, tables.bias):
            parts.plain[own if ours else name] = parts.run[name] = array
        else:
            parts.heads[name] = array
    plain = family.unpacked(parts.plain)
    if tables.bias in plain and plain[tables.bias].ndim == 2:
        plain[tables.bias] = plain[tables.bias].reshape(-1)
    return parts._replace(plain=plain)


def row_of(family: Description) -> Family:
    """Return the row of a described family."""
    return family_of(
        family.library,
        family.title,
        read=partial(read, family),
        write=partial(write, family),
        note=family.note,
        options=", add_pooling_layer={pooler}" if family.pooler else "",
    )


def _as_run(head: Head) -> dict[str, Any]:
    """Return what the proof needs to run a head's own class, and to see what its last layer gives."""
    layer = next(step for step in reversed(head.steps) if step.weight)
    labels = 0 if layer.operation == "tied" else len(head.tensors[layer.weight])
    module = layer.weight.removesuffix(".weight")
    facts = {"task": head.task, "takes": head.takes, "class": head.made_by, "module": module, "labels": labels}
    return {**facts, "tensors": list(head.tensors)}


def _decoding(family: Description, folder: Path, fields: Fields, settings: Mapping[str, Any]) -> DecodingSettings:
    if family.architecture == "encoder":
        return DecodingSettings(path=folder / CONFIG, suppress_ids=(), fields={}, notes=())
    return read_decoding(folder, fields.values, settings)


def _check_decoding(family: Description, decoding: DecodingSettings, fields: Fields) -> None:
    if family.architecture != "encoder":
        start = {} if "decoder_start_id" in family.sizes else {"decoder_start_token_id": fields.values.get("bos_token_id")}
        check_ids(decoding, {**fields.values, **start})


def _fields(family: Description, fields: Fields, tensors: Arrays) -> dict[str, Any]:
    for theirs, values in family.required.items():
        if fields.values.get(theirs, values[0]) not in values:
            fields.require(theirs, values[0], values[0])
    for second, first in family.equal.items():
        fields.require(second, fields.values.get(first), fields.values.get(first))
    sizes = fields.all(family.sizes, int)
    found = {
        **family.fixed,
        **sizes,
        **fields.all(family.rates, float),
        **fields.all(family.switches, bool),
        "activation": fields.activation(family.activation),
    }
    for ours, names in family.vocabularies.items():
        found[ours] = fields.get(next((name for name in names if name in fields.values), names[-1]), int)
    if family.counts_offset:
        found["max_len"] -= found["position_offset"]
    if family.architecture != "encoder":
        found["bos_id"] = fields.get("bos_token_id", int, sizes.get("decoder_start_id"))
        found["output_bias"] = family.tables.bias in tensors
    if family.pooler:
        found["pooler"] = f"{family.pooler}.weight" in tensors
    return found


def _without_unnamed(
    config: TransformerConfig, decoding: DecodingSettings, target: Any
) -> tuple[TransformerConfig, dict[str, Any], str]:
    """Rule out, on both sides of the proof, the rows of a vocabulary that stand for no token; say so."""
    generation = dict(decoding.fields)
    unnamed = tuple(number for number in rows_without_token(target) if number not in config.suppress_ids)
    if not unnamed:
        return config, generation, ""
    generation["suppress_tokens"] = [*generation.get("suppress_tokens", []), *unnamed]
    said = f"The ids {unnamed[0]} to {unnamed[-1]}" if len(unnamed) > 1 else f"The id {unnamed[0]}"
    stand = "stand" if len(unnamed) > 1 else "stands"
    never = f"{stand} for no token: no text gives them, and decoding never produces them (suppress_ids)."
    return config.replace(suppress_ids=(*config.suppress_ids, *unnamed)), generation, f"{said} of the embedding {never}"


def _check_sinusoids(name: str, table: np.ndarray, layout: str, folder: Path) -> None:
    """Check the sinusoids, which some releases save though they are no weights; others than ours would be another model.

    They are rounded to float32, and the row of padding may be zero.
    """
    whole = table.ndim == 2 and table.shape[1] % 2 == 0 and len(table) <= LONGEST_TABLE
    expected = sinusoid_table(table.shape[0], table.shape[1], layout) if whole else None
    limit = UNITS * np.finfo(np.float32).eps * (1 + np.arange(len(table)))
    if expected is None or (np.abs(table - expected).max(axis=1) > limit)[table.any(axis=1)].any():
        raise PortError(f"{folder}: {name} must be the table of sinusoids, but it is not.")


def _check_buffer(name: str, array: np.ndarray, folder: Path) -> None:
    """Positions count from 0 and a mask is causal: older releases computed with what a file held."""
    if name.endswith("position_ids") and not np.array_equal(array.reshape(-1), np.arange(array.size)):
        raise PortError(f"{folder}: {name} must count from 0, got {array.reshape(-1)[:5].tolist()} at its beginning.")
    if array.ndim == 4 and not np.array_equal(array[0, 0] != 0, np.tri(array.shape[2], array.shape[3], dtype=bool)):
        raise PortError(f"{folder}: {name} must be the causal mask, but it is not.")
