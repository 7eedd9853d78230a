"""paddle.nn.Transformer and paddle.nn.TransformerEncoder: separate projections, Linear weights [in, out]."""

from __future__ import annotations

from ..formats.paddle import loaded
from ..model import NativeFile
from .nn_transformer import SIZES, SIZES_OF_BOTH, Stacks
from .stack_layout import stems_of
from .stack_lines import family_of


def recognize(native: NativeFile) -> bool:
    separate = any(name.endswith(".self_attn.q_proj.weight") for name in native.tensors)
    return separate and bool(stems_of(native.tensors))


OPTIONS = "normalize_before={pre}"
STACKS = Stacks(
    framework="paddle",
    title="paddle.nn.Transformer",
    cross="cross_attn",
    transposed=True,
    both=f"paddle.nn.Transformer({SIZES_OF_BOTH}, {OPTIONS})",
    stack=f"paddle.nn.Transformer{{kind}}(paddle.nn.Transformer{{kind}}Layer({SIZES}, {OPTIONS}), {{layers}}, norm={{norm}})",
    final_norm="paddle.nn.LayerNorm({num_hiddens})",
    dictionary="paddle.nn.LayerDict",
    load=lambda model: (f"model.set_state_dict({loaded(model)})", "model.eval()"),
    no_bias="bias_attr=False",
    other_epsilon=(
        "for layer in model.sublayers(include_self=True):",
        "    if isinstance(layer, paddle.nn.LayerNorm): layer._epsilon = {norm_eps}",
    ),
)
ROW = family_of(STACKS, recognize, STACKS.title)
