"""CTranslate2: a folder for its fast C++ engine; ``ctranslate2.Translator`` runs it (or ``Encoder``, or ``Generator``).

What decoding may never produce is written into the output's bias, since the engine's model knows no such list: its
``translate_batch`` then gives our tokens with ``beam_size=1, min_decoding_length=0, max_input_length=0``. With vocabularies it
ends each source itself (``add_source_eos``), as ``translate`` does. The tokenizers of subwords lie beside the model, which
takes and gives their tokens. A model without vocabularies gets its ids as tokens, ``"0"``, ``"1"``, ..., and its sources as
they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...checkpoint.files import TOKENIZERS, write_tokenizer
from ...data.vocabulary import Vocabulary
from ...errors import PortError
from .. import worker
from ..kinds import Family, Format, Loading, Settings
from ..model import PortedModel
from ..safety.raw_arrays import first_bytes
from ..settings import check_holds
from .ctranslate2_spec import ACTIVATIONS
from .ctranslate2_variables import read_variables, variable_of, variables_of

MODEL = "model.bin"
WRITER = "exports.ctranslate2_spec:write"
# What the engine computes differently or cannot compute.
NEEDED = {
    **{"norm_kind": "layer_norm", "compat_decode": "correct", "activation": tuple(ACTIVATIONS)},
    "position": ("sinusoidal", "learned"),
}


def recognize(folder: Path) -> bool:
    """Tell whether the model begins with the version of the file and the name of a specification, such as TransformerSpec."""
    return (folder / MODEL).is_file() and b"Spec\0" in first_bytes(folder / MODEL, 64)


def write(model: PortedModel, folder: Path) -> None:
    """Fill a folder, in float32; raises PortError.

    The specifications of ctranslate2 import PyTorch where it is installed, so they are used in a process of their own.
    """
    config = model.config
    check_holds(config, NEEDED, "CTranslate2")
    settings: dict[str, Any] = {"path": str(folder.resolve()), "config": config.to_dict()}
    for side in ("source", "target"):
        size = getattr(config, f"{side}_vocab_size")
        if size is not None:
            settings[f"{side}_tokens"] = tokens_of(getattr(model, f"{side}_vocabulary"), size)
    settings["add_source_eos"] = adds_source_eos(model)
    weights = {name: np.asarray(value, np.float32) for name, value in model.weights.items()}
    worker.call(WRITER, weights, settings)
    for side in ("source", "target"):
        write_tokenizer(folder, side, getattr(model, f"{side}_vocabulary"))


def read_back(model: PortedModel, folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The weights whose numbers lie in model.bin where the engine reads them, and the arrays in it that are something else."""
    weights = {name: np.asarray(value, np.float32) for name, value in model.weights.items()}
    try:
        stored = {name: array for name, array in read_variables(folder / MODEL).items() if array.ndim}
    except ValueError as error:
        raise PortError(f"The model.bin that was written cannot be read back: {error}.") from None
    expected = variables_of(model.config, weights)
    right = {
        name
        for name, array in expected.items()
        if name in stored and stored[name].dtype == np.float32 and np.array_equal(stored[name], array)
    }
    same = {name: array for name, array in weights.items() if variable_of(name) in right}
    return same, sorted((set(stored) | set(expected)) - right)


def adds_source_eos(model: PortedModel) -> bool:
    """Tell whether the engine itself ends each source, as we do with text: it knows one end token, by name, for both sides."""
    source, target, end = model.source_vocabulary, model.target_vocabulary, model.config.eos_id
    if model.config.architecture != "encoder_decoder" or source is None or target is None or end >= len(source):
        return False
    return source.entries[end] == target.entries[end]


def tokens_of(vocabulary: Vocabulary | None, size: int) -> list[str]:
    """The tokens by id."""
    return [str(number) for number in range(size)] if vocabulary is None else list(vocabulary.entries)


def loading(model: PortedModel, container: Format | None, settings: Settings) -> Loading:
    engine = ENGINES[model.config.architecture]
    how = (TRANSLATES,) if model.config.architecture == "encoder_decoder" else ()
    return Loading(into=engine, lines=("import ctranslate2", f"model = {engine}({{path}})", *how))


ENGINES = {
    "encoder_decoder": "ctranslate2.Translator",
    "encoder": "ctranslate2.Encoder",
    "decoder": "ctranslate2.Generator",
}
TRANSLATES = "# model.translate_batch([tokens], beam_size=1, min_decoding_length=0, max_input_length=0) decodes as greedy does"
ROW = Family(
    name="ctranslate2",
    title="CTranslate2 folder",
    kind="export",
    recognize=recognize,
    write=write,
    read_back=read_back,
    runs="proof.reference_runs.engines:run_ctranslate2",
    requires=("ctranslate2",),
    files=("config.json", MODEL, "*vocabulary.json", "*vocabulary.txt", "vmap.txt", *TOKENIZERS),
    hides=("encoder",),
    into=ENGINES["encoder_decoder"],
    loading=loading,
    ends_sources=adds_source_eos,
)
