"""torch.nn.Transformer and torch.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from .nn_transformer import run_stacks


def run(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import torch

    torch.set_grad_enabled(False)

    class Stacks:
        def __init__(self, config: TransformerConfig, tensors: Mapping[str, np.ndarray]):
            self.model = _model(torch, config, any(name.endswith("in_proj_bias") for name in tensors)).eval()
            self.encoder = self.model.encoder if config.has_decoder else self.model
            heads = ("encoder.layers.", "encoder.norm.", "decoder.") if config.has_decoder else ("layers.", "norm.")
            own = {name: torch.from_numpy(array) for name, array in tensors.items() if name.startswith(heads)}
            self.model.load_state_dict(own)

        def encode(self, X: np.ndarray, valid: np.ndarray) -> np.ndarray:
            # True at padding, which is where torch may not attend.
            return self.encoder(torch.from_numpy(X), src_key_padding_mask=torch.from_numpy(~valid)).numpy()

        def decode(self, Y: np.ndarray, memory: np.ndarray, valid: np.ndarray) -> np.ndarray:
            causal, padding = torch.nn.Transformer.generate_square_subsequent_mask(Y.shape[1]), torch.from_numpy(~valid)
            inputs = (torch.from_numpy(Y), torch.from_numpy(memory))
            return self.model.decoder(*inputs, tgt_mask=causal, memory_key_padding_mask=padding).numpy()

    return run_stacks(arrays, settings, torch, Stacks, transposed=False)


def _model(torch: Any, config: TransformerConfig, bias: bool) -> Any:
    options = {
        "dim_feedforward": config.ffn_num_hiddens,
        "dropout": 0.0,
        "activation": config.activation,
        "layer_norm_eps": config.norm_eps,
        "batch_first": True,
        "norm_first": config.norm_position == "pre",
        "bias": bias,
    }
    if config.has_decoder:
        counts = (config.encoder_num_layers, config.decoder_num_layers)
        return torch.nn.Transformer(config.num_hiddens, config.encoder_num_heads, *counts, **options)
    layer = torch.nn.TransformerEncoderLayer(config.num_hiddens, config.encoder_num_heads, **options)
    norm = torch.nn.LayerNorm(config.num_hiddens, config.norm_eps, bias=bias) if config.final_norm else None
    return torch.nn.TransformerEncoder(layer, config.encoder_num_layers, norm, enable_nested_tensor=False)
