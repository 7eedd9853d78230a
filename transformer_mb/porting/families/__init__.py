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

from ...checkpoint.files import FILES


@dataclass(frozen=True, kw_only=True)
class Family:
    """A naming of the same mathematics.

    Attributes:
        kind: ``tensors``, ``folder``, or ``export`` (see ``exports``).
        format: the container that ``--to NAME`` writes, for kind ``tensors``; the default family is in any of them.
        runs: ``module:function`` in ``transformer_mb.porting`` that runs the foreign model itself for the proof (see
            ``worker.call``). requires: the packages that it takes; of the default family those of the file's framework.
        files: the names of all that such a folder can hold: whoever reads it takes what it finds under these for the
            model's own, so that none of an old model may stay. hides: outputs that an engine computes and need not show.
    """

    name: str
    title: str
    kind: str
    format: str | None = None
    runs: str | None = None
    requires: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()

    @property
    def module(self) -> Any:
        package = __name__.replace("families", "exports") if self.kind == "export" else __name__
        return importlib.import_module(f"{package}.{self.name}")


HUGGING_FACE = (
    *("config.json", "generation_config.json", "adapter_config.json", "adapter_model.*", "*processor_config.json"),
    *("*.safetensors", "*.safetensors.index.json", "pytorch_model*", "tf_model*", "flax_model*", "model.ckpt*"),
    *("rust_model.ot", "tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "chat_template.*", "merges.txt"),
    *("*vocab*", "*.spm", "*.model", "modules.json", "sentence_*_config.json", "config_sentence_transformers.json"),
)
FAMILIES = {
    row.name: row
    for row in (
        Family(name="canonical", title="canonical checkpoint", kind="folder", files=FILES),
        Family(
            name="marian",
            title="HF MarianMT folder",
            kind="folder",
            runs="proof.reference_runs.hugging_face:run_marian",
            files=HUGGING_FACE,
            requires=("transformers", "torch"),
        ),
        Family(
            name="bert",
            title="HF BERT/MiniLM folder",
            kind="folder",
            runs="proof.reference_runs.hugging_face:run_bert",
            files=HUGGING_FACE,
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
# For those who look for it under the library's name, of which there are many.
OF_HUGGING_FACE = "Hugging Face's folders (transformers) are marian (encoder and decoder) and bert (encoder)."
DEFAULT = FAMILIES["d2l"]  # what a container holds where nothing says otherwise
