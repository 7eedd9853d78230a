"""The model families, as data.

A family of kind ``tensors`` lives in any container; its module offers ``recognize(native: NativeFile) -> bool``,
``read(native: NativeFile, settings) -> PortedModel`` and ``write(model: PortedModel, format_name, settings) -> NativeFile``.
A family of kind ``folder`` has files of its own: ``recognize(folder: Path) -> bool``,
``read(folder: Path, settings) -> PortedModel`` and ``write(model: PortedModel, folder: Path) -> None``, which fills an
empty folder that the caller puts in place. ``settings`` is what ``--config`` holds; all raise PortError.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Family:
    """A naming of the same mathematics.

    Attributes:
        kind: ``tensors`` or ``folder``, see above.
        format: the container that ``--to NAME`` writes, for kind ``tensors``; the default family is in any of them.
        runs: ``module:function`` in ``transformer_mb.porting`` that runs the foreign model itself for the proof (see
            ``worker.call``). requires: the packages that it takes; of the default family those of the file's framework.
    """

    name: str
    title: str
    kind: str
    format: str | None = None
    runs: str | None = None
    requires: tuple[str, ...] = ()

    @property
    def module(self) -> Any:
        return importlib.import_module(f"{__name__}.{self.name}")


FAMILIES = {
    row.name: row
    for row in (
        Family(name="canonical", title="canonical checkpoint", kind="folder"),
        Family(
            name="marian",
            title="HF MarianMT folder",
            kind="folder",
            runs="proof.reference_runs.marian:run",
            requires=("transformers", "torch"),
        ),
        Family(
            name="bert",
            title="HF BERT/MiniLM folder",
            kind="folder",
            runs="proof.reference_runs.bert:run",
            requires=("transformers", "torch"),
        ),
        Family(
            name="torch_transformer",
            title="torch.nn.Transformer, torch.nn.TransformerEncoder",
            kind="tensors",
            format="torch",
            runs="proof.reference_runs.torch_transformer:run",
            requires=("torch",),
        ),
        Family(
            name="paddle_transformer",
            title="paddle.nn.Transformer",
            kind="tensors",
            format="paddle",
            runs="proof.reference_runs.paddle_transformer:run",
            requires=("paddle",),
        ),
        Family(
            name="d2l",
            title="D2L book models and this project's own",
            kind="tensors",
            runs="proof.reference_runs.backends:run",
        ),
    )
}
DEFAULT = FAMILIES["d2l"]  # what a container holds where nothing says otherwise
