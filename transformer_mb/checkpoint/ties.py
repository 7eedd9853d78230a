"""Digests that tie a checkpoint's files together: each file of tensors names what it was saved with.

``model.safetensors``, ``last.safetensors`` and ``kept-*.safetensors`` say the configuration that their numbers were made for,
a digest of each vocabulary, and one of the numbers themselves: safetensors has no checksum; ``optimizer.safetensors`` says
one of the weights of all of these; ``trainer.json`` says one of each file that a resume continues from, itself included. A file
that says nothing (of an older checkpoint, or by another tool) is taken as it is.

The fields of ``EDITABLE`` may be edited in config.json: they say how the model decodes, how long a sentence may be and what
training drops, not which model the numbers are of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import RATES
from ..data.vocabulary import Vocabulary
from ..errors import CheckpointError
from ..files.tensors import digest
from .content import Checkpoint
from .files import CONFIG, MODEL, OF_TRAINING, OPTIMIZER, TRAINER, VOCABULARIES

KEY = "transformer_mb.saved_with"  # one alone: the library writes several in an order that changes
EDITABLE = {"decoder_start_id", "suppress_ids", "compat_decode", "max_len", *RATES}
SAVED_WITH = "saved_with"  # in trainer.json
NUMBERS = "numbers"  # beside the names of the other files: those of the file itself
SHOWN = 3  # fields of a configuration that an error names
RESTORE = "Restore the file that was changed or is from elsewhere"
MEANT = (
    f"{RESTORE}. If the change is meant, make a new checkpoint: transformer-mb port {MODEL} NEW --to canonical --config FILE, "
    "where FILE says the configuration and names the vocabularies."
)
EDITED = f'{RESTORE}; or remove "{SAVED_WITH}" from {TRAINER} to go on with what is there, unchecked.'
MODEL_ALONE = f"{RESTORE}, or remove {', '.join(OF_TRAINING[:-1])} and {OF_TRAINING[-1]} to keep the model alone."


@dataclass(frozen=True)
class Ties:
    """The files that a file of tensors was saved with, by name: fields of the configuration, or a digest."""

    of: Mapping[str, Any]

    @classmethod
    def of_weights(cls, checkpoint: Checkpoint, digest: str) -> Ties:
        fields = {name: value for name, value in checkpoint.config.to_dict().items() if name not in EDITABLE}
        return cls({CONFIG: fields, **_words(checkpoint), NUMBERS: digest})

    @classmethod
    def recorded(cls, metadata: Mapping[str, str], name: str) -> Ties | None:
        """Read the ties of the file called ``name``; None where it records none."""
        if KEY not in metadata:
            return None
        try:
            of = json.loads(metadata[KEY])
        except (ValueError, RecursionError):
            of = None
        if not isinstance(of, dict) or not isinstance(of.get(CONFIG, {}), dict):
            raise CheckpointError(f"{name} is damaged: its metadata {KEY} must be a JSON object, got {metadata[KEY]!r:.80}.")
        return cls(of)

    def metadata(self) -> dict[str, str]:
        return {KEY: json.dumps(self.of, sort_keys=True)}

    def check_weights(self, name: str, found: Ties) -> None:
        """Refuse a configuration, a vocabulary or numbers other than those that ``name`` was saved with."""
        saved, now = self.of.get(CONFIG, {}), found.of[CONFIG]
        # A version that knows more fields, or fewer, knows nothing against the others.
        if wrong := [field for field in now if field in saved and now[field] != saved[field]]:
            said = "; ".join(f"{field} must be {saved[field]!r:.80}, got {now[field]!r}" for field in wrong[:SHOWN])
            more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            raise CheckpointError(f"{CONFIG} must say what {name} was saved with: {said}{more}. {MEANT}")
        for vocabulary in VOCABULARIES.values():
            if vocabulary in self.of and vocabulary in found.of and self.of[vocabulary] != found.of[vocabulary]:
                raise CheckpointError(f"{vocabulary} must be the one that {name} was saved with, got another. {MEANT}")
        if NUMBERS in self.of and self.of[NUMBERS] != found.of[NUMBERS]:
            raise CheckpointError(f"{name} is damaged: it must hold the numbers that were saved, got others. Restore the file.")

    def check_optimizer(self, found: Ties) -> None:
        """Refuse weights other than those that the state of the optimizer was saved with."""
        for name in sorted({*self.of, *found.of}, key=lambda name: (name != MODEL, name)):
            if name in self.of and name not in found.of:
                raise CheckpointError(f"{name} is missing: {OPTIMIZER} was saved with it. {MODEL_ALONE}")
            if found.of.get(name) != self.of.get(name):
                wrong = f"{name} must be the one that {OPTIMIZER} was saved with"
                raise CheckpointError(
                    f"{wrong}, got {'other weights' if name in self.of else 'one where none was'}. {MODEL_ALONE}"
                )


def check_ties(checkpoint: Checkpoint, metadata: Mapping[str, Mapping[str, str]]) -> None:
    """Compare what was read with what the files of tensors say of it; raises CheckpointError.

    Args:
        metadata: of each file of tensors that was read, by its name.
    """
    recorded = {name: ties for name, one in metadata.items() if (ties := Ties.recorded(one, name)) is not None}
    saved_with = checkpoint.saved_with
    if not recorded and saved_with is None:
        return
    digests = digests_of(checkpoint)
    for name, found in digests.items():
        if name in recorded:
            recorded[name].check_weights(name, Ties.of_weights(checkpoint, found))
    if OPTIMIZER in recorded:
        recorded[OPTIMIZER].check_optimizer(Ties(digests))
    if saved_with is not None:
        _check_training(saved_with, training_digests(checkpoint, digests))


def training_digests(checkpoint: Checkpoint, weights: Mapping[str, str]) -> dict[str, str]:
    """Digest all that a resume continues from, by file name; ``weights`` as ``digests_of`` gives them."""
    return {
        TRAINER: _state_digest(checkpoint),
        OPTIMIZER: digest(checkpoint.optimizer or {}).hex(),
        **_words(checkpoint),
        **weights,
    }


def _check_training(saved: Any, found: Mapping[str, str]) -> None:
    if not isinstance(saved, dict):
        raise CheckpointError(f"{TRAINER} is damaged: its {SAVED_WITH} must be a JSON object, got {saved!r:.80}. {EDITED}")
    # A vocabulary that is not there is missed where one is needed, and may come from elsewhere.
    absent = set(VOCABULARIES.values()) - set(found)
    for name in {**found, **saved}:
        if name != TRAINER and name not in absent and saved.get(name) != found.get(name):
            got = "another" if name in found else "none"
            raise CheckpointError(f"{name} must be the one that {TRAINER} was saved with, got {got}. {EDITED}")


def check_unaltered(checkpoint: Checkpoint) -> None:
    """Refuse a trainer.json that does not say what was saved: last, since what is wrong in itself is said of itself."""
    saved = checkpoint.saved_with
    if isinstance(saved, dict) and saved.get(TRAINER) != _state_digest(checkpoint):
        raise CheckpointError(f"{TRAINER} must hold what was saved, got something else. {EDITED}")


def _state_digest(checkpoint: Checkpoint) -> str:
    return hashlib.sha256(json.dumps(checkpoint.trainer, sort_keys=True).encode()).hexdigest()


def digests_of(checkpoint: Checkpoint) -> dict[str, str]:
    """Digest the weights, by the names of their files."""
    return {name: digest(tensors).hex() for name, tensors in checkpoint.all_weights.items()}


def _words(checkpoint: Checkpoint) -> dict[str, str]:
    vocabularies = {name: getattr(checkpoint, f"{side}_vocabulary") for side, name in VOCABULARIES.items()}
    return {name: _digest(words) for name, words in vocabularies.items() if words is not None}


def _digest(vocabulary: Vocabulary) -> str:
    """Digest the content of a vocabulary, however its file is laid out."""
    return hashlib.sha256(json.dumps(json.loads(vocabulary.to_json()), sort_keys=True).encode()).hexdigest()
