"""From a checkpoint folder to something that translates."""

from __future__ import annotations

from pathlib import Path

from ..checkpoint import Checkpoint, read_checkpoint
from ..errors import CheckpointError
from ..registry import get_backend
from ..translation import Translator


def load_translator(
    folder: Path, backend: str | None, device: str | None, dtype: str, *, batch_size: int = 64, max_steps: int | None = None
) -> Translator:
    """Read a checkpoint with vocabularies; the backend is made first, since an unknown one is found out at once."""
    framework = get_backend(backend, device, dtype)
    checkpoint = read_checkpoint(folder, optimizer=False)
    source, target = vocabularies(checkpoint, folder)
    model = framework.create_empty(checkpoint.config)
    framework.set_weights(model, checkpoint.weights)
    return Translator(framework, model, source, target, batch_size=batch_size, max_steps=max_steps)


def vocabularies(checkpoint: Checkpoint, folder: Path):
    source, target = checkpoint.source_vocabulary, checkpoint.target_vocabulary
    if source is None or target is None:
        raise CheckpointError(f"Text needs the vocabularies of both sides, but the checkpoint {folder} holds a model without.")
    return source, target
