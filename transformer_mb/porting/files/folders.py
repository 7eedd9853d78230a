"""The folders that a port writes: how each kind is recognized, and the names of all files that one can hold.

Whoever reads a folder takes what it finds under these names for the model's own, so that none of an old model may stay.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...checkpoint.files import FILES, VOCABULARIES
from ..exports import EXPORTS
from ..families import FAMILIES
from ..safety.raw_arrays import first_bytes

HUGGING_FACE = (
    *("config.json", "generation_config.json", "adapter_config.json", "adapter_model.*", "*processor_config.json"),
    *(
        "*.safetensors",
        "*.safetensors.index.json",
        "pytorch_model*",
        "tf_model*",
        "flax_model*",
        "model.ckpt*",
        "rust_model.ot",
    ),
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "chat_template.*", "merges.txt", "*vocab*", "*.spm"),
    *("*.model", "modules.json", "sentence_*_config.json", "config_sentence_transformers.json"),
)
NAMES: dict[str, tuple[str, ...]] = {
    "canonical": FILES,
    "marian": HUGGING_FACE,
    "bert": HUGGING_FACE,
    "onnx": ("encoder.onnx*", "decoder.onnx*", *VOCABULARIES.values()),
    "ctranslate2": ("config.json", "model.bin", "*vocabulary.json", "*vocabulary.txt", "vmap.txt"),
}


def _holds_onnx(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("encoder.onnx", "decoder.onnx"))


def _holds_ctranslate2(folder: Path) -> bool:
    """Its model begins with the version of the file and the name of a specification, such as TransformerSpec."""
    return (folder / "model.bin").is_file() and b"Spec\0" in first_bytes(folder / "model.bin", 64)


EXPORTED: dict[str, Callable[[Path], bool]] = {"onnx": _holds_onnx, "ctranslate2": _holds_ctranslate2}


def kind_of(folder: Path) -> str | None:
    """The name under which ``--to`` writes such a folder; None for what no port writes."""
    families = {name: family.module.recognize for name, family in FAMILIES.items() if family.kind == "folder"}
    return next((name for name, recognize in {**families, **EXPORTED}.items() if recognize(folder)), None)


def title_of(name: str) -> str:
    return FAMILIES[name].title if name in FAMILIES else EXPORTS[name].title
