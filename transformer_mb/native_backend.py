"""The part of a backend that all have in common, on their framework's tensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .backend import Backend
from .batch import Batch
from .decoding.inputs import DecodingInputs
from .decoding.sampling import Truncation
from .decoding.session import BeamSession
from .errors import DeviceError
from .machine.graphics import no_gpu
from .native_parameters import NativeParameters
from .ownership import check_own
from .trees import leaves, map_leaves

Masks = Mapping[str, np.ndarray] | None


class NativeBackend(Backend):
    """A backend by its parts: how arrays become tensors and back, and how a layer runs."""

    files = (*Backend.files, "decoding", "dropout", "weights")
    offered: ClassVar[Mapping[str, str]] = {
        **Backend.offered,
        **{"_named_parameters": "named_parameters", "_injected_dropout": "injected_dropout"},
        **{"_greedy": "greedy", "_sample": "sample", "_beam_decoder": "BeamDecoder"},
    }
    _to_int8: Any = None  # turns every linear layer of a model into one of eight bits
    # Gives the derivative of compute(layer, *where) along a direction, taken forwards; None where the framework takes none.
    _forwards: Any = None

    @staticmethod
    @abstractmethod
    def _named_parameters(module: Any) -> NativeParameters:
        """Return all parameters of a layer by canonical name; none of a plain function."""

    @staticmethod
    @abstractmethod
    def _injected_dropout(module: Any, masks: Masks) -> AbstractContextManager[None]:
        """Have the dropouts of a layer keep what the masks say inside the block."""

    @staticmethod
    @abstractmethod
    def _greedy(model: Any, inputs: DecodingInputs, max_steps: int) -> Any:
        """``decoding.greedy``: the ids [B, steps]."""

    @staticmethod
    @abstractmethod
    def _sample(model: Any, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> Any:
        """``decoding.sample``: the ids [B, steps]."""

    @staticmethod
    @abstractmethod
    def _beam_decoder(model: Any, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool) -> BeamSession:
        """``decoding.BeamDecoder``."""

    @abstractmethod
    def _tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""

    @abstractmethod
    def _numpy(self, leaf: Any) -> Any:
        """A tensor as a NumPy array; anything else as it is."""

    @abstractmethod
    def _running(self, layer: Any, training: bool = False) -> AbstractContextManager[Any]:
        """Run a layer inside on this device, in this mode and without gradients; afterwards all is as it was."""

    @abstractmethod
    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        """The layer's (first) output, and the gradients by id of the float inputs and by canonical name."""

    @classmethod
    def is_built_for_gpus(cls) -> bool | None:
        """Tell whether what is installed can compute on GPUs at all; None where that is unknown."""
        return None

    @classmethod
    def without_gpu(cls) -> str:
        """Say why ``devices`` has no GPU; empty where it has one, or where that is unknown."""
        built = cls.is_built_for_gpus()
        return "" if built is None else no_gpu(f"{cls.name} {cls.version()}", cls.devices(), built)

    @classmethod
    def check_device(cls, name: str, given: str | None) -> str:
        """The name; raises DeviceError, which quotes it, unless ``devices`` has it."""
        if name not in cls.devices():
            why = cls.without_gpu()
            raise DeviceError(
                f"The device of backend {cls.name} must be one of {', '.join(cls.devices())}, got {given!r}"
                f"{f': {why}' if why else ''}. `transformer-mb backends` lists the devices of all."
            )
        return name

    def parameter_shapes(self, module: Any) -> dict[str, tuple[int, ...]]:
        check_own(self, module)
        return {name: parameter.shape for name, parameter in self._named_parameters(module).items()}

    def get_weights(self, module: Any) -> dict[str, np.ndarray]:
        check_own(self, module)
        return {name: parameter.canonical(parameter.value) for name, parameter in self._named_parameters(module).items()}

    def assign_weights(self, module: Any, weights: Mapping[str, np.ndarray]) -> None:
        for name, parameter in self._named_parameters(module).items():
            parameter.assign(parameter.native(np.asarray(weights[name])))

    def _call(self, layer: Any, inputs: Any, options: Mapping[str, Any], training: bool) -> Any:
        return layer(*inputs, **options)

    def apply(self, layer: Any, *inputs: Any, training: bool = False, dropout_masks: Masks = None, **options: Any) -> Any:
        check_own(self, layer)
        inputs, options = self._tensors((inputs, options))
        with self._running(layer, training), self._injected_dropout(layer, dropout_masks):
            return map_leaves(self._numpy, self._call(layer, inputs, options, training))

    def _tensors(self, tree: Any) -> Any:
        """Convert arrays. One array stays one tensor, as inside a model: a layer may project it once."""
        made: dict[int, Any] = {}

        def tensor(leaf: Any) -> Any:
            if id(leaf) not in made:
                made[id(leaf)] = self._tensor(leaf)
            return made[id(leaf)]

        return map_leaves(tensor, tree)

    def gradients(
        self,
        layer: Any,
        inputs: Sequence[Any],
        cotangent: np.ndarray,
        training: bool = False,
        dropout_masks: Masks = None,
        **options: Any,
    ) -> tuple[np.ndarray, list[np.ndarray | None], dict[str, np.ndarray]]:
        check_own(self, layer)
        tensors, options = map_leaves(self._tensor, (list(inputs), options))
        with self._injected_dropout(layer, dropout_masks):
            output, by_leaf, by_name = self._differentiate(layer, tensors, options, self._tensor(cotangent), training)
        return self._numpy(output), [self._numpy(by_leaf.get(id(leaf))) for leaf in leaves(tensors)], by_name

    def _evaluate(self, function: Callable[..., Any], model: Any, *arrays: np.ndarray | None) -> Any:
        """``function(model, *tensors)`` in evaluation mode, its result as NumPy arrays."""
        tensors = map_leaves(self._tensor, arrays)
        with self._running(model):
            return map_leaves(self._numpy, function(model, *tensors))

    def run_encoder(self, model: Any, source: np.ndarray, valid_lens: np.ndarray, token_types: np.ndarray | None) -> np.ndarray:
        return self._evaluate(_encode, model, source, valid_lens, token_types)

    def run_logits(
        self, model: Any, source: np.ndarray | None, target: np.ndarray, valid_lens: np.ndarray | None
    ) -> np.ndarray:
        return self._evaluate(_logits, model, source, target, valid_lens)

    def run_losses(self, model: Any, batch: Batch) -> np.ndarray:
        means = self._evaluate(_mean_losses(type(self).MaskedSoftmaxCELoss), model, *batch)
        return np.asarray(means, np.float64) * batch.target_out.shape[1]

    def run_attention(
        self, model: Any, source: np.ndarray | None, target: np.ndarray, valid_lens: np.ndarray | None
    ) -> dict[str, list[np.ndarray]]:
        return self._evaluate(_attention, model, source, target, valid_lens)

    def _quantized(self, model: Any) -> Any:
        if self._to_int8 is None:
            return super()._quantized(model)
        copy = self.from_weights(model.config, self.get_weights(model))
        self._to_int8(copy)
        return copy

    def _native_inputs(self, inputs: DecodingInputs) -> DecodingInputs:
        """Tensors of what the model reads; what chooses among its answers stays an array."""
        return DecodingInputs(*map(self._tensor, inputs))._replace(forced=inputs.forced, seeds=inputs.seeds)

    def _decoding(self, model: Any) -> AbstractContextManager[Any]:
        return self._running(model)

    def run_greedy(self, model: Any, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
        with self._decoding(model):
            return self._numpy(self._greedy(model, self._native_inputs(inputs), max_steps))

    def run_sample(self, model: Any, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
        with self._decoding(model):
            return self._numpy(self._sample(model, self._native_inputs(inputs), max_steps, truncation))

    def start_beam(self, model: Any, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False) -> BeamSession:
        return self._beam_decoder(model, self._native_inputs(inputs), max_steps, beam, attend)


class TapedBackend(NativeBackend):
    """A backend whose framework remembers what it computes, and differentiates that."""

    @staticmethod
    @abstractmethod
    def _is_float(leaf: Any) -> bool:
        """Tell whether a leaf is a tensor of floats, by which one may differentiate."""

    @abstractmethod
    def _taped(
        self, layer: Any, compute: Callable[[], Any], watched: Sequence[Any], cotangent: Any, training: bool
    ) -> tuple[Any, Sequence[Any], dict[str, np.ndarray]]:
        """Compute in this mode, and differentiate sum(output * cotangent), or with None the sum of the output.

        Returns: the output, the gradients of what is watched, and those of the layer's parameters by canonical name.
        """

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        def compute() -> Any:
            output = self._call(layer, inputs, options, training)
            return output[0] if isinstance(output, tuple) else output

        watched = [leaf for leaf in leaves(inputs) if self._is_float(leaf)]
        output, gradients, by_name = self._taped(layer, compute, watched, cotangent, training)
        return output, {id(leaf): gradient for leaf, gradient in zip(watched, gradients, strict=True)}, by_name

    def run_loss_and_gradients(
        self, model: Any, batch: Batch, loss: Any, dropout_masks: Masks
    ) -> tuple[float, dict[str, np.ndarray]]:
        source, valid_lens, target_in, target_out, target_valid_lens = map(self._tensor, batch)
        training = dropout_masks is not None

        def compute() -> Any:
            logits, _ = self._call(model, (source, target_in, valid_lens), {}, training)
            return loss(logits, target_out, target_valid_lens)

        with self._injected_dropout(model, dropout_masks):
            losses, _, by_name = self._taped(model, compute, [], None, training)
        return float(self._numpy(losses).sum()), by_name


@contextmanager
def in_mode(
    layer: Any, training: bool, parts_in: Callable[[Any, bool], list[Any]], switch: Callable[[Any, bool], Any]
) -> Iterator[None]:
    """Inside, a layer trains or evaluates; afterwards each part is in its own mode. Plain functions have none.

    Args:
        parts_in: from a layer and a mode to all parts in it. switch: puts a layer and all of its parts into a mode.
    """
    before = getattr(layer, "training", training)
    others = parts_in(layer, not before) if hasattr(layer, "training") else []
    if before == training and not others:
        yield
        return
    switch(layer, training)
    try:
        yield
    finally:
        switch(layer, before)
        for part in others:
            part.training = not before


def _encode(model: Any, source: Any, valid_lens: Any, token_types: Any) -> Any:
    return model.encoder(source, valid_lens, token_types=token_types)


def _logits(model: Any, source: Any, target: Any, valid_lens: Any) -> Any:
    return model(source, target, valid_lens)[0]


@lru_cache
def _mean_losses(loss: type) -> Callable[..., Any]:
    """Return one function per loss class: a backend that compiles does so once."""

    def mean_losses(model: Any, source: Any, valid_lens: Any, target_in: Any, target_out: Any, target_valid_lens: Any) -> Any:
        return loss(normalization="steps")(model(source, target_in, valid_lens)[0], target_out, target_valid_lens)

    return mean_losses


def _attention(model: Any, source: Any, target: Any, valid_lens: Any) -> dict[str, Any]:
    enc_outputs, weights = None, {}
    if model.encoder is not None:
        enc_outputs = model.encoder(source, valid_lens, need_weights=True)
        weights["encoder"] = model.encoder.attention_weights
    if model.decoder is not None:
        model.decoder(target, model.decoder.init_state(enc_outputs, valid_lens), need_weights=True)
        weights["decoder_self"], weights["decoder_cross"] = model.decoder.attention_weights
    return weights
