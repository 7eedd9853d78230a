"""paddle.nn.Transformer and paddle.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from ...families import nn_transformer
from ..probe import parts
from .stack_probe import AroundStacks, greedy


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import paddle

    config = TransformerConfig.from_dict(settings["config"])
    batch, tensors = parts(arrays)
    prefix = nn_transformer.prefix_of(tensors) or ""
    model = _model(paddle, config)
    model.eval()
    own = {n.removeprefix(prefix): paddle.to_tensor(a.astype(np.float32)) for n, a in tensors.items()}
    missing, _ = model.set_state_dict({n: t for n, t in own.items() if n in model.state_dict()})
    if missing:
        raise PortError(f"paddle.nn.Transformer takes tensors that the file does not hold: {', '.join(missing)[:500]}.")
    around = AroundStacks(config, tensors, settings["given"], transposed=True)
    valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
    mask = paddle.to_tensor(valid[:, None, None, :])  # True: may attend
    with paddle.no_grad():
        encode = model.encoder if config.has_decoder else model
        memory = encode(paddle.to_tensor(around.embedded("encoder", batch["source"])), mask)
        outputs = {"encoder": memory.numpy()}
        if config.has_decoder:

            def logits(target: np.ndarray) -> np.ndarray:
                causal = paddle.to_tensor(np.tri(target.shape[1], dtype=bool)[None, None])
                states = model.decoder(paddle.to_tensor(around.embedded("decoder", target)), memory, causal, mask)
                return around.logits(states.numpy())

            outputs["logits"] = logits(batch["target"])
            outputs["tokens"] = greedy(logits, len(batch["source"]), config, settings["max_steps"])
    return outputs, {"ran": f"the stacks of paddle {paddle.__version__}, layers around them by this project's formula"}


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
