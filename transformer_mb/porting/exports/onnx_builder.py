"""Building an ONNX graph node by node: every call adds a node and returns the name of its output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...positions import relative_buckets, rotary_table, sinusoid_table
from ..settings import check_holds

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # that of opset 17, so that older runtimes load it too


class GraphBuilder:
    """A graph in float32.

    Args:
        weights: by canonical name, in canonical layout; those that are used become initializers under these names.
    """

    def __init__(self, name: str, weights: Mapping[str, np.ndarray]):
        self.name = name
        self.weights = weights
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._initializers: dict[str, Any] = {}

    def input(self, name: str, dtype: type, shape: Sequence[str | int]) -> str:
        """An input of the graph; a string in the shape is an axis of any length."""
        self._inputs.append(_value_info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, dtype: type, shape: Sequence[str | int]) -> None:
        self._nodes.append(_helper().make_node("Identity", [value], [name], name))
        self._outputs.append(_value_info(name, dtype, shape))

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node of an operator with one output."""
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(_helper().make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def constant(self, value: Any, dtype: type) -> str:
        array: np.ndarray = np.asarray(value, dtype)
        return self._initializer(f"constant_{dtype.__name__}_{'_'.join(map(str, array.ravel()))}_{array.ndim}", array)

    def table(self, name: str, value: np.ndarray) -> str:
        """An array of floats that is no weight, under a name of its own."""
        return self._initializer(name, value.astype(np.float32))

    def places(self, name: str, value: np.ndarray) -> str:
        """An array of whole numbers that is no weight, under a name of its own."""
        return self._initializer(name, value.astype(np.int64))

    def weight(self, name: str) -> str:
        return self._initializer(name, np.asarray(self.weights[name], np.float32))

    def size(self, value: str, axis: int) -> str:
        """The length of one axis, [1] int64."""
        return self.add("Shape", value, start=axis, end=axis + 1)

    def steps(self, length: str, first: str | None = None) -> str:
        """The numbers first, first + 1, ..., ``length`` [1] of them; from 0 when ``first`` [1] is absent."""
        start = self.constant(0, np.int64) if first is None else self.add("Squeeze", first)
        end = self.add("Squeeze", length if first is None else self.add("Add", first, length))
        return self.add("Range", start, end, self.constant(1, np.int64))

    def unsqueeze(self, value: str, *axes: int) -> str:
        return self.add("Unsqueeze", value, self.constant(axes, np.int64))

    def model(self, metadata: Mapping[str, str]) -> Any:
        """The finished model, with these properties."""
        import onnx

        helper = onnx.helper
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, list(self._initializers.values()))
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="transformer_mb", ir_version=IR_VERSION)
        helper.set_model_props(model, dict(metadata))
        return model

    def _initializer(self, name: str, array: np.ndarray) -> str:
        if name not in self._initializers:
            from onnx import numpy_helper

            self._initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        return name


def _helper() -> Any:
    from onnx import helper

    return helper


def _value_info(name: str, dtype: type, shape: Sequence[str | int]) -> Any:
    kind = _helper().np_dtype_to_tensor_dtype(np.dtype(dtype))
    return _helper().make_tensor_value_info(name, kind, list(shape))


GELU_TANH_RATE, GELU_TANH_CUBE = math.sqrt(2.0 / math.pi), 0.044715  # Hendrycks & Gimpel 2016
# What there are nodes for; a branch below takes the last value of its row for granted.
CHOICES = {
    "norm_kind": ("layer_norm", "rms_norm", "std_norm"),
    "norm_position": ("pre", "post"),
    "activation": ("relu", "silu", "gelu", "gelu_tanh"),
    "position": ("learned", "relative", "rotary", "sinusoidal"),
    "compat_decode": ("correct", "d2l"),
    "ffn_gated": (False, True),
    "attention_scale": (False, True),
    "output_scale": (False, True),
    "decoder_embedding_norm": ("sum", "tokens"),
}


ROTARY = ("cosines", "sines")


def rotary_rows(config: TransformerConfig, width: int, name: str) -> np.ndarray:
    """[max_len, d]: the table of this name."""
    return rotary_table(config.max_len, width, config.rotary_base, config.rotary_layout)[:, ROTARY.index(name)]


