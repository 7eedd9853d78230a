"""The canonical checkpoint: a folder that every backend reads and writes.

======================  =========================================================================================
config.json             ``{"format": "transformer_mb", "format_version": 1, "config": {...}}``
model.safetensors       weights by canonical name, in canonical layout; shared and tied tensors once
source_vocabulary.json  tokens by id and the name of their text pipeline; likewise target_vocabulary.json
source_tokenizer.json   of subwords: the tokenizer of the library ``tokenizers``, or source_tokenizer.model of SentencePiece
generation_config.json  how those who published the model decode with it, of a ported model: see ``GenerationConfig``
optimizer.safetensors   ``step`` and the moments ``m.NAME``, ``v.NAME`` or ``momentum.NAME`` (``Trainer.state_dict``)
trainer.json            how far training is, and its recipe: see ``training.state``
last.safetensors        the weights after the last step, where model.safetensors keeps those of the best validation
kept-STEP.safetensors   the weights of one of the best validations, where a training keeps several (``keep_best``)
heads.safetensors       of a ported model: parts for tasks, whose metadata says what each computes (``task_heads``)
carried.safetensors     of a ported model: the files of its library, which go back there as they were (``beside``)
======================  =========================================================================================

Those from optimizer.safetensors to kept-STEP.safetensors belong to training; a model alone has none of them. Vocabularies are
optional, but a model with two sides has both or none. Each file of tensors says in its metadata which of the others it was
saved with (``ties``), those of a ported model apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..call_checks import config_of
from ..data.vocabulary import Vocabulary
from ..errors import CheckpointError, ConfigError, NotFiniteError
from ..files.tensors import read_numbers, write_tensors
from ..files.whole_folder import current_folder, read_unchanged, replaced_folder
from ..parameters import not_finite
from ..registry import backend_of, chosen_backend
from ..trainer import Trainer
from .beside import read_carried, read_heads, write_carried, write_heads
from .content import Checkpoint
from .files import (
    CONFIG,
    FILES,
    GENERATION,
    LAST,
    MODEL,
    OPTIMIZER,
    TRAINER,
    VOCABULARIES,
    check_destination,
    check_folder_name,
    check_nothing_lost,
    described_config,
    kept_name,
    kept_steps,
    read_config,
    read_generation,
    read_object,
    read_vocabulary,
    write_text,
    write_vocabularies,
)
from .ties import SAVED_WITH, Ties, check_ties, digests_of, training_digests

if TYPE_CHECKING:
    from ..backend import Backend


def save(
    model: Any,
    folder: Any,
    *,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    trainer: Trainer | None = None,
    progress: Mapping[str, Any] | None = None,
    backend: Backend | None = None,
    force: bool = False,
) -> None:
    """Write a native model as a canonical checkpoint, in place of one that is there.

    What a folder holds beside its model is not lost by saving another model over it: vocabularies and the state of a
    training are replaced by those passed here, or with ``force``.

    Args:
        model: made by a backend, so that it has ``config``.
        vocabularies: source and target.
        trainer: its optimizer state is saved too; progress: what trainer.json is to hold beside it.
        backend: whose model it is; None looks at where the model's class comes from (see ``registry.backend_of``).
    Raises:
        CheckpointError: the folder is not a checkpoint and not empty, holds what would be lost, or cannot be written;
            ConfigError: another argument that cannot be; NotFiniteError: a weight is NaN or infinite. Then nothing has changed.
    """
    config = config_of(model)
    check_folder_name(folder)
    source, target = (None, None) if vocabularies is None else _both(vocabularies)
    checkpoint = Checkpoint(
        config=config,
        weights=(backend or backend_of(model)).get_weights(model),
        source_vocabulary=source,
        target_vocabulary=target,
        optimizer=None if trainer is None else trainer.state_dict(),
        trainer=None if trainer is None else dict(progress or {}),
    )
    if wrong := not_finite(checkpoint.weights):
        raise NotFiniteError(f"The model is not saved in {folder}: {wrong}.")
    if not force:
        check_nothing_lost(Path(folder), vocabularies=vocabularies is not None, training=trainer is not None)
    write_checkpoint(folder, checkpoint)


def _both(vocabularies: Any) -> tuple[Vocabulary | None, Vocabulary | None]:
    if isinstance(vocabularies, tuple | list) and len(vocabularies) == 2:
        source, target = vocabularies
        if all(one is None or isinstance(one, Vocabulary) for one in vocabularies):
            return source, target
    raise ConfigError(
        f"vocabularies must be two, (source, target), got {vocabularies!r:.80}. Where both sides share one, it is given twice."
    )


def load(folder: Any, backend: str | Backend | None = None, device: Any = None, dtype: Any = None) -> Any:
    """Load a native model from a canonical checkpoint folder, in evaluation mode: nothing is dropped. A trainer changes that.

    Args:
        backend: a name (None: ``TRANSFORMER_MB_BACKEND``, else numpy), which takes ``device`` and ``dtype`` (None:
            float32), or a Backend, which has its own.
    Raises:
        CheckpointError: naming the file, what was expected there and what is there.
    """
    backend = chosen_backend(backend, device, dtype)
    checkpoint = read_checkpoint(folder, optimizer=False)
    return backend.from_weights(checkpoint.config, checkpoint.weights)


def read_checkpoint(folder: Any, *, optimizer: bool = True, finite: bool = True) -> Checkpoint:
    """Read and check a folder; raises CheckpointError.

    ``optimizer=False`` leaves the state of training unread, ``finite=False`` takes weights that are NaN or infinite too.
    """
    check_folder_name(folder)
    folder = Path(folder)
    if not current_folder(folder).is_dir():
        made = f"a file, of which `transformer-mb port {folder} DIR --to canonical` may make one"
        what = made if folder.exists() else "nothing"
        raise CheckpointError(f"{folder} must be a checkpoint folder, got {what}.")
    try:
        checkpoint, metadata = read_unchanged(folder, partial(_read, optimizer=optimizer))
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"The checkpoint {folder} cannot be read: {error.strerror or error}.") from None
    if finite and (wrong := next(filter(None, map(not_finite, checkpoint.all_weights.values())), "")):
        raise CheckpointError(f"The weights of {folder} must be finite numbers, but {wrong}: its training has failed.")
    with _fitting(folder):
        check_ties(checkpoint, metadata)  # after all else: what is wrong in itself is said of itself
    return checkpoint


def _read(folder: Path, optimizer: bool) -> tuple[Checkpoint, dict[str, dict[str, str]]]:
    """The checkpoint, and the metadata of its files of tensors."""
    config = read_config(folder / CONFIG)
    places = {f"{side}_vocabulary": folder / name for side, name in VOCABULARIES.items()}
    vocabularies = {name: read_vocabulary(place) for name, place in places.items() if place.exists()}
    trained = optimizer and ((folder / OPTIMIZER).exists() or (folder / TRAINER).exists())
    files = {MODEL: read_numbers(folder / MODEL)}
    if trained:
        files[OPTIMIZER] = read_numbers(folder / OPTIMIZER, whole_numbers=("step",))
    trainer = read_object(folder / TRAINER) if trained else None
    saved_with = trainer.pop(SAVED_WITH, None) if trainer else None
    if trained and (folder / LAST).exists():
        files[LAST] = read_numbers(folder / LAST)
    kept = kept_steps(folder) if trained else []
    files |= {kept_name(step): read_numbers(folder / kept_name(step)) for step in kept}
    arrays = {name: file.arrays for name, file in files.items()}
    checkpoint = Checkpoint(
        config=config,
        weights=arrays[MODEL],
        **vocabularies,
        generation=read_generation(folder / GENERATION),
        heads=read_heads(folder),
        carried=read_carried(folder),
        optimizer=arrays.get(OPTIMIZER),
        trainer=trainer,
        last=arrays.get(LAST),
        kept={step: arrays[kept_name(step)] for step in kept},
        saved_with=saved_with,
    )
    with _fitting(folder):
        checkpoint.check()
    return checkpoint, {name: file.metadata for name, file in files.items()}


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"The checkpoint {folder} does not fit together. {error}") from None


def write_checkpoint(folder: Any, checkpoint: Checkpoint, check: Callable[[Path], None] = check_destination) -> None:
    """Write a folder so that a reader, or a machine that stops at any moment, sees the old one or the new one whole.

    ``check`` is called with the folder while no other process can save there; what it raises leaves everything as it is.
    """
    folder = Path(folder)
    _check_parts(folder, checkpoint)
    check_destination(folder)
    try:
        with replaced_folder(folder, FILES, check) as temporary:
            _fill(temporary, checkpoint)
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {folder} cannot be written: {error.strerror or error}. What was there before is unchanged."
        ) from error


def fill_folder(folder: Path, checkpoint: Checkpoint) -> None:
    """Write into an empty folder that the caller puts in place; raises CheckpointError, and OSError as the disk does."""
    _check_parts(folder, checkpoint)
    _fill(folder, checkpoint)


def _check_parts(folder: Path, checkpoint: Checkpoint) -> None:
    try:
        checkpoint.check()
    except CheckpointError as error:
        remedy = ""
        if "unexpected" in str(error):
            remedy = " Merge into each layer what wraps or parametrizes it, and take that off, before you save."
        raise CheckpointError(f"The checkpoint {folder} is not written. {error}{remedy}") from None


def _fill(folder: Path, checkpoint: Checkpoint) -> None:
    texts, digests = {CONFIG: described_config(checkpoint.config)}, digests_of(checkpoint)
    tensors = {
        name: (weights, Ties.of_weights(checkpoint, digests[name]).metadata())
        for name, weights in checkpoint.all_weights.items()
    }
    if checkpoint.generation is not None:
        texts[GENERATION] = checkpoint.generation.to_json()
    write_vocabularies(folder, source=checkpoint.source_vocabulary, target=checkpoint.target_vocabulary)
    if checkpoint.optimizer is not None:
        tensors[OPTIMIZER] = checkpoint.optimizer, Ties(digests).metadata()
        texts[TRAINER] = json.dumps({**(checkpoint.trainer or {}), SAVED_WITH: training_digests(checkpoint, digests)}, indent=2)
    for name, text in texts.items():
        write_text(folder / name, text)
    for name, (arrays, metadata) in tensors.items():
        write_tensors(folder / name, arrays, metadata)
    write_heads(folder, checkpoint.heads)
    write_carried(folder, checkpoint.carried)
