"""The contract of a trainer, and the options that every trainer takes."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .batch import Batch
from .call_checks import check_batch, check_step
from .config import TransformerConfig, check_choice, check_rate
from .distributed import Alone, Processes, Share, divisor, share
from .errors import ConfigError
from .fields import check_field_types, refusing_unknown_fields
from .machine.freed_memory import keep_freed_memory
from .native_parameters import NativeParameters, by_name
from .parameters import check_weights, parameter_shapes

SLOTS = {"adam": ("m", "v"), "adamw": ("m", "v"), "sgd": ("momentum",)}


@refusing_unknown_fields
@dataclass(frozen=True, kw_only=True)
class TrainerOptions:
    """The options of a trainer's update.

    Args:
        optimizer: ``adam`` (Kingma & Ba 2015, Algorithm 1: epsilon added to the bias-corrected root), ``adamw`` (the same with
            decoupled weight decay: Loshchilov & Hutter 2019, Algorithm 2) or ``sgd`` (velocity = momentum * velocity +
            gradient; weight -= learning_rate * velocity).
        weight_decay: of adamw. Beside Adam's update every weight, biases and norms as in torch.optim.AdamW, loses
            learning_rate * weight_decay of itself; the moments know nothing of it.
        clip_norm: gradients are scaled by min(1, clip_norm / norm of all of them together); None: never.
        normalization, label_smoothing: see MaskedSoftmaxCELoss.
        precision: of the matrix products. ``full``: as the weights are. ``bf16``: their factors are rounded to bfloat16, their
            sums are taken in float32, and what comes out is bfloat16; weights, moments, normalizations, softmax and loss
            stay float32 (Micikevicius et al. 2018; Kalamkar et al. 2019). ``tf32``: a GPU that has TF32 may round their factors
            to its 10 bits, all else being float32; other devices compute as with ``full``.
        compile: the whole step is compiled where the framework leaves that open; JAX and TensorFlow always do it.
        seed: the dropout of step n is a function of the seed and n alone, so that resumed training continues
            exactly as uninterrupted training would.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.001
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float | None = None
    normalization: str = "steps"
    label_smoothing: float = 0.0
    precision: str = "full"
    compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.betas, list):
            object.__setattr__(self, "betas", tuple(self.betas))
        check_field_types(self)
        if self.optimizer not in SLOTS:
            raise ConfigError(f"optimizer must be one of {', '.join(SLOTS)}, got {self.optimizer!r}.")
        if not self.learning_rate > 0.0:
            raise ConfigError(f"learning_rate must be positive, got {self.learning_rate}.")
        if not all(0.0 <= beta < 1.0 for beta in (*self.betas, self.momentum)):
            raise ConfigError(f"betas and momentum must be from 0 to below 1, got {self.betas} and {self.momentum}.")
        if not 0.0 <= self.weight_decay < 1.0:
            raise ConfigError(f"weight_decay must be from 0 to below 1, got {self.weight_decay}.")
        if self.weight_decay and self.optimizer != "adamw":
            raise ConfigError(f"weight_decay must be 0 but with adamw, got {self.weight_decay} with {self.optimizer}.")
        if self.clip_norm is not None and not self.clip_norm > 0.0:
            raise ConfigError(
                f"clip_norm must be positive, or None for no limit (0 in a flag or a file), got {self.clip_norm}."
            )
        if not self.eps > 0.0:
            raise ConfigError(f"eps must be positive, got {self.eps}.")
        check_choice("precision", self.precision)
        check_rate("label_smoothing", self.label_smoothing)
        check_choice("normalization", self.normalization)


