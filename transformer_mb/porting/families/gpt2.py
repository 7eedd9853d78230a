"""GPT-2 as ``transformers`` saves it (Radford et al. 2019): a decoder, pre-norm, whose projections lie [in, out].

Queries, keys and values are one projection, ``c_attn`` [D, 3D]. Files of before 2023 hold each block's causal mask beside it.
There is no padding token: the end token stands for it, as in the examples of the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..settings import usual
from .described_folder import row_of
from .description import Description, Named, TokenTables
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames
from .task_layouts import linear, on_one_state, on_tokens

TASKS = ("SequenceClassification", "TokenClassification", "QuestionAnswering")
PACKED, PARTS = "attn.c_attn", ("attn.query", "attn.key", "attn.value")
MATRIX = re.compile(r"h\.\d+\.(attn|mlp)\..+\.weight")
BLOCK = {
    "addnorm1.ln": "ln_1",
    "attention1.W_q": PARTS[0],
    "attention1.W_k": PARTS[1],
    "attention1.W_v": PARTS[2],
    "attention1.W_o": "attn.c_proj",
    "addnorm3.ln": "ln_2",
    "ffn.dense1": "mlp.c_fc",
    "ffn.dense2": "mlp.c_proj",
}
TABLES = TokenTables(sides={"decoder": "wte.weight"}, output="lm_head.weight")
OUTER = {
    "decoder.embedding.weight": TABLES.sides["decoder"],
    "decoder.pos_embedding.weight": "wpe.weight",
    "decoder.norm": "ln_f",
    "decoder.dense.weight": TABLES.output,
}


def modern(values: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a config.json leaves to the class: a width of four times the model's, and a token for padding."""
    width = values.get("n_embd")
    filled = {"n_inner": 4 * width if isinstance(width, int) else None, "pad_token_id": values.get("eos_token_id")}
    return {**filled, **{name: value for name, value in values.items() if value is not None}}


def unpacked(tensors: Mapping[str, np.ndarray]) -> Named:
    """Return the projections [out, in], queries, keys and values apart."""
    found: Named = {}
    for name, array in tensors.items():
        turned = array.T if MATRIX.fullmatch(name) else array
        apart = PACKED in name and turned.ndim and turned.shape[0] % 3 == 0
        parts = np.split(turned, 3) if apart else [turned]
        found |= {name.replace(PACKED, part) if apart else name: one for part, one in zip(PARTS, parts, strict=False)}
    return found


def packed(tensors: Mapping[str, np.ndarray]) -> Named:
    """Undo ``unpacked``."""
    found: Named = {}
    for name, array in tensors.items():
        if PARTS[0] in name:
            rows = [tensors[name.replace(PARTS[0], part)] for part in PARTS]
            name, array = name.replace(PARTS[0], PACKED), np.concatenate(rows)
        if not any(part in name for part in PARTS):
            found[name] = array.T if MATRIX.fullmatch(name) else array
    return found


CLASSES = ("GPT2LMHeadModel", "GPT2Model", "GPT2DoubleHeadsModel", *(f"GPT2For{task}" for task in TASKS))
FAMILY = Description(
    library=LibraryModel(model_type="gpt2", classes=CLASSES),
    title="HF GPT-2 folder",
    prefix="transformer.",
    names=LayerNames(block="h.{number}.", blocks={"decoder": BLOCK}, outer=OUTER),
    tables=TABLES,
    fixed={
        **usual("norm_kind", "norm_affine", "embedding_norm", "ffn_bias", "ffn_dropout", "token_types", "compat_decode"),
        "architecture": "decoder",
        "norm_position": "pre",
        "final_norm": True,
        "embedding_scale": False,
        "position": "learned",
        "position_offset": 0,
        "decoder_attention_bias": True,
        "output_bias": False,
    },
    sizes={
        "target_vocab_size": "vocab_size",
        "num_hiddens": "n_embd",
        "ffn_num_hiddens": "n_inner",
        "decoder_num_heads": "n_head",
        "decoder_num_layers": "n_layer",
        "max_len": "n_positions",
        "pad_id": "pad_token_id",
        "eos_id": "eos_token_id",
    },
    rates={
        "norm_eps": "layer_norm_epsilon",
        "dropout": "resid_pdrop",
        "embedding_dropout": "embd_pdrop",
        "attention_dropout": "attn_pdrop",
    },
    vocabularies={},
    activation="activation_function",
    required={"scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,), "add_cross_attention": (False,)},
    equal={"n_ctx": "n_positions"},
    buffers=(r"h\.\d+\.attn\.(bias|masked_bias)",),
    modern=modern,
    unpacked=unpacked,
    packed=packed,
    heads=(on_one_state("GPT2", "last", linear("score", bias=False)), *on_tokens("GPT2")),
)
ROW = row_of(FAMILY)
