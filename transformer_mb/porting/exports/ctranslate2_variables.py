"""Every array of a CTranslate2 model by the name that the engine reads it by: what is written, and what must be read back."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from ...config import TransformerConfig
from ...parameters import parameter_shapes
from ...positions import sinusoid_table
from ..families.naming_schemes import LayerNames, kind_of
from ..model import Arrays

NORM_LEAVES = {"weight": "gamma", "bias": "beta"}
NEVER = -1e9  # the logit of a token that must not be produced
SIDES = ("encoder", "decoder")
EMBEDDINGS = {"encoder": "encoder/embeddings_0/weight", "decoder": "decoder/embeddings/weight"}
TYPES = "encoder/embeddings_1/weight"
POSITIONS = "{}/position_encodings/encodings"
OUTPUT = "decoder/projection"
FEED_FORWARD = {"ffn.dense1": "ffn/linear_0", "ffn.dense2": "ffn/linear_1"}
# Projections of one input are one Linear, their rows in this order.
NAMES = LayerNames(
    block="{side}/layer_{number}/",
    blocks={
        "encoder": {
            **{f"attention.{name}": "self_attention/linear_0" for name in ("W_q", "W_k", "W_v")},
            "attention.W_o": "self_attention/linear_1",
            "addnorm1.ln": "self_attention/layer_norm",
            **FEED_FORWARD,
            "addnorm2.ln": "ffn/layer_norm",
        },
        "decoder": {
            **{f"attention1.{name}": "self_attention/linear_0" for name in ("W_q", "W_k", "W_v")},
            "attention1.W_o": "self_attention/linear_1",
            "addnorm1.ln": "self_attention/layer_norm",
            "attention2.W_q": "attention/linear_0",
            **{f"attention2.{name}": "attention/linear_1" for name in ("W_k", "W_v")},
            "attention2.W_o": "attention/linear_2",
            "addnorm2.ln": "attention/layer_norm",
            **FEED_FORWARD,
            "addnorm3.ln": "ffn/layer_norm",
        },
    },
    outer={
        **{f"{side}.embedding.weight": EMBEDDINGS[side] for side in SIDES},
        **{f"{side}.pos_embedding.weight": POSITIONS.format(side) for side in SIDES},
        "encoder.type_embedding.weight": TYPES,
        **{f"{side}.norm": f"{side}/layer_norm" for side in SIDES},
        **{f"{side}.embedding_norm": f"{side}/layernorm_embedding" for side in SIDES},
        "pooler.dense": "pooler_dense",
        "decoder.dense": OUTPUT,
    },
)


def variable_of(name: str) -> str:
    """The variable that holds a canonical weight."""
    if name in NAMES.outer:
        return NAMES.outer[name]
    layer, _, leaf = name.rpartition(".")
    return f"{NAMES.layer(layer)}/{NORM_LEAVES[leaf] if kind_of(name) == 'norm' else leaf}"


def variables_of(config: TransformerConfig, weights: Arrays) -> dict[str, np.ndarray]:
    """Every array of the engine's model, from weights in float32."""
    joined: dict[str, list[np.ndarray]] = {}
    for name, shape in parameter_shapes(config.replace(norm_affine=True)).items():
        plain = (np.ones if name.endswith("weight") else np.zeros)(shape, np.float32)  # of a norm without scale and shift
        joined.setdefault(variable_of(name), []).append(weights.get(name, plain))
    variables = {name: np.concatenate(parts) for name, parts in joined.items()}
    for side in (side for side in SIDES if getattr(config, f"has_{side}")):
        rows, name = config.max_len + config.position_offset, POSITIONS.format(side)
        table = variables[name] if name in variables else sinusoid_table(rows, config.num_hiddens, config.sinusoid_layout)
        variables[name] = table[config.position_offset :].astype(np.float32)
    if config.token_types and config.embedding_scale:  # the engine scales the sum of both tables
        variables[TYPES] = variables[TYPES] / np.float32(math.sqrt(config.num_hiddens))
    return {**variables, **(_output(config, variables) if config.has_decoder else {})}


def _output(config: TransformerConfig, variables: Arrays) -> dict[str, np.ndarray]:
    """Tables that the model shares, and the bias that rules tokens out."""
    table = variables[EMBEDDINGS["encoder" if config.share_embeddings else "decoder"]]
    weight, bias = f"{OUTPUT}/weight", f"{OUTPUT}/bias"
    outputs = {EMBEDDINGS["decoder"]: table, weight: table if config.tie_output else variables[weight]}
    if config.suppress_ids:
        outputs[bias] = np.array(variables.get(bias, np.zeros(config.target_vocab_size or 0, np.float32)))
        outputs[bias][list(config.suppress_ids)] = NEVER
    return outputs


VERSION = 6
DTYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
NARROW = np.dtype(np.uint16)  # NumPy has no bfloat16


def read_variables(path: Path) -> dict[str, np.ndarray]:
    """Read the variables by name; a second name is the same array. Raises ValueError for what is not such a file."""
    reader = _Reader(path.read_bytes())
    if (version := reader.number("I")) != VERSION:
        raise ValueError(f"binary version must be {VERSION}, got {version}")
    reader.text()  # the specification's name
    reader.number("I")  # and revision
    variables = {}
    for _ in range(reader.number("I")):
        name = reader.text()
        shape = [reader.number("I") for _ in range(reader.number("B"))]
        dtype = DTYPES[reader.number("B")]
        raw = reader.take(reader.number("I"))
        variables[name] = np.frombuffer(raw, NARROW if dtype == "bfloat16" else dtype).reshape(shape)
    for _ in range(reader.number("I")):
        second = reader.text()
        variables[second] = variables[reader.text()]
    if reader.at != len(reader.data):
        raise ValueError(f"{len(reader.data) - reader.at} bytes are left over")
    return variables


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise ValueError("it ends too soon")
        return self.data[self.at - count : self.at]

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0])

    def text(self) -> str:
        return self.take(self.number("H")).decode().removesuffix("\0")