class Trainer(ABC):
    """Whole training steps of one model, compiled where the framework compiles.

    A parameter that the framework's own flag has frozen stays as it is, weight decay and all. Raises ConfigError where all are.

    Attributes:
        parameters: the model's, by canonical name.
        learning_rate: used by the next step; a schedule sets it.
        step_count: steps taken so far.
        processes: those that take each step together, with the same weights and the same batches.
        precisions, compiles: what this backend's trainer offers of TrainerOptions. always_compiles: whether it does so unasked.
        few_shapes: whether a step is compiled for each shape of a batch, so that batches should be of few widths.
    """

    precisions: ClassVar[tuple[str, ...]] = ("full",)
    compiles: ClassVar[bool] = False
    always_compiles: ClassVar[bool] = False
    few_shapes: ClassVar[bool] = False

    def __init__(self, model: Any, parameters: NativeParameters, options: TrainerOptions):
        keep_freed_memory()
        self.model = model
        self.parameters = parameters
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.processes: Processes = Alone()
        self.unfrozen = {name: parameter for name, parameter in parameters.items() if parameter.trained}
        if not self.unfrozen:
            raise ConfigError("A model must have parameters that a trainer may change, got one that is frozen as a whole.")

    def _check_unfrozen(self) -> None:
        """Refuse what was frozen when the trainer was made, which has no moments."""
        for name, parameter in self.parameters.items():
            if parameter.trained != (name in self.unfrozen):
                now = "not frozen" if parameter.trained else "frozen"
                raise ConfigError(
                    f"What is frozen must be so since its trainer was made, got {name}, which is now {now}: "
                    "make another trainer, and give it this one's state_dict()."
                )

    def join(self, processes: Processes) -> None:
        """Take every step from here on together with other processes; before the first step and ``load_state_dict``.

        Where these keep weights in parts, those of the model are shared out now, or at the first step.
        """
        self.processes = processes

    def gathered(self) -> Any:
        """The model with its current weights, whole until the next step. All processes call it together."""
        if self.processes.sharded:
            self._gather()
        return self.model

    def _gather(self) -> None:
        """Give the model the weights of all parts, where the processes of this backend keep such."""
        raise NotImplementedError

    @property
    def dropout_seed(self) -> int:
        """The seed of the framework's own dropout: the rows of each of several processes drop others."""
        if self.processes.size == 1:
            return self.options.seed
        named = f"{self.options.seed}/{self.processes.rank}/{self.processes.size}"
        return int.from_bytes(hashlib.sha256(named.encode()).digest()[:6])

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> Any:
        """Take one training step; returns the summed loss as the framework's scalar, which ``float()`` reads.

        Of several processes each gets the whole batch and computes its rows; the losses that they return add up to that
        of the batch.
        With ``dropout_masks`` (see ``transformer_mb.dropout_masks``) these replace the framework's own dropout. Raises
        ShapeError or TokenError for a batch that does not fit the model: a compiled step would train on.
        """
        return self.accumulated_step([batch], None if dropout_masks is None else [dropout_masks])

    def accumulated_step(
        self, batches: Sequence[Batch], dropout_masks: Sequence[Mapping[str, np.ndarray]] | None = None
    ) -> Any:
        """``step`` on several batches, as on one that holds the rows of all, though in memory there is one at a time.

        Their gradients are added, then clipped, and the weights change once. With ``tokens`` the loss is the mean over the
        tokens of all of them; with ``steps`` sums are divided by the width of the widest, to which one batch of all rows would
        be padded.
        """
        checked = [check_batch(self.model.config, batch) for batch in batches]
        masks = [None] * len(checked) if dropout_masks is None else dropout_masks
        check_step(checked, masks)
        processes, normalization = self.processes, self.options.normalization
        whole = divisor(checked, normalization)
        processes.expect()
        losses = []
        for part, (batch, mask) in enumerate(zip(checked, masks, strict=True)):
            mine = share(batch, mask, processes.rank, processes.size, normalization, whole, processes.devices)
            losses.append(self.run_batch(mine, part, part == len(checked) - 1))
        return sum(losses[1:], losses[0])

    @abstractmethod
    def run_batch(self, share: Share, part: int, last: bool) -> Any:
        """Compute one batch of a step, ``part`` being 0 for its first, and return the weighted loss.

        The weighed gradient is added to those of the parts before it; after the last come the sum over all processes and the
        update.
        """

    def dropout_step(self, part: int) -> int:
        """The number below 2**31 that the framework's own dropout depends on beside the seed: another per part of a step."""
        return (self.step_count + part * 0x9E3779B1) % 2**31

    @abstractmethod
    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        """Take one optimizer step with gradients by canonical name, clipping included."""

    @abstractmethod
    def moments(self, slot: str) -> Iterable[Any]:
        """The optimizer's moments of one slot, as the framework's tensors in the parameters' order and layout.

        Of parameters in bfloat16 or float16 they are float32, as an update's arithmetic is: the weights are rounded once.
        """

    @abstractmethod
    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        """Continue from these, by canonical name in canonical layout; ``step_count`` is set before."""

    def slots(self) -> dict[str, np.ndarray]:
        """The optimizer's moments: ``m.NAME`` and ``v.NAME`` for adam and adamw, ``momentum.NAME`` for sgd."""
        moments = {slot: by_name(self.parameters, self.moments(slot)) for slot in SLOTS[self.options.optimizer]}
        return {f"{slot}.{name}": moment for slot, named in moments.items() for name, moment in named.items()}

    def state_dict(self) -> dict[str, np.ndarray]:
        """The moments and ``step`` as NumPy arrays."""
        return {"step": np.asarray(self.step_count, dtype=np.int64), **self.slots()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from ``state_dict()`` of any backend; raises WeightsError when it does not fit this model."""
        expected = {"step": (), **{name: value.shape for name, value in self.slots().items()}}
        check_weights(state, expected, f"The {self.options.optimizer} optimizer's state")
        self.step_count = int(state["step"])
        for slot in SLOTS[self.options.optimizer]:
            self.load_moments(slot, {name: state[f"{slot}.{name}"] for name in self.parameters})


def check_offered(backend: str, dtype: str, trainer: type[Trainer], options: TrainerOptions) -> None:
    """Refuse what the trainers of a backend in this dtype do not have; raises ConfigError."""
    if options.precision not in trainer.precisions:
        offered = ", ".join(trainer.precisions)
        raise ConfigError(f"precision must be {offered} with backend {backend}, got {options.precision!r}.")
    if options.precision != "full" and dtype != "float32":
        raise ConfigError(f"dtype must be float32 with precision {options.precision}, which keeps weights in it, got {dtype}.")
    if options.compile and not trainer.compiles:
        raise ConfigError(f"compile must be false with backend {backend}, which compiles no steps, got true.")


def optimizer_shapes(config: TransformerConfig, state: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the optimizer whose moments ``state`` holds; all of adam's when there are none."""
    kinds = [name.partition(".")[0] for name in state]
    slots = next((slots for slots in SLOTS.values() if any(kind in slots for kind in kinds)), SLOTS["adam"])
    parameters = parameter_shapes(config)
    return {"step": (), **{f"{slot}.{name}": shape for slot in slots for name, shape in parameters.items()}}
