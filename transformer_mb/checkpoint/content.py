"""The content of a checkpoint's folder, and the checks that its parts belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..config import TransformerConfig
from ..data.vocabulary import Vocabulary
from ..decoding.generation_config import GenerationConfig
from ..errors import CheckpointError, WeightsError
from ..parameters import check_sizes, check_weights, parameter_shapes
from ..task_heads import Head
from ..trainer import optimizer_shapes
from .beside import NOTHING, Carried
from .files import LAST, MODEL, OPTIMIZER, TRAINER, VOCABULARIES, kept_name


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The content of a folder, without any framework.

    ``optimizer`` and ``trainer`` come together or not at all. They go on from ``last``, or from ``weights`` where it is None.
    Of a port: ``generation``, how those who published the model decode with it, None where nothing says so; ``heads``, parts
    for tasks; ``carried``, files of the library that it is from.
    ``kept``: the weights of some validations, by step. ``saved_with``: what the trainer.json that was read says of all files.
    """

    config: TransformerConfig
    weights: Mapping[str, np.ndarray]
    source_vocabulary: Vocabulary | None = None
    target_vocabulary: Vocabulary | None = None
    generation: GenerationConfig | None = None
    heads: tuple[Head, ...] = ()
    carried: Carried = NOTHING
    optimizer: Mapping[str, np.ndarray] | None = None
    trainer: dict[str, Any] | None = None
    last: Mapping[str, np.ndarray] | None = None
    kept: Mapping[int, Mapping[str, np.ndarray]] = field(default_factory=dict)
    saved_with: Any = None

    @property
    def ported(self) -> dict[str, Any]:
        """Return by field what a port brought beside weights and words: whatever is made of the model has it too."""
        return {name: getattr(self, name) for name in ("generation", "heads", "carried")}

    @property
    def all_weights(self) -> dict[str, Mapping[str, np.ndarray]]:
        """All sets of weights, by the name of the file."""
        last = {} if self.last is None else {LAST: self.last}
        return {MODEL: self.weights, **last, **{kept_name(step): weights for step, weights in self.kept.items()}}

    def check(self) -> None:
        """Refuse parts that do not belong together; raises CheckpointError without naming a folder."""
        try:
            check_sizes(self.config, len(self.weights))
            for name, weights in self.all_weights.items():
                place = "" if name == MODEL else f", in {name},"
                check_weights(weights, parameter_shapes(self.config), f"The configuration{place}")
            if self.optimizer is not None:
                check_weights(self.optimizer, optimizer_shapes(self.config, self.optimizer), "The optimizer's state")
        except WeightsError as error:
            raise CheckpointError(str(error)) from None
        if (self.optimizer is None) != (self.trainer is None):
            there, absent = (TRAINER, OPTIMIZER) if self.optimizer is None else (OPTIMIZER, TRAINER)
            raise CheckpointError(f"{OPTIMIZER} and {TRAINER} belong together, but {absent} is missing beside {there}.")
        self._check_vocabularies()

    def _check_vocabularies(self) -> None:
        sizes = {side: getattr(self.config, f"{side}_vocab_size") for side in VOCABULARIES}
        vocabularies = {side: getattr(self, f"{side}_vocabulary") for side in VOCABULARIES}
        missing = [name for side, name in VOCABULARIES.items() if sizes[side] is not None and vocabularies[side] is None]
        if any(vocabulary is not None for vocabulary in vocabularies.values()) and missing:
            raise CheckpointError(f"A vocabulary for each side was expected, but {missing[0]} is missing.")
        for side, vocabulary in vocabularies.items():
            if vocabulary is not None and len(vocabulary) != sizes[side]:
                raise CheckpointError(
                    f"{VOCABULARIES[side]} must hold {side}_vocab_size = {sizes[side]} tokens, got {len(vocabulary)}."
                )
