"""Models in ONNX files, computed by ONNX Runtime."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from ..subjects import Subject
from .adapter import Adapter, Call, Gradients, Tap

FLOATS = {onnx.TensorProto.DOUBLE: "float64", onnx.TensorProto.FLOAT: "float32"}


class Onnx(Adapter):
    """A graph whose initializers are the weights; it computes forward alone, in the format of its inputs and weights."""

    differentiates = False

    @staticmethod
    def version() -> str:
        return f"{onnxruntime.__version__} with onnx {onnx.__version__}"

    @classmethod
    def offered(cls, subject: Subject) -> tuple[str, ...]:
        graph = onnx.load(subject.factory).graph
        kinds = [one.data_type for one in graph.initializer] + [one.type.tensor_type.elem_type for one in graph.input]
        return tuple(name for kind, name in FLOATS.items() if kind in kinds)[:1] or ("float32",)

    def build(self, first: Callable[[], Call]) -> Any:
        self.model = onnx.load(Path(self.subject.factory))
        self.places = {one.name: one for one in self.model.graph.initializer if one.data_type in FLOATS}
        self.inputs = [one.name for one in self.model.graph.input if one.name not in self.places]
        self.session: Any = None
        return self.model

    def parameters(self) -> list[inspect.Parameter]:
        return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in self.inputs]

    def weights(self) -> dict[str, np.ndarray]:
        return {name: np.array(numpy_helper.to_array(place)) for name, place in self.places.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        for name, value in arrays.items():
            kind = FLOATS[self.places[name].data_type]
            self.places[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value, kind), name))
        self.session = None

    def modules(self) -> list[str]:
        return [""]

    def array(self, value: np.ndarray) -> Any:
        return value.astype(self.dtype) if value.dtype.kind == "f" else value

    def numpy(self, value: Any) -> np.ndarray | None:
        return np.array(value) if isinstance(value, np.ndarray | np.generic) else None

    def dtype_of(self, value: Any) -> str:
        return str(value.dtype)

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        if self.session is None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            self.session = onnxruntime.InferenceSession(
                self.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        given = dict(zip(self.inputs, call.arguments, strict=False)) | call.keywords
        found = self.session.run(None, given)
        return found[0] if len(found) == 1 else dict(zip([one.name for one in self.model.graph.output], found, strict=True))

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        raise NotImplementedError("ONNX Runtime does not differentiate.")


ADAPTER = Onnx
