"""The containers, as data. Each module offers ``recognize(path) -> bool``, ``read(path) -> NativeFile`` and, where it is
written, ``write(path, native)``; all raise PortError. Reading executes nothing that a file holds."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Format:
    """A container.

    Attributes:
        suffix: of the files that users give it; ``needs_suffix``: the framework's loader takes no other.
        title: for tables and messages.
        writable: whether there is a ``write``. optimizer: whether Adam's state travels in it.
        requires: packages beyond the core that reading or writing it takes.
        backend: whose framework's own file it is; None is NumPy's.
        companion: suffix of the file beside it that holds the optimizer's state.
        records: whether it holds the configuration itself; else that lies beside the file.
    """

    name: str
    title: str
    suffix: str
    writable: bool = True
    optimizer: bool = False
    requires: tuple[str, ...] = ()
    backend: str | None = None
    companion: str | None = None
    records: bool = False
    needs_suffix: bool = False

    @property
    def module(self) -> Any:
        return importlib.import_module(f"{__name__}.{self.name}")

    @property
    def native_loader(self) -> Any:
        """With ``load_natively(path)``: the arrays by name as the framework itself reads them, in a process of its own."""
        return importlib.import_module(f"{__name__}.native_loaders.{self.name}")


FORMATS = {
    row.name: row
    for row in (
        Format(
            name="torch",
            title="PyTorch .pt",
            suffix=".pt",
            optimizer=True,
            requires=("torch",),
            backend="torch",
            companion=".optimizer.pt",
        ),
        Format(
            name="paddle", title="Paddle .pdparams", suffix=".pdparams", optimizer=True, backend="paddle", companion=".pdopt"
        ),
        Format(name="mxnet", title="MXNet .params", suffix=".params", backend="mxnet"),
        Format(
            name="keras",
            title="Keras .weights.h5, of Keras 3 and 2",
            suffix=".weights.h5",
            requires=("h5py",),
            backend="tensorflow",
            records=True,
            needs_suffix=True,
        ),
        Format(name="flax", title="flax msgpack", suffix=".msgpack", optimizer=True, requires=("msgpack",), backend="jax"),
        Format(name="npz", title="NumPy .npz", suffix=".npz", optimizer=True),
        Format(name="safetensors", title="safetensors of a state_dict", suffix=".safetensors", records=True),
        Format(
            name="tensorflow",
            title="TensorFlow checkpoint",
            suffix=".index",
            writable=False,
            requires=("tensorflow",),
            backend="tensorflow",
        ),
    )
}
