"""torch.nn.Transformer and torch.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from ...families.torch_transformer import STACKS
from .nn_transformer import run_stacks


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import torch

    torch.set_grad_enabled(False)

    def stack_of(config: TransformerConfig, side: str, tensors: Mapping[str, np.ndarray]) -> Any:
        crossed = any(".multihead_attn." in name for name in tensors)
        stack = _stack(torch, config, side, crossed, any(name.endswith("in_proj_bias") for name in tensors)).eval()
        try:
            stack.load_state_dict({name: torch.from_numpy(array).float() for name, array in tensors.items()})
        except RuntimeError as error:
            raise PortError(f"{type(stack).__name__} of torch does not take the tensors of the {side}: {error}") from None

        def called(X: np.ndarray, valid: Any, memory: Any = None, causal: bool = False) -> np.ndarray:
            # True at padding, which is where torch may not attend.
            padding = None if valid is None else torch.from_numpy(~valid)
            mask = torch.nn.Transformer.generate_square_subsequent_mask(X.shape[1]) if causal else None
            if memory is None:
                return stack(torch.from_numpy(X), mask=mask, src_key_padding_mask=padding).numpy()
            inputs = (torch.from_numpy(X), torch.from_numpy(memory))
            return stack(*inputs, tgt_mask=mask, memory_key_padding_mask=padding).numpy()

        return called

    return run_stacks(arrays, settings, torch, STACKS, stack_of)


def _stack(torch: Any, config: TransformerConfig, side: str, crossed: bool, bias: bool) -> Any:
    options = {
        "dim_feedforward": config.ffn_num_hiddens,
        "dropout": 0.0,
        "activation": config.activation,
        "layer_norm_eps": config.norm_eps,
        "batch_first": True,
        "norm_first": config.norm_position == "pre",
        "bias": bias,
    }
    nn, heads, count = torch.nn, getattr(config, f"{side}_num_heads"), getattr(config, f"{side}_num_layers")
    norm = nn.LayerNorm(config.num_hiddens, config.norm_eps, bias=bias) if config.final_norm else None
    if crossed:
        return nn.TransformerDecoder(nn.TransformerDecoderLayer(config.num_hiddens, heads, **options), count, norm)
    layer = nn.TransformerEncoderLayer(config.num_hiddens, heads, **options)
    return nn.TransformerEncoder(layer, count, norm, enable_nested_tensor=False)
