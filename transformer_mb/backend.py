"""The contract of a backend: NumPy in, NumPy out, with the inputs checked once for all of them.

These calls are for comparison, porting and light use; training and decoding stay on the device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from . import interface
from .batch import Batch
from .call_checks import check_batch, check_config, check_dtype, check_source, check_target, check_tokens
from .config import TransformerConfig
from .decoding.searches import Searches
from .divergences import Divergence
from .errors import ConfigError
from .initialization import initial_weights
from .lacking import refusing
from .offered_layers import OfferedLayers
from .parameters import check_weights
from .placed_layers import PlacedLayer
from .trainer import Trainer, TrainerOptions, check_offered

Weights = Mapping[str, np.ndarray]


class Backend(OfferedLayers, Searches, ABC):
    """A framework on one device in one dtype.

    The framework's layer classes are attributes, see ``interface.LAYERS``: ``backend.MultiHeadAttention(...)`` has this dtype
    and lies on this device; ``type(backend).MultiHeadAttention`` is the class itself, which knows neither.

    Args:
        device: as the framework names it (``cpu``, ``cuda``, ``gpu:0``), or its own object; None is its default.
        dtype: of weights and activations: a name, or NumPy's or the framework's own object.
    Raises: DtypeError, DeviceError, naming what this backend offers here.
    """

    name: ClassVar[str]
    dtypes: ClassVar[tuple[str, ...]]
    own_types: ClassVar[tuple[type, ...]] = ()  # the framework's classes of dtypes and devices, taken in place of names
    divergences: ClassVar[Sequence[Divergence]] = ()  # known differences, each a strict expected failure
    lacks: ClassVar[Mapping[str, str]] = {}  # switches that it has not got, with the reason: see ``lacking``
    trainer_class: ClassVar[type[Trainer]]  # made from a model and its options
    gpu_settings: ClassVar[Mapping[str, Callable[[], Any]]] = {}  # contexts in which a GPU computes otherwise, by name

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if cls.lacks:
            refusing(cls)

    def __init__(self, device: Any = None, dtype: Any = "float32"):
        self.dtype = check_dtype(self.name, self.dtypes, dtype, self.own_types)
        if isinstance(device, self.own_types):
            self.device: Any = device
            device = self.device_name
        self.device = self.find_device(device)
        for name in interface.LAYERS:
            setattr(self, name, PlacedLayer(getattr(type(self), name), self.make))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(device={self.device_name!r}, dtype={self.dtype!r})"

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """The framework's version."""

    @classmethod
    @abstractmethod
    def devices(cls) -> list[str]:
        """The devices that can be used here."""

    @abstractmethod
    def find_device(self, device: str | None) -> Any:
        """The framework's own device object; raises DeviceError when it is not there."""

    @property
    def device_name(self) -> str:
        """The device as ``devices`` lists it."""
        return str(self.device)

    @property
    def hardware(self) -> str | None:
        """The name that its maker gives the device; None for a processor."""
        return None

    @abstractmethod
    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a layer class, or a class method that makes a layer: on this device and in this dtype."""

    def layer(self, name: str, *arguments: Any, **options: Any) -> Any:
        """A layer of ``interface.LAYERS`` by name, on this device and in this dtype."""
        if name not in interface.LAYERS:
            raise ConfigError(f"A layer must be one of {', '.join(interface.LAYERS)}, got {name!r}.")
        return self.make(getattr(type(self), name), *arguments, **options)

    @abstractmethod
    def create_empty(self, config: TransformerConfig) -> Any:
        """A native model with the framework's own storage, weights unset."""

    def _create_loaded(self, config: TransformerConfig) -> Any:
        """``create_empty``, in the way in which the framework makes a model whose weights are to be loaded."""
        return self.create_empty(config)

    @abstractmethod
    def parameter_shapes(self, module: Any) -> dict[str, tuple[int, ...]]:
        """Canonical parameter names of a model or a layer (relative to it), with canonical shapes."""

    @abstractmethod
    def get_weights(self, module: Any) -> dict[str, np.ndarray]:
        """Weights of a model or a layer by canonical name, in canonical layout; bfloat16 and float16 as float32."""

    @abstractmethod
    def assign_weights(self, module: Any, weights: Weights) -> None:
        """Copy weights in, names and shapes having been checked."""

    @abstractmethod
    def apply(
        self, layer: Any, *inputs: Any, training: bool = False, dropout_masks: Weights | None = None, **options: Any
    ) -> Any:
        """Run any layer or function on NumPy arrays (floats in this backend's dtype) and return NumPy arrays.

        Returns: what the layer returns, each tensor as an array: one array, or a tuple or list that nests some.

        ``inputs`` and ``options`` may nest arrays in lists. ``dropout_masks`` are by path relative to the layer and
        need ``training=True``. In NumPy, torch and Paddle a layer's method runs in the mode that the layer has.

        Raises:
            ShapeError, DtypeError, TokenError: as the layer does when called eagerly; on an accelerator values go unread.
        """

    @abstractmethod
    def gradients(
        self,
        layer: Any,
        inputs: Sequence[Any],
        cotangent: np.ndarray,
        training: bool = False,
        dropout_masks: Weights | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, list[np.ndarray | None], dict[str, np.ndarray]]:
        """Run a layer or function on NumPy arrays, and differentiate sum(output * cotangent).

        Args:
            inputs: the layer's positional arguments, a list. cotangent: of the shape of the output, the first one if several.
            training, dropout_masks, options: as in ``apply``.
        Returns:
            A tuple of three: the output, an array; a list with the gradient of each array among the inputs in their order, of
            its shape (None where it holds no floats); and a dictionary of the gradients of all parameters by canonical name.
        """

    @abstractmethod
    def run_encoder(self, model: Any, source: np.ndarray, valid_lens: np.ndarray, token_types: np.ndarray | None) -> np.ndarray:
        """Compute what ``encode`` returns, [B, S, D], from inputs that are checked."""

    @abstractmethod
    def run_logits(
        self, model: Any, source: np.ndarray | None, target: np.ndarray, valid_lens: np.ndarray | None
    ) -> np.ndarray:
        """Compute what ``logits`` returns, [B, T, V], from inputs that are checked."""

    @abstractmethod
    def run_losses(self, model: Any, batch: Batch) -> np.ndarray:
        """Compute what ``losses`` returns, [B] float64, from a batch that is checked."""

    @abstractmethod
    def run_attention(
        self, model: Any, source: np.ndarray | None, target: np.ndarray, valid_lens: np.ndarray | None
    ) -> dict[str, list[np.ndarray]]:
        """Compute what ``attention`` returns, from inputs that are checked."""

    @abstractmethod
    def run_loss_and_gradients(
        self, model: Any, batch: Batch, loss: interface.MaskedSoftmaxCELoss, dropout_masks: Weights | None
    ) -> tuple[float, dict[str, np.ndarray]]:
        """The sum of what ``loss`` gives for a batch, and its gradients; with masks in training mode, dropping these."""

    def build(self, config: TransformerConfig, seed: int = 0, initialization: str = "xavier") -> Any:
        """Build a native model with neutral initial weights: the same seed gives the same model in every backend.

        It is in the mode in which its framework makes models: training in torch, Paddle, flax and NumPy, where ``model.eval()``
        ends dropout; in Keras and MXNet the mode comes with each call.

        Args:
            initialization: ``xavier`` or ``torch_default``, see ``transformer_mb.initialization``.
        Raises: ConfigError for what is no TransformerConfig; LackingError for a switch that this backend lacks.
        """
        check_config(config)
        weights = initial_weights(config, seed, initialization)
        model = self.create_empty(config)
        self.set_weights(model, weights)
        return model

    def from_weights(self, config: TransformerConfig, weights: Weights) -> Any:
        """Build a native model with these weights, in evaluation mode, so that nothing is dropped. A trainer changes that.

        Raises: WeightsError, which names what does not fit.
        """
        model = self.create_empty(config)
        self.set_weights(model, weights)
        if hasattr(model, "eval"):  # in Keras and MXNet the mode comes with each call
            model.eval()
        return model

    def set_weights(self, module: Any, weights: Weights) -> None:
        """Copy weights into a model or a layer; raises WeightsError, which names what does not fit."""
        check_weights(weights, self.parameter_shapes(module), f"This {type(module).__name__}")
        self.assign_weights(module, weights)

    def trainer(self, model: Any, **options: Any) -> Trainer:
        """Make a trainer for the model; ``options`` are those of TrainerOptions.

        Raises: ConfigError, naming the option; also where this backend has no such precision, or nothing to compile.
        """
        self._check_model(model, "decoder", "trainer")
        chosen = TrainerOptions(**options)
        check_offered(self.name, self.dtype, self.trainer_class, chosen)
        make: Callable[[Any, TrainerOptions], Trainer] = self.trainer_class
        return make(model, chosen)

    def encode(self, model: Any, source: Any, source_valid_lens: Any = None, token_types: Any = None) -> np.ndarray:
        """Encoder states [B, S, D] of source [B, S] int, in evaluation mode.

        Args:
            source_valid_lens: [B] int, how many leading ids are no padding; None means all. token_types: [B, S] int.
        Raises: ConfigError for a model without an encoder; ShapeError, TokenError for ids and lengths that do not fit.
        """
        self._check_model(model, "encoder", "encode")
        config = model.config
        source, valid_lens = check_source(config, source, source_valid_lens)
        if token_types is not None:
            token_types = check_tokens("token_types", token_types, max(config.token_types, 1), config.max_len)
        return self.run_encoder(model, source, valid_lens, token_types)

    def logits(self, model: Any, source: Any, target: Any, source_valid_lens: Any = None) -> np.ndarray:
        """Logits [B, T, V] for target [B, T] int, in evaluation mode, causal, at true positions.

        The inputs come in the order of the model's own call; source and its lengths are as in ``encode``. A model of
        architecture decoder takes None as source. Raises: ConfigError for a model without a decoder; ShapeError, TokenError for
        ids and lengths that do not fit.
        """
        source, target, valid_lens = self._model_inputs(model, "logits", source, target, source_valid_lens)
        return self.run_logits(model, source, target, valid_lens)

    def attention(self, model: Any, source: Any, target: Any, source_valid_lens: Any = None) -> dict[str, list[np.ndarray]]:
        """Attention weights, one array per block: ``encoder`` [B, H, S, S], ``decoder_self`` [B, H, T, T] and
        ``decoder_cross`` [B, H, T, S]; arguments and errors are those of ``logits``."""
        source, target, valid_lens = self._model_inputs(model, "attention", source, target, source_valid_lens)
        return self.run_attention(model, source, target, valid_lens)

    def losses(self, model: Any, batch: Batch) -> np.ndarray:
        """[B] float64: each target's cross-entropy, summed over its tokens and in nats.

        In evaluation mode: nothing is dropped and nothing smoothed, and no gradients are kept. Where ``compat_decode`` is d2l,
        the decoder then sees what comes after, and the padding, so that a loss depends on the width of its batch.
        """
        self._check_model(model, "decoder", "losses")
        return self.run_losses(model, check_batch(model.config, batch))

    def loss_and_gradients(
        self,
        model: Any,
        batch: Batch,
        *,
        normalization: str = "steps",
        label_smoothing: float = 0.0,
        dropout_masks: Weights | None = None,
    ) -> tuple[float, dict[str, np.ndarray]]:
        """The summed masked loss and its gradient for every parameter.

        Without ``dropout_masks`` nothing is dropped; with them the model runs in training mode and drops these.
        """
        self._check_model(model, "decoder", "loss_and_gradients")
        loss = type(self).MaskedSoftmaxCELoss(normalization=normalization, label_smoothing=label_smoothing)
        return self.run_loss_and_gradients(model, check_batch(model.config, batch), loss, dropout_masks)

    def _model_inputs(self, model: Any, call: str, source: Any, target: Any, valid_lens: Any) -> tuple[Any, Any, Any]:
        self._check_model(model, "decoder", call)
        source, valid_lens = check_source(model.config, source, valid_lens)
        return source, check_target(model.config, target, None if source is None else source.shape[0]), valid_lens