def partners(width: int, layout: str) -> np.ndarray:
    """Return the place of each number's partner."""
    places = np.arange(width)
    return np.roll(places, width // 2) if layout == "halves" else places.reshape(-1, 2)[:, ::-1].reshape(-1)


class Layers:
    """Nodes for one configuration, PortError where there are none.

    Names of layers are canonical; a weight that is not stored (a bias) is left out.
    """

    def __init__(self, graph: GraphBuilder, config: TransformerConfig):
        check_holds(config, {**CHOICES, "head_size": config.head_size, "num_kv_heads": config.num_kv_heads}, "ONNX")
        self.graph = graph
        self.config = config

    def linear(self, X: str, name: str, table: str | None = None) -> str:
        """X [..., in] -> [..., out]; ``table`` is the weight's name where it is tied to another tensor."""
        graph = self.graph
        Y = graph.add("MatMul", X, graph.add("Transpose", graph.weight(table or f"{name}.weight"), perm=[1, 0]))
        return graph.add("Add", Y, graph.weight(f"{name}.bias")) if f"{name}.bias" in graph.weights else Y

    def norm(self, X: str, name: str) -> str:
        graph, config = self.graph, self.config
        if config.norm_kind == "layer_norm" and config.norm_affine:
            parameters = graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias")
            return graph.add("LayerNormalization", X, *parameters, axis=-1, epsilon=config.norm_eps)
        if config.norm_kind == "layer_norm":
            scale = graph.table("no_scale", np.ones(config.num_hiddens))
            return graph.add("LayerNormalization", X, scale, axis=-1, epsilon=config.norm_eps)
        X = self._over_rms(X) if config.norm_kind == "rms_norm" else self._over_deviation(X)
        X = graph.add("Mul", X, graph.weight(f"{name}.weight")) if f"{name}.weight" in graph.weights else X
        return graph.add("Add", X, graph.weight(f"{name}.bias")) if f"{name}.bias" in graph.weights else X

    def _over_rms(self, X: str) -> str:
        graph = self.graph
        mean_square = graph.add("ReduceMean", graph.add("Mul", X, X), axes=[-1], keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", mean_square, graph.constant(self.config.norm_eps, np.float32)))
        return graph.add("Div", X, root)

    def _over_deviation(self, X: str) -> str:
        graph, config = self.graph, self.config
        centered = graph.add("Sub", X, graph.add("ReduceMean", X, axes=[-1], keepdims=1))
        squares = graph.add("ReduceSumSquare", centered, axes=[-1], keepdims=1)
        variance = graph.add("Div", squares, graph.constant(config.num_hiddens - 1, np.float32))
        deviation = graph.add("Add", graph.add("Sqrt", variance), graph.constant(config.norm_eps, np.float32))
        return graph.add("Div", centered, deviation)

    def activation(self, X: str) -> str:
        add, constant = self.graph.add, self.graph.constant
        if self.config.activation == "relu":
            return add("Relu", X)
        if self.config.activation == "silu":
            return add("Mul", X, add("Sigmoid", X))
        if self.config.activation == "gelu":
            bend = add("Erf", add("Mul", X, constant(math.sqrt(0.5), np.float32)))
        else:
            cube = add("Mul", add("Mul", add("Mul", X, X), X), constant(GELU_TANH_CUBE, np.float32))
            bend = add("Tanh", add("Mul", add("Add", X, cube), constant(GELU_TANH_RATE, np.float32)))
        half = add("Mul", X, constant(0.5, np.float32))
        return add("Mul", half, add("Add", bend, constant(1.0, np.float32)))

    def feed_forward(self, X: str, name: str) -> str:
        hidden = self.activation(self.linear(X, f"{name}.dense1"))
        if self.config.ffn_gated:
            hidden = self.graph.add("Mul", hidden, self.linear(X, f"{name}.dense3"))
        return self.linear(hidden, f"{name}.dense2")

    def heads(self, X: str, name: str) -> str:
        """A projection split into heads: [B, T, D] -> [B, H, T, D/H], or as many heads as keys and values have."""
        side = name.split(".")[0]
        number = getattr(self.config, f"{side}_num_heads") if name.endswith("W_q") else self.config.kv_heads(side)
        shape = self.graph.constant([0, 0, number, self.config.head_width(side)], np.int64)
        return self.graph.add("Transpose", self.graph.add("Reshape", self.linear(X, name), shape), perm=[0, 2, 1, 3])

    def attention(self, queries: str, keys: str, values: str, mask: str | None, name: str, bias: str | None = None) -> str:
        """Heads [B, H, T, d], [B, G, S, d] -> [B, T, D]; a query that may attend to nothing gets zeros before W_o."""
        graph, side = self.graph, name.split(".")[0]
        width = self.config.head_width(side)
        scale = graph.constant(1.0 / math.sqrt(width) if self.config.attention_scale else 1.0, np.float32)
        scores = self._product(graph.add("Mul", queries, scale), graph.add("Transpose", keys, perm=[0, 1, 3, 2]), side)
        scores = scores if bias is None else graph.add("Add", scores, bias)
        if mask is not None:
            # The lowest finite number, not -inf: a row without any key would give NaN.
            scores = graph.add("Where", mask, scores, graph.constant(np.finfo(np.float32).min, np.float32))
        weights = graph.add("Softmax", scores, axis=-1)
        if mask is not None:
            weights = graph.add("Where", mask, weights, graph.constant(0.0, np.float32))
        context = graph.add("Transpose", self._product(weights, values, side), perm=[0, 2, 1, 3])
        return self.linear(
            graph.add("Reshape", context, graph.constant([0, 0, width * getattr(self.config, f"{side}_num_heads")], np.int64)),
            f"{name}.W_o",
        )

    def _product(self, X: str, Y: str, side: str) -> str:
        """[B, H, T, ...] @ [B, G, ...]: consecutive heads that ask the same keys are steps of one."""
        graph, H, G = self.graph, getattr(self.config, f"{side}_num_heads"), self.config.kv_heads(side)
        if H == G:
            return graph.add("MatMul", X, Y)
        grouped = graph.add("Reshape", X, graph.constant([0, G, -1, 0], np.int64))
        return graph.add("Reshape", graph.add("MatMul", grouped, Y), graph.constant([0, H, -1, 0], np.int64))

    def sublayer_input(self, X: str, name: str) -> str:
        return self.norm(X, f"{name}.ln") if self.config.norm_position == "pre" else X

    def add_norm(self, X: str, Y: str, name: str) -> str:
        Z = self.graph.add("Add", X, Y)
        return Z if self.config.norm_position == "pre" else self.norm(Z, f"{name}.ln")

    def embed(self, tokens: str, side: str, table: str, first: str | None = None, token_types: str | None = None) -> str:
        """Token ids [B, T] -> [B, T, D]; ``first`` [1] is the position of the first step."""
        graph, config = self.graph, self.config
        X = graph.add("Gather", graph.weight(table), tokens)
        if config.embedding_scale:
            X = graph.add("Mul", X, graph.constant(math.sqrt(config.num_hiddens), np.float32))
        tokens_first = side == "decoder" and config.decoder_embedding_norm == "tokens"
        X = self.norm(X, f"{side}.embedding_norm") if config.embedding_norm and tokens_first else X
        # Gather refuses a position that the table does not have, where Slice would give too few rows.
        steps = graph.steps(graph.size(tokens, 1), first)
        if config.position == "rotary":
            self._turns = [graph.add("Gather", self._rotary(side, name), steps) for name in ROTARY]
        elif config.position != "relative":
            X = graph.add("Add", X, graph.add("Gather", self._positions(side), steps))
        if token_types is not None:
            X = graph.add("Add", X, graph.add("Gather", graph.weight(f"{side}.type_embedding.weight"), token_types))
        return self.norm(X, f"{side}.embedding_norm") if config.embedding_norm and not tokens_first else X

    def relative_bias(self, side: str, queries: str, keys: str, first: str | None = None) -> str | None:
        """Return what is added to scores, [1, H, T, S]: of T [1] queries from step ``first`` [1] on, and S [1] keys."""
        graph, config = self.graph, self.config
        if config.position != "relative":
            return None
        settings = config.max_len, config.relative_buckets, config.relative_max_distance, side == "encoder"
        distances = graph.add("Sub", graph.steps(keys), graph.unsqueeze(graph.steps(queries, first), 1))
        places = graph.add("Add", distances, graph.constant(config.max_len, np.int64))
        buckets = graph.add("Gather", graph.places("buckets", relative_buckets(*settings)), places)
        scores = graph.add("Gather", graph.weight(f"{side}.relative_bias.weight"), buckets)
        return graph.unsqueeze(graph.add("Transpose", scores, perm=[2, 0, 1]), 0)

    def turned(self, X: str) -> str:
        """Queries or keys [B, H, T, d] of self-attention, by the positions of what was embedded."""
        graph = self.graph
        if self.config.position != "rotary":
            return X
        places, (cosines, sines) = graph.constant(partners(self._width, self.config.rotary_layout), np.int64), self._turns
        swapped = graph.add("Gather", X, places, axis=3)
        return graph.add("Add", graph.add("Mul", X, cosines), graph.add("Mul", swapped, sines))

    def _rotary(self, side: str, name: str) -> str:
        """Return one of the tables, [max_len, d]."""
        config = self.config
        self._width = config.head_width(side)
        return self.graph.table(name, rotary_rows(config, self._width, name))

    def _positions(self, side: str) -> str:
        """The table [max_len, D]: row 0 is that of the first token."""
        config, offset = self.config, self.config.position_offset
        if config.position == "learned":
            name = f"{side}.pos_embedding.weight"
            return self.graph.weight(name) if not offset else self.graph.table(name, self.graph.weights[name][offset:])
        rows = sinusoid_table(config.max_len + offset, config.num_hiddens, config.sinusoid_layout)
        return self.graph.table("positions", rows[offset:])
