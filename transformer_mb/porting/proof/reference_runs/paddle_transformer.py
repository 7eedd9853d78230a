"""paddle.nn.Transformer and paddle.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from .nn_transformer import run_stacks


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import paddle

    paddle.set_grad_enabled(False)

    class Stacks:
        def __init__(self, config: TransformerConfig, tensors: Mapping[str, np.ndarray]):
            self.model = _model(paddle, config)
            self.model.eval()
            self.encoder = self.model.encoder if config.has_decoder else self.model
            names = self.model.state_dict()
            own = {name: paddle.to_tensor(array.astype(np.float32)) for name, array in tensors.items() if name in names}
            missing, _ = self.model.set_state_dict(own)
            if missing:
                raise PortError(f"paddle.nn.Transformer takes tensors that the file does not hold: {', '.join(missing)[:500]}.")

        def encode(self, X: np.ndarray, valid: np.ndarray) -> np.ndarray:
            return self.encoder(paddle.to_tensor(X), paddle.to_tensor(valid[:, None, None, :])).numpy()

        def decode(self, Y: np.ndarray, memory: np.ndarray, valid: np.ndarray) -> np.ndarray:
            causal = np.tri(Y.shape[1], dtype=bool)[None, None]  # True: may attend
            return self.model.decoder(*map(paddle.to_tensor, (Y, memory, causal, valid[:, None, None, :]))).numpy()

    return run_stacks(arrays, settings, paddle, Stacks, transposed=True)


def _model(paddle: Any, config: TransformerConfig) -> Any:
    nn = paddle.nn
    width, heads, options = config.num_hiddens, config.encoder_num_heads, _options(config)
    biases = [config.encoder_attention_bias, config.ffn_bias]
    encoder_layer = nn.TransformerEncoderLayer(width, heads, config.ffn_num_hiddens, bias_attr=biases, **options)
    encoder = nn.TransformerEncoder(encoder_layer, config.encoder_num_layers, _norm(nn, config))
    _set_epsilon(nn, encoder, config)
    if not config.has_decoder:
        return encoder
    biases = [config.decoder_attention_bias] * 2 + [config.ffn_bias]
    decoder_heads, inner = config.decoder_num_heads, config.ffn_num_hiddens
    decoder_layer = nn.TransformerDecoderLayer(width, decoder_heads, inner, bias_attr=biases, **options)
    decoder = nn.TransformerDecoder(decoder_layer, config.decoder_num_layers, _norm(nn, config))
    _set_epsilon(nn, decoder, config)
    return nn.Transformer(width, heads, custom_encoder=encoder, custom_decoder=decoder)


def _options(config: TransformerConfig) -> dict[str, Any]:
    return {"dropout": 0.0, "activation": config.activation, "normalize_before": config.norm_position == "pre"}


def _norm(nn: Any, config: TransformerConfig) -> Any:
    return nn.LayerNorm(config.num_hiddens, config.norm_eps) if config.final_norm else None


def _set_epsilon(nn: Any, stack: Any, config: TransformerConfig) -> None:
    """The layers take none as an argument."""
    for layer in stack.sublayers():
        if isinstance(layer, nn.LayerNorm):
            layer._epsilon = config.norm_eps
