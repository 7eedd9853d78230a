"""paddle.nn.Transformer and paddle.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from ...families.paddle_transformer import STACKS
from .nn_transformer import run_stacks


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import paddle

    paddle.set_grad_enabled(False)

    def stack_of(config: TransformerConfig, side: str, tensors: Mapping[str, np.ndarray]) -> Any:
        stack = _stack(paddle.nn, config, side, any(".cross_attn." in name for name in tensors))
        stack.eval()
        own = {name: paddle.to_tensor(array.astype(np.float32)) for name, array in tensors.items()}
        missing, unexpected = stack.set_state_dict(own)
        if missing or unexpected:
            listed = ", ".join([*(f"missing {name}" for name in missing), *(f"unexpected {name}" for name in unexpected)])
            raise PortError(f"{type(stack).__name__} of paddle does not take the tensors of the {side}: {listed:.500}.")

        def called(X: np.ndarray, valid: Any, memory: Any = None, causal: bool = False) -> np.ndarray:
            # True: may attend.
            padding = None if valid is None else paddle.to_tensor(valid[:, None, None, :])
            mask = paddle.to_tensor(np.tri(X.shape[1], dtype=bool)[None, None]) if causal else None
            if memory is None:
                return stack(paddle.to_tensor(X), mask if causal else padding).numpy()
            return stack(paddle.to_tensor(X), paddle.to_tensor(memory), mask, padding).numpy()

        return called

    return run_stacks(arrays, settings, paddle, STACKS, stack_of)


def _stack(nn: Any, config: TransformerConfig, side: str, crossed: bool) -> Any:
    heads, count = getattr(config, f"{side}_num_heads"), getattr(config, f"{side}_num_layers")
    bias = getattr(config, f"{side}_attention_bias")
    options = {"dropout": 0.0, "activation": config.activation, "normalize_before": config.norm_position == "pre"}
    sizes = (config.num_hiddens, heads, config.ffn_num_hiddens)
    norm = nn.LayerNorm(config.num_hiddens, config.norm_eps) if config.final_norm else None
    if crossed:
        layer = nn.TransformerDecoderLayer(*sizes, bias_attr=[bias, bias, config.ffn_bias], **options)
        stack = nn.TransformerDecoder(layer, count, norm)
    else:
        layer = nn.TransformerEncoderLayer(*sizes, bias_attr=[bias, config.ffn_bias], **options)
        stack = nn.TransformerEncoder(layer, count, norm)
    for one in stack.sublayers():
        if isinstance(one, nn.LayerNorm):
            one._epsilon = config.norm_eps  # the layers take none as an argument
    return stack
