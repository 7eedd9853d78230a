"""torch.nn.Transformer and paddle.nn.Transformer on a file's own tensors, with what a user's module does around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....errors import PortError
from ....positions import sinusoid_table
from ...families.nn_transformer import Stacks, beside
from ...families.paddle_transformer import STACKS as OF_PADDLE
from ...families.position_tables import position_tables
from ...families.stack_layout import StackLayout, flat_table, layout_of
from ...families.torch_transformer import STACKS as OF_TORCH
from ..probe import greedy_tokens, parts


class AroundStacks:
    """The layers that the settings name, and the table of positions that the file holds; unit vectors where there are none."""

    def __init__(self, config: TransformerConfig, tensors: Mapping[str, np.ndarray], layout: StackLayout, transposed: bool):
        self.config = config
        self.weights: dict[str, np.ndarray] = {}
        self.table: np.ndarray | None = None
        for name, native in layout.around.items():
            # Not in float16: scaling the embeddings would round them once more than the ported model does.
            array = flat_table(tensors[native]) if name.endswith(".pos_embedding.weight") else tensors[native]
            self.weights[name] = array.astype(np.promote_types(array.dtype, np.float32))
        if transposed and "decoder.dense.weight" in self.weights:
            self.weights["decoder.dense.weight"] = self.weights["decoder.dense.weight"].T
        found = position_tables(beside(tensors, layout), config.num_hiddens, config.to_dict(), "")
        self.start = config.position_offset
        if found.fields is not None:
            self.table = found.table
            self.start = 0 if "position_offset" in found.fields else self.start  # a table that begins there

    def embedded(self, side: str, tokens: np.ndarray) -> np.ndarray:
        """[B, T] -> [B, T, D] float32."""
        config = self.config
        table = self.weights.get(f"{side}.embedding.weight")
        if table is None and side == "decoder" and config.share_embeddings:
            table = self.weights.get("encoder.embedding.weight")
        if table is None:
            return np.eye(config.num_hiddens, dtype=np.float32)[tokens]
        vectors = table[tokens] * (np.sqrt(config.num_hiddens) if config.embedding_scale else 1.0)
        rows = self.weights.get(f"{side}.pos_embedding.weight", self.table)
        if rows is None:
            rows = sinusoid_table(tokens.shape[1] + self.start, config.num_hiddens, config.sinusoid_layout)
        return (vectors + rows[self.start :][: tokens.shape[1]]).astype(np.float32)

    def logits(self, states: np.ndarray) -> np.ndarray:
        """[B, T, D] -> [B, T, V]."""
        weight = self.weights.get("decoder.dense.weight")
        if weight is None and self.config.tie_output:
            weight = self.weights.get("decoder.embedding.weight", self.weights.get("encoder.embedding.weight"))
        logits = states if weight is None else states @ weight.T
        return np.ascontiguousarray(logits + self.weights.get("decoder.dense.bias", np.float32(0.0)))


def run_stacks(
    arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any], framework: Any, stacks: Stacks, stack_of: Callable[..., Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """``stack_of(config, side, tensors)`` gives the framework's own stack with these tensors, called as it names them.

    Its result is ``run(X, valid, memory=None, causal=False)``, of arrays [B, T, D] and the truth values [B, S] of the
    positions of ``memory`` (else of X) that may be attended to, or None for all; it gives an array.
    """
    config = TransformerConfig.from_dict(settings["config"])
    batch, tensors = parts(arrays)
    layout = layout_of(tensors, {**settings["native_settings"], **settings["given"]}, stacks.cross)
    around = AroundStacks(config, tensors, layout, stacks.transposed)
    own: dict[str, dict[str, np.ndarray]] = {side: {} for side in layout.stems}
    for name, array in tensors.items():
        if inner := layout.inner(name):
            own[inner[0]][inner[1]] = array
    for side, leaf in ((side, leaf) for side in own for leaf in ("weight", "bias")):
        if f"{side}.norm.{leaf}" in layout.around:
            own[side][f"norm.{leaf}"] = tensors[layout.around[f"{side}.norm.{leaf}"]]
    run = {side: stack_of(config, side, own[side]) for side in own}
    outputs: dict[str, np.ndarray] = {}
    valid = memory = None
    if config.has_encoder:
        valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
        memory = outputs["encoder"] = run["encoder"](around.embedded("encoder", batch["source"]), valid)
    if config.has_decoder:

        def logits(target: np.ndarray) -> np.ndarray:
            return around.logits(run["decoder"](around.embedded("decoder", target), valid, memory, causal=True))

        outputs["logits"] = logits(batch["target"])
        if config.has_encoder:
            outputs["tokens"] = greedy_tokens(logits, len(batch["source"]), config, settings["max_steps"])
    masks = "" if config.has_encoder else " with a causal mask"
    ran = f"the stacks of {framework.__name__} {framework.__version__}{masks}, layers around them by this project's formula"
    return outputs, {"ran": ran}


def run_torch(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import torch

    torch.set_grad_enabled(False)

    def stack_of(config: TransformerConfig, side: str, tensors: Mapping[str, np.ndarray]) -> Any:
        crossed = any(".multihead_attn." in name for name in tensors)
        stack = _torch_stack(torch, config, side, crossed, any(name.endswith("in_proj_bias") for name in tensors)).eval()
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

    return run_stacks(arrays, settings, torch, OF_TORCH, stack_of)


def _torch_stack(torch: Any, config: TransformerConfig, side: str, crossed: bool, bias: bool) -> Any:
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


def run_paddle(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import paddle

    paddle.set_grad_enabled(False)

    def stack_of(config: TransformerConfig, side: str, tensors: Mapping[str, np.ndarray]) -> Any:
        stack = _paddle_stack(paddle.nn, config, side, any(".cross_attn." in name for name in tensors))
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

    return run_stacks(arrays, settings, paddle, OF_PADDLE, stack_of)


def _paddle_stack(nn: Any, config: TransformerConfig, side: str, crossed: bool) -> Any:
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
