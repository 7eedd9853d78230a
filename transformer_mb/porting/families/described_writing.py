"""Folders of ``transformers`` written by the tables of their family (see ``description``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...config import TransformerConfig
from ...errors import PortError
from ..model import PortedModel
from ..settings import check_holds
from . import token_tables
from .carried_files import merged_config, write_carried
from .description import Description
from .generation import write_generation
from .hugging_face import ACTIVATIONS, CONFIG, write_object, write_weights

OF_HEADS = {"head_size": TransformerConfig.head_width, "num_kv_heads": TransformerConfig.kv_heads}


def write(family: Description, model: PortedModel, folder: Path) -> None:
    """Write what the library's class loads with ``from_pretrained``; raises PortError for a model that it cannot hold."""
    config, title = model.config, family.title.removeprefix("HF ")
    embedded = {} if "embedding_dropout" in family.rates else {"embedding_dropout_rate": config.dropout}
    told = {name: getattr(config, name) for name in (*family.sizes, *family.switches)}
    check_holds(config, {**told, **family.fixed, **embedded}, f"A {title}")
    if "token_types" in family.sizes and not config.token_types:
        raise PortError(f"A {title} cannot hold this model: token_types must be at least 1, got 0.")
    token_tables.check_written(family.tables, config, title)
    own = model.carried_type == family.library.model_type
    carried, heads = (model.carried, model.heads) if own else ({}, ())
    fields = family.published(_fields(family, config))
    write_object(folder / CONFIG, merged_config(carried, fields, family.modern) if carried else fields)
    if config.has_decoder:
        write_generation(folder, model, fields)
    named = {family.names.tensor(name): array for name, array in model.weights.items()}
    tensors = family.packed(token_tables.foreign(family.tables, named, config))
    outside = {family.tables.output, family.tables.bias} - ({family.tables.output} if family.output_inside else set())
    prefix = family.prefix if config.has_decoder or heads else ""
    of_heads = {name: array for head in heads for name, array in head.tensors.items()}
    write_weights(folder, {**{n if n in outside else prefix + n: array for n, array in tensors.items()}, **of_heads})
    family.write_words(folder, model)
    write_carried(folder, carried)


def _fields(family: Description, config: TransformerConfig) -> dict[str, Any]:
    """Return the config.json of a model."""
    ours = {**family.sizes, **family.rates, **family.switches}
    values = {name: _value(config, name) for name in ours}
    for theirs in ours.values():
        alike = [name for name in ours if ours[name] == theirs]
        if any(values[name] != values[alike[0]] for name in alike):
            raise PortError(
                f"A {family.title.removeprefix('HF ')} cannot hold this model: {' and '.join(alike)} must be equal."
            )
    fields: dict[str, Any] = {
        "architectures": [family.library.classes[0]],
        "model_type": family.library.model_type,
        **{theirs: values[name] for name, theirs in ours.items()},
        **{names[0]: getattr(config, name) for name, names in family.vocabularies.items()},
        family.activation: ACTIVATIONS[config.activation][0],
        **{theirs: values[0] for theirs, values in family.required.items() if values[0] is not None},
    }
    fields |= {second: fields[first] for second, first in family.equal.items() if second.startswith("decoder_")}
    if family.counts_offset:
        fields[family.sizes["max_len"]] += config.position_offset
    if "decoder_start_id" in family.sizes:
        fields[family.sizes["decoder_start_id"]] = config.start_id
    if config.has_decoder:
        fields |= {"is_encoder_decoder": config.has_encoder, "tie_word_embeddings": config.tie_output}
        fields |= {"bos_token_id": config.bos_id}
        fields |= {family.tables.share: config.share_embeddings} if family.tables.share else {}
    return fields


def _value(config: TransformerConfig, name: str) -> Any:
    """Return a field as the model has it where it is left open: a rate of its own, the width of a head, heads of keys."""
    side = "encoder" if config.has_encoder else "decoder"
    if name in OF_HEADS:
        return OF_HEADS[name](config, side)
    return getattr(config, f"{name}_rate", getattr(config, name))
