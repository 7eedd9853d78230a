"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ShapeError
from transformer_mb.layer_calls import Called, check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

from .decoder import TransformerDecoder
from .dense import Dense, TiedDense
from .encoder import TransformerEncoder


@keras.saving.register_keras_serializable("transformer_mb")
class Pooler(keras.layers.Layer):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.dense = Dense(num_hiddens, dtype=self.dtype_policy)
        self.dense.build((None, num_hiddens))
        self.built = True

    def call(self, X: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.dense(X[:, 0]))


@keras.saving.register_keras_serializable("transformer_mb")
class EncoderDecoder(Called, keras.Model):
    """Keras' own programs take all inputs as one and get the logits alone.

    These are ``[enc_X, dec_X]`` or ``[enc_X, dec_X, enc_valid_lens]``, or a dictionary of these names; for a decoder
    alone ``dec_X``, for an encoder alone ``enc_X`` or ``[enc_X, enc_valid_lens]``. So ``fit``, ``predict`` and
    ``keras.Model`` have it. In a functional model the state that goes with the logits is empty.
    """

    config: TransformerConfig

    def __init__(
        self,
        encoder: TransformerEncoder | None,
        decoder: TransformerDecoder | None,
        pooler: Pooler | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._allow_non_tensor_positional_args = True  # lists of tokens and lengths
        check_parts(encoder=encoder, decoder=decoder, pooler=pooler)
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler
        self._last_inputs: tuple[tuple[str, str], ...] = ()
        self.built = True

    @classmethod
    def from_config(cls, config: TransformerConfig, *, name: str | None = None, dtype: Any = None) -> EncoderDecoder:
        if isinstance(config, dict):
            # Keras, when it loads a model: what get_config gave.
            return cls.from_config(TransformerConfig.from_dict(config["config"]), name=config["name"], dtype=config["dtype"])
        check_config(config)
        encoder = TransformerEncoder(**encoder_arguments(config), dtype=dtype) if config.has_encoder else None
        decoder = TransformerDecoder(**decoder_arguments(config), dtype=dtype) if config.has_decoder else None
        if config.share_embeddings:
            _replace(decoder, "embedding", encoder.embedding)
        if config.tie_output:
            tied = TiedDense(decoder.embedding, config.output_bias, decoder.padding_id, dtype=dtype)
            _replace(decoder, "dense", tied)
        pooler = Pooler(config.num_hiddens, dtype=dtype) if config.pooler else None
        model = cls(encoder, decoder, pooler, name=name, dtype=dtype)
        model.config = config
        return model

    def call(
        self,
        enc_X: Any,
        dec_X: tf.Tensor | None = None,
        enc_valid_lens: tf.Tensor | None = None,
        *,
        training: bool | None = None,
    ) -> Any:
        if self._are_all_in_one(enc_X, dec_X):
            outputs = self.call(**self._named_inputs(enc_X), training=training)
            return outputs if self.decoder is None else outputs[0]
        if self.encoder is None and dec_X is None:
            return self.call(None, enc_X, training=training)[0]
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        self._remember(enc_X=enc_X, dec_X=dec_X, enc_valid_lens=enc_valid_lens)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens, training=training)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens), training=training)

    def _are_all_in_one(self, enc_X: Any, dec_X: Any) -> bool:
        """Tell whether Keras, or its user, gave the inputs as one; a list of numbers is token ids."""
        if isinstance(enc_X, dict):
            return True
        both = self.encoder is not None and self.decoder is not None
        listed = isinstance(enc_X, (list, tuple)) and dec_X is None
        return listed and (both or any(hasattr(part, "shape") for part in enc_X))

    def _named_inputs(self, inputs: Any) -> dict[str, Any]:
        """Arguments of ``call``."""
        sides = {"enc_X": self.encoder, "dec_X": self.decoder}
        names = [name for name, side in sides.items() if side is not None]
        optional = ["enc_valid_lens"] if self.encoder is not None else []
        given = inputs if isinstance(inputs, dict) else dict(zip([*names, *optional], inputs, strict=False))
        if len(given) != len(inputs) or not set(names) <= set(given) <= {*names, *optional}:
            known = ", ".join(inputs) if isinstance(inputs, dict) else f"{len(inputs)} of them"
            raise ShapeError(f"The inputs must be {', '.join(names)}{' and perhaps '.join(['', *optional])}, got {known}.")
        return {"enc_X": None, **given}

    def _remember(self, **inputs: Any) -> None:
        """Keep the inputs of a call and their dtypes for ``export``."""
        given = tuple((name, tf.as_dtype(value.dtype).name) for name, value in inputs.items() if hasattr(value, "dtype"))
        if given != self._last_inputs:
            self._last_inputs = given

    def export(self, filepath: Any, *arguments: Any, input_signature: Any = None, **options: Any) -> Any:
        """Export as Keras does. By default the program takes the inputs of the last call, in one list, and gives the logits."""
        if input_signature is None and self._last_inputs:
            ranks = {"enc_valid_lens": (None,)}
            specs = [keras.InputSpec(dtype, ranks.get(name, (None, None)), name=name) for name, dtype in self._last_inputs]
            input_signature = [specs if len(specs) > 1 else specs[0]]
        return super().export(filepath, *arguments, input_signature=input_signature, **options)

    def compute_output_spec(self, *inputs: Any, **options: Any) -> Any:
        outputs = super().compute_output_spec(*inputs, **options)
        # A state holds None too, which no output of a functional model may be.
        return (outputs[0], []) if isinstance(outputs, tuple) else outputs

    def get_config(self) -> dict[str, Any]:
        return {"config": self.config.to_dict(), "name": self.name, "dtype": self.dtype_policy.name}


def _replace(layer: keras.layers.Layer, name: str, new: keras.layers.Layer) -> None:
    """Keras counts the weights of every layer that an attribute ever held, unless it is untracked."""
    layer._tracker.untrack(getattr(layer, name))
    setattr(layer, name, new)
