"""The lines that load what ``torch_transformer`` and ``paddle_transformer`` write: the stacks, and the layers beside them."""

from __future__ import annotations

from dataclasses import dataclass

from .families.nn_transformer import is_stand_in
from .families.stack_layout import AROUND, OUTPUT
from .model import PortedModel


@dataclass(frozen=True, kw_only=True)
class StackLines:
    """One framework's. In its constructors fields of a TransformerConfig stand by name, and of one stack its ``kind`` (Encoder
    or Decoder), ``heads`` and ``layers``."""

    both: str
    stack: str
    final_norm: str
    dictionary: str
    load: tuple[str, ...]
    other_epsilon: tuple[str, ...] = ()  # where the constructors take none


EPSILON = 1e-5  # of both frameworks' LayerNorm where nothing is said
LAYER = "Layer({num_hiddens}, {heads}, {ffn_num_hiddens}, {dropout}, {activation!r}, "
LAYERS = "{num_hiddens}, {encoder_num_heads}, {encoder_num_layers}, {decoder_num_layers}, {ffn_num_hiddens}, {dropout}"
OF_TORCH = "layer_norm_eps={norm_eps}, batch_first=True, norm_first={pre}"
ROWS = {
    "torch": StackLines(
        both=f"torch.nn.Transformer({LAYERS}, {{activation!r}}, {OF_TORCH})",
        stack=f"torch.nn.Transformer{{kind}}(torch.nn.Transformer{{kind}}{LAYER}{OF_TORCH}), {{layers}}, norm={{norm}})",
        final_norm="torch.nn.LayerNorm({num_hiddens}, {norm_eps})",
        dictionary="torch.nn.ModuleDict",
        load=("model.load_state_dict(torch.load({path}))", "model.eval()"),
    ),
    "paddle": StackLines(
        both=f"paddle.nn.Transformer({LAYERS}, {{activation!r}}, normalize_before={{pre}})",
        stack=f"paddle.nn.Transformer{{kind}}(paddle.nn.Transformer{{kind}}{LAYER}normalize_before={{pre}}), {{layers}}, "
        "norm={norm})",
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
    stacks = _stacks(model, framework)
    if is_stand_in(model):
        made = stacks
    else:
        layers = {name: _layer(model, layer, framework) for name, layer in AROUND.items() if not name.endswith("_norm")}
        members = {"transformer": stacks, **{name: made for name, made in layers.items() if made}}
        listed = ", ".join(f"{name!r}: {made}" for name, made in members.items())
        made = f"{row.dictionary}({{{{{listed}}}}})"
    epsilon = row.other_epsilon if config.norm_eps != EPSILON else ()
    return (f"import {framework}", f"model = {made}", *(line.format(**fields) for line in epsilon), *row.load)


def _stacks(model: PortedModel, framework: str) -> str:
    """One stack, a decoder alone as an encoder's, which has no cross-attention; or the class of both, which has final norms."""
    config, row = model.config, ROWS[framework]
    fields = {**config.to_dict(), "pre": config.norm_position == "pre"}
    fields["norm"] = row.final_norm.format(**fields) if config.final_norm else None
    both = config.has_encoder and config.has_decoder

    def stack(side: str) -> str:
        kind = "Decoder" if both and side == "decoder" else "Encoder"
        sizes = {name: fields[f"{side}_num_{name}"] for name in ("heads", "layers")}
        return row.stack.format(kind=kind, **sizes, **fields)

    if not both:
        return stack("encoder" if config.has_encoder else "decoder")
    if config.final_norm and config.encoder_num_heads == config.decoder_num_heads:
        return row.both.format(**fields)
    first = "batch_first=True, " if framework == "torch" else ""
    sizes = f"{config.num_hiddens}, {config.encoder_num_heads}"
    return f"{framework}.nn.Transformer({sizes}, {first}custom_encoder={stack('encoder')}, custom_decoder={stack('decoder')})"


def what_is_left(model: PortedModel) -> str:
    """What whoever calls the stacks must do besides."""
    config = model.config
    masked = "" if config.has_encoder else " with a causal mask"
    if is_stand_in(model):
        return f"; to be called{masked}" if masked else ""
    scaled = f"scaled by {config.num_hiddens} ** 0.5, " if config.embedding_scale else ""
    learned = "learned" if config.position == "learned" else f"sinusoidal ({config.sinusoid_layout})"
    start = f" from {config.position_offset}" if config.position_offset else ""
    return f"; the call is yours: embeddings {scaled}plus {learned} positions{start}, the stacks{masked}, the output"


def _layer(model: PortedModel, layer: str, framework: str) -> str:
    """The constructor of a layer beside the stacks; "" where the model has none."""
    weight = model.weights.get(f"{layer}.weight")
    if weight is None:
        return ""
    if layer != AROUND[OUTPUT]:
        return f"{framework}.nn.Embedding({weight.shape[0]}, {weight.shape[1]})"
    option = {"torch": "bias", "paddle": "bias_attr"}[framework]
    bias = "" if f"{layer}.bias" in model.weights else f", {option}=False"
    return f"{framework}.nn.Linear({weight.shape[1]}, {weight.shape[0]}{bias})"
