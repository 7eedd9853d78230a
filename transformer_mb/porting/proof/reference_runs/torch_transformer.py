"""torch.nn.Transformer and torch.nn.TransformerEncoder themselves, on a file's own tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....config import TransformerConfig
from ...families import nn_transformer
from ..probe import parts
from .stack_probe import AroundStacks, greedy


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import torch

    config = TransformerConfig.from_dict(settings["config"])
    batch, tensors = parts(arrays)
    prefix = nn_transformer.prefix_of(tensors) or ""
    model = _model(torch, config, any(name.endswith("in_proj_bias") for name in tensors)).eval()
    own = {n.removeprefix(prefix): torch.from_numpy(a) for n, a in tensors.items() if _belongs(n.removeprefix(prefix), config)}
    model.load_state_dict(own)
    around = AroundStacks(config, tensors, settings["given"], transposed=False)
    source, padding = torch.from_numpy(around.embedded("encoder", batch["source"])), _padding(torch, batch)
    with torch.no_grad():
        encode = model.encoder if config.has_decoder else model
        memory = encode(source, src_key_padding_mask=padding)
        outputs = {"encoder": memory.numpy()}
        if config.has_decoder:

            def logits(target: np.ndarray) -> np.ndarray:
                causal = torch.nn.Transformer.generate_square_subsequent_mask(target.shape[1])
                embedded = torch.from_numpy(around.embedded("decoder", target))
                states = model.decoder(embedded, memory, tgt_mask=causal, memory_key_padding_mask=padding)
                return around.logits(states.numpy())

            outputs["logits"] = logits(batch["target"])
            outputs["tokens"] = greedy(logits, len(batch["source"]), config, settings["max_steps"])
    return outputs, {"ran": f"the stacks of torch {torch.__version__}, layers around them by this project's formula"}


def _belongs(name: str, config: TransformerConfig) -> bool:
    heads = ("encoder.layers.", "encoder.norm.", "decoder.") if config.has_decoder else ("layers.", "norm.")
    return name.startswith(heads)


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


def _padding(torch: Any, batch: dict[str, np.ndarray]) -> Any:
    """True at padding, which is where torch may not attend."""
    return torch.from_numpy(np.arange(batch["source"].shape[1]) >= batch["source_valid_lens"][:, None])
