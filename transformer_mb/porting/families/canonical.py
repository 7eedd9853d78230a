"""The canonical checkpoint folder (see ``checkpoint``) as one family among the others."""

from __future__ import annotations

from pathlib import Path

from ...checkpoint import Checkpoint, fill_folder, read_checkpoint
from ...checkpoint.beside import Carried
from ...checkpoint.files import FILES, LAST, holds_checkpoint
from ...errors import CheckpointError
from ...training.state import TrainingState
from ..kinds import Family, Settings
from ..model import PortedModel
from ..safety.port_errors import port_errors
from ..settings import VOCABULARIES, betas_of, build_config, vocabularies

UNTRANSLATABLE = (
    "Vocabularies did not come along, without which no text can be translated: name them in the settings (config) as "
    "source_vocabulary and target_vocabulary."
)
PROGRESS = "How far the training is (trainer.json) stays behind: whoever goes on counts epochs from the start."
OF_ANOTHER = "The optimizer of the training is {kind}: what it does beyond Adam's moments must be set where it goes on."


def read(folder: Path, settings: Settings) -> PortedModel:
    """The settings may change how the model decodes (``settings.DECODING``), and bring vocabularies."""
    with port_errors(CheckpointError, ValueError):
        checkpoint = read_checkpoint(folder, finite=False)  # what is not finite is the proof's to refuse
        config = build_config(checkpoint.config.to_dict(), settings, {})
        Checkpoint(config=config, weights=checkpoint.weights).check()
    words = {name: getattr(checkpoint, name) for name in VOCABULARIES}
    return PortedModel(
        config=config,
        weights=checkpoint.weights,
        generation=checkpoint.generation,
        # Its moments belong to the weights after the last step, which are not those of the best epoch.
        optimizer=None if checkpoint.last else checkpoint.optimizer,
        betas=betas_of(settings) or _betas(checkpoint),
        notes=_of_training(checkpoint),
        heads=checkpoint.heads,
        carried=checkpoint.carried.files,
        carried_type=checkpoint.carried.model_type,
        **{**words, **vocabularies(settings)},
    )


def _betas(checkpoint: Checkpoint) -> tuple[float, float] | None:
    """Return the betas of the recipe that the training was begun with."""
    recipe = (checkpoint.trainer or {}).get("recipe")
    return betas_of(recipe) if isinstance(recipe, dict) and recipe.get("optimizer") in ("adam", "adamw") else None


def _of_training(checkpoint: Checkpoint) -> tuple[str, ...]:
    if not checkpoint.trainer:
        return ()
    recipe = checkpoint.trainer.get("recipe")
    kind = recipe.get("optimizer", "adam") if isinstance(recipe, dict) else "adam"
    return _progress(checkpoint) if kind == "adam" else (OF_ANOTHER.format(kind=kind), *_progress(checkpoint))


def _progress(checkpoint: Checkpoint) -> tuple[str, ...]:
    if checkpoint.last is None:
        return (PROGRESS,)
    with port_errors(CheckpointError):
        best = TrainingState.from_dict(checkpoint.trainer or {}).best
    epoch = f", of epoch {best.epoch}" if best else ""
    return (f"The model is the best{epoch}; the optimizer's state belongs to the last ({LAST}) and stays behind.", PROGRESS)


def write(model: PortedModel, folder: Path) -> None:
    with port_errors(CheckpointError):
        fill_folder(
            folder,
            Checkpoint(
                config=model.config,
                weights=model.weights,
                source_vocabulary=model.source_vocabulary,
                target_vocabulary=model.target_vocabulary,
                generation=model.generation,
                heads=model.heads,
                carried=Carried(model.carried, model.carried_type),
                optimizer=model.optimizer,
                trainer=None if model.optimizer is None else {},
            ),
        )


def note(model: PortedModel) -> str:
    translates = model.config.architecture == "encoder_decoder"
    return UNTRANSLATABLE if translates and None in (model.source_vocabulary, model.target_vocabulary) else ""


ROW = Family(
    name="canonical",
    title="canonical checkpoint",
    described="the checkpoint folder above",
    kind="folder",
    recognize=holds_checkpoint,
    read=read,
    write=write,
    files=FILES,
    optimizer=True,
    records=True,
    generation=True,
    into="the EncoderDecoder of every backend",
    lines="""
import transformer_mb as tmb
model = tmb.load({path}, backend='numpy')  # or another backend
""",
    note=note,
    holds_heads=lambda model: True,
)
