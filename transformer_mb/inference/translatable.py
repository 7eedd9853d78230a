"""Parts that can translate: a model of both sides, and a checkpoint with their vocabularies."""

from __future__ import annotations

from typing import Any

from ..backend import Backend
from ..checkpoint import Checkpoint, read_checkpoint
from ..config import TransformerConfig
from ..data.vocabulary import Vocabulary
from ..decoding.generation_config import GenerationConfig
from ..errors import CheckpointError, ConfigError


def check_both_sides(config: TransformerConfig, got: str) -> None:
    """Refuse a model of one side alone, and say what it can do; ``got`` begins the words for it. Raises ConfigError."""
    if not config.has_encoder:
        raise ConfigError(
            f"Translating needs a model with encoder and decoder, but {got} a decoder alone. From Python such a model "
            "continues ids: backend.greedy(model, prompts), or backend.beam."
        )
    if not config.has_decoder:
        raise ConfigError(
            f"Translating needs a model with encoder and decoder, but {got} an encoder alone. From Python such a model "
            "reads ids: backend.encode(model, source)."
        )


def text_vocabularies(checkpoint: Checkpoint, folder: Any) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of both sides.

    Raises CheckpointError that says how to give a checkpoint its vocabularies, and ConfigError for a model of one side.
    """
    check_both_sides(checkpoint.config, f"the checkpoint {folder} holds")
    source, target = checkpoint.source_vocabulary, checkpoint.target_vocabulary
    if source is None or target is None:
        raise CheckpointError(
            f"Text needs the vocabularies of both sides, but the checkpoint {folder} holds a model without. Save it with them "
            'from Python, tmb.save(model, folder, vocabularies=(source, target)), or port it with {"source_vocabulary": FILE, '
            '"target_vocabulary": FILE} in --config.'
        )
    return source, target


def loaded_models(
    framework: Backend, folder: Any, int8: bool, unknown: bool
) -> tuple[list[Any], tuple[Vocabulary, Vocabulary], GenerationConfig | None]:
    """The model of a checkpoint folder, or those of a list of folders, their vocabularies, and how the first is decoded.

    ``unknown``: decoding may give <unk>, whatever the checkpoint suppresses. Raises as ``Translator.load`` does.
    """
    folders = folder if isinstance(folder, list | tuple) else [folder]
    models: list[Any] = []
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None
    generation: GenerationConfig | None = None
    for one in folders:
        checkpoint = read_checkpoint(one, optimizer=False)
        found = text_vocabularies(checkpoint, one)
        if vocabularies is not None and found != vocabularies:
            raise ConfigError(f"The models of an ensemble must have the same vocabularies, got others in {one}.")
        config, vocabularies, generation = checkpoint.config, found, generation if models else checkpoint.generation
        if unknown:
            config = config.replace(suppress_ids=tuple(set(config.suppress_ids) - {found[1].unk_id}))
        model = framework.from_weights(config, checkpoint.weights)
        models.append(framework.quantized(model) if int8 else model)
    if vocabularies is None:
        raise ConfigError("A translator must have at least one checkpoint folder, got none.")
    return models, vocabularies, generation
