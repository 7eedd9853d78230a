"""Building an ONNX graph node by node: every call adds a node and returns the name of its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # that of opset 17, so that older runtimes load it too


class GraphBuilder:
    """One graph in float32.

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

    def weight(self, name: str) -> str:
        return self._initializer(name, np.asarray(self.weights[name], np.float32))

    def size(self, value: str, axis: int) -> str:
        """The length of one axis, [1] int64."""
        return self.add("Shape", value, start=axis, end=axis + 1)

    def steps(self, length: str, first: str | None = None) -> str:
        """The numbers first, first + 1, ..., ``length`` [1] of them; from 0 when ``first`` [1] is not given."""
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
