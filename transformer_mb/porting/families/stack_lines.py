"""The lines that load what the families of torch.nn and paddle.nn write: the stacks, and the layers beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..kinds import Family, Loading
from ..model import PortedModel
from . import nn_transformer
from .nn_transformer import Stacks, is_stand_in
from .stack_layout import AROUND, OUTPUT

EPSILON = 1e-5  # of both frameworks' LayerNorm where nothing is said


def family_of(stacks: Stacks, recognize: Callable[..., bool], title: str) -> Family:
    """Make the row of one framework's class."""
    return Family(
        name=f"{stacks.framework}_transformer",
        title=title,
        kind="tensors",
        recognize=recognize,
        read=partial(nn_transformer.read, stacks=stacks),
        write=partial(nn_transformer.write, stacks=stacks),
        format=stacks.framework,
        runs=f"proof.reference_runs.nn_transformer:run_{stacks.framework}",
        requires=(stacks.framework,),
        optimizer=True,
        into="that class, its embeddings and output beside it",
        loading=lambda model, *_: Loading(into=f"{title}{what_is_left(model)}", lines=stack_lines(model, stacks)),
    )


def stack_lines(model: PortedModel, stacks: Stacks) -> tuple[str, ...]:
    """Return templates, in which ``{path}`` stands for the file."""
    config, framework = model.config, stacks.framework
    made = _stacks(model, stacks)
    if not is_stand_in(model):
        layers = {name: _layer(model, layer, stacks) for name, layer in AROUND.items() if not name.endswith("_norm")}
        members = {"transformer": made, **{name: layer for name, layer in layers.items() if layer}}
        listed = ", ".join(f"{name!r}: {member}" for name, member in members.items())
        made = f"{stacks.dictionary}({{{{{listed}}}}})"
    epsilon = stacks.other_epsilon if config.norm_eps != EPSILON else ()
    return (f"import {framework}", f"model = {made}", *epsilon, *stacks.load(model))


def _stacks(model: PortedModel, stacks: Stacks) -> str:
    """Construct one stack, a decoder alone as an encoder's; or the class of both, which has final norms."""
    config = model.config
    fields: dict[str, Any] = {**config.to_dict(), "pre": config.norm_position == "pre"}
    fields["norm"] = stacks.final_norm.format(**fields) if config.final_norm else None
    both = config.has_encoder and config.has_decoder

    def stack(side: str) -> str:
        kind = "Decoder" if both and side == "decoder" else "Encoder"
        sizes = {name: fields[f"{side}_num_{name}"] for name in ("heads", "layers")}
        return stacks.stack.format(kind=kind, **sizes, **fields)

    if not both:
        return stack("encoder" if config.has_encoder else "decoder")
    if config.final_norm and config.encoder_num_heads == config.decoder_num_heads:
        return stacks.both.format(**fields)
    sizes = f"{config.num_hiddens}, {config.encoder_num_heads}, {stacks.first}"
    return f"{stacks.title}({sizes}custom_encoder={stack('encoder')}, custom_decoder={stack('decoder')})"


def what_is_left(model: PortedModel) -> str:
    """Say the rest that a caller of the stacks must do."""
    config = model.config
    masked = "" if config.has_encoder else " with a causal mask"
    if is_stand_in(model):
        return f"; to be called{masked}" if masked else ""
    scaled = f"scaled by {config.num_hiddens} ** 0.5, " if config.embedding_scale else ""
    learned = "learned" if config.position == "learned" else f"sinusoidal ({config.sinusoid_layout})"
    start = f" from {config.position_offset}" if config.position_offset else ""
    return f"; the call is yours: embeddings {scaled}plus {learned} positions{start}, the stacks{masked}, the output"


def _layer(model: PortedModel, layer: str, stacks: Stacks) -> str:
    """Construct a layer beside the stacks; "" where the model has none."""
    weight = model.weights.get(f"{layer}.weight")
    if weight is None:
        return ""
    if layer != AROUND[OUTPUT]:
        return f"{stacks.framework}.nn.Embedding({weight.shape[0]}, {weight.shape[1]})"
    bias = "" if f"{layer}.bias" in model.weights else f", {stacks.no_bias}"
    return f"{stacks.framework}.nn.Linear({weight.shape[1]}, {weight.shape[0]}{bias})"
