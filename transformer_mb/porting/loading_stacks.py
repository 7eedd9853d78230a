"""The lines that load what ``torch_transformer`` and ``paddle_transformer`` write: the stacks, and the layers beside them."""

from __future__ import annotations

from dataclasses import dataclass

from .families.nn_transformer import AROUND, POSITIONS, is_stand_in
from .model import PortedModel


@dataclass(frozen=True, kw_only=True)
class StackLines:
    """One framework's. In ``both`` and ``encoder``, its constructors, fields of a TransformerConfig stand by name."""

    both: str
    encoder: str
    final_norm: str
    dictionary: str
    load: tuple[str, ...]
    other_epsilon: tuple[str, ...] = ()  # where the constructors take none


EPSILON = 1e-5  # of both frameworks' LayerNorm where nothing is said
LAYER = "{num_hiddens}, {encoder_num_heads}, {ffn_num_hiddens}, {dropout}, {activation!r}"
LAYERS = "{num_hiddens}, {encoder_num_heads}, {encoder_num_layers}, {decoder_num_layers}, {ffn_num_hiddens}, {dropout}"
OF_TORCH = "layer_norm_eps={norm_eps}, batch_first=True, norm_first={pre}"
ROWS = {
    "torch": StackLines(
        both=f"torch.nn.Transformer({LAYERS}, {{activation!r}}, {OF_TORCH})",
        encoder=f"torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer({LAYER}, {OF_TORCH}), {{encoder_num_layers}}, "
        "norm={norm})",
        final_norm="torch.nn.LayerNorm({num_hiddens}, {norm_eps})",
        dictionary="torch.nn.ModuleDict",
        load=("model.load_state_dict(torch.load({path}))", "model.eval()"),
    ),
    "paddle": StackLines(
        both=f"paddle.nn.Transformer({LAYERS}, {{activation!r}}, normalize_before={{pre}})",
        encoder=f"paddle.nn.TransformerEncoder(paddle.nn.TransformerEncoderLayer({LAYER}, normalize_before={{pre}}), "
        "{encoder_num_layers}, norm={norm})",
        final_norm="paddle.nn.LayerNorm({num_hiddens})",
        dictionary="paddle.nn.LayerDict",
        load=("model.set_state_dict({paddle_tensors})", "model.eval()"),
        other_epsilon=(
            "for layer in model.sublayers(include_self=True):",
            "    if isinstance(layer, paddle.nn.LayerNorm): layer._epsilon = {norm_eps}",
        ),
    ),
}


def stack_lines(model: PortedModel, framework: str) -> tuple[str, ...]:
    """Templates with ``{path}`` or ``{paddle_tensors}`` in them."""
    config, row = model.config, ROWS[framework]
    fields = {**config.to_dict(), "pre": config.norm_position == "pre"}
    fields["norm"] = row.final_norm.format(**fields) if config.final_norm else None
    stacks = (row.both if config.has_decoder else row.encoder).format(**fields)
    if is_stand_in(model):
        made = stacks
    else:
        beside = {name: _layer(model, layer, framework) for name, layer in {**AROUND, **POSITIONS}.items()}
        members = {"transformer": stacks, **{name: made for name, made in beside.items() if made}}
        listed = ", ".join(f"{name!r}: {made}" for name, made in members.items())
        made = f"{row.dictionary}({{{{{listed}}}}})"
    epsilon = row.other_epsilon if config.norm_eps != EPSILON else ()
    return (f"import {framework}", f"model = {made}", *(line.format(**fields) for line in epsilon), *row.load)


def what_is_left(model: PortedModel) -> str:
    """What whoever calls the stacks must do besides."""
    config = model.config
    if is_stand_in(model):
        return ""
    scaled = f"scaled by {config.num_hiddens} ** 0.5, " if config.embedding_scale else ""
    learned = "learned" if config.position == "learned" else f"sinusoidal ({config.sinusoid_layout})"
    start = f" from {config.position_offset}" if config.position_offset else ""
    return f"; the call is yours: embeddings {scaled}plus {learned} positions{start}, the stacks, the output"


def _layer(model: PortedModel, layer: str, framework: str) -> str:
    """The constructor of a layer beside the stacks; "" where the model has none."""
    weight = model.weights.get(f"{layer}.weight")
    if weight is None:
        return ""
    if layer != AROUND["output"]:
        return f"{framework}.nn.Embedding({weight.shape[0]}, {weight.shape[1]})"
    option = {"torch": "bias", "paddle": "bias_attr"}[framework]
    bias = "" if f"{layer}.bias" in model.weights else f", {option}=False"
    return f"{framework}.nn.Linear({weight.shape[1]}, {weight.shape[0]}{bias})"
