"""The D2L book's Transformer as its users save it in four frameworks and in flax, and this project's own models.

Sizes and switches are read from names and shapes; what no weight file holds comes from the settings.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ..formats import FORMATS
from ..kinds import Family, Format, Loading, Settings
from ..model import Arrays, NativeFile, PortedModel, renamed_moments
from .d2l_classes import EPSILON, OWN, names_ours
from .inferred_fields import inferred_fields
from .named_tensors import check_fractions, model_of
from .naming_schemes import (
    D2L_SCHEMES,
    NAMING_SCHEMES,
    OUTPUT,
    SOURCE,
    TARGET,
    NamingScheme,
    canonical_name,
    first_names,
    is_matrix,
    native_name,
    under_each_name,
    under_own_names,
    untied,
)
from .position_tables import check_ignored, position_tables
from .stack_layout import AROUND, flat_table

# What the model is made of, and what is not a table of positions therefore.
PART = re.compile(
    r"(en|de)coder\.(blks|embedding|pos_embedding|relative_bias|type_embedding|embedding_norm|norm|dense)\.|pooler\."
)
LEARNED = "learned positions must be called encoder.pos_embedding.weight and decoder.pos_embedding.weight, of shape [T, D]."
OF_BERT = ("encoder.segment_embedding.", "encoder.token_embedding.")
OF_D2L = "d2l"  # the value of ``block_names`` that asks for all of the names that D2L's own classes have


def recognize(native: NativeFile) -> bool:
    attention = re.compile(r"(encoder|decoder)\.blks\.block\d+\.attention1?\.W_q\.weight$")
    return any(attention.match(canonical_name(name, native.format).name) for name in native.tensors)


def read(native: NativeFile, settings: Settings) -> PortedModel:
    """Read a model; raises PortError that lists every missing, unexpected and wrongly shaped tensor."""
    check_fractions(native.tensors)
    layout = settings.get("linear_layout")
    if layout not in (None, "out_in", "in_out"):
        raise PortError(f"linear_layout must be out_in or in_out, got {layout!r}.")
    everything, width = {**native.tensors, **native.ignored}, 0
    beside = {}  # what no layer's name explains, and what ``ignore`` took out
    for name, array in everything.items():
        own = canonical_name(name, native.format).name
        if name in native.tensors and own.startswith(OF_BERT):  # whose encoder has the names of the Transformer's
            raise PortError(
                "The tensors must be those of D2L's Transformer, but encoder.token_embedding and encoder.segment_embedding "
                "are of D2L's BERT (chapter 14, BERTModel), which no family here reads. BERT is read as transformers saves it "
                "(bert)."
            )
        if not width and name in native.tensors and re.search(r"\.ln\.(weight|bias)$", own):
            width = array.size  # of any normalization
        if not PART.match(f"{own}."):
            beside[name] = array
    if around := [name for name in AROUND if name in settings]:
        raise PortError(
            f"{', '.join(around)} must be absent: the tensors have D2L's names, and these settings name layers around the "
            "stacks of torch.nn or paddle.nn."
        )
    known = {**native.settings, **settings}
    tables = position_tables(beside, width, known, LEARNED)
    native = replace(native, tensors={name: array for name, array in native.tensors.items() if name not in tables.names})
    canonical = partial(_canonical, format_name=native.format, layout=layout)
    weights = canonical(native.tensors)
    _check_layout(weights)
    unseen = _unseen_layout(native, weights, settings)
    weights, shared = untied(weights, known)
    assumed = {"norm_eps": EPSILON[native.format]} if native.format in EPSILON and not names_ours(native) else {}
    fields = inferred_fields(weights, known) | dict(tables.fields or {})
    if "position" not in fields:
        check_ignored(native.ignored, weights, width, known)
    model = model_of(native, weights, fields, settings, assumed, canonical, (*unseen, *tables.notes, *shared))
    return replace(model, shown=dict.fromkeys(tables.fields or {}, True))


def _unseen_layout(native: NativeFile, weights: Arrays, settings: Settings) -> tuple[str, ...]:
    square = all(array.shape[0] == array.shape[-1] for name, array in weights.items() if is_matrix(name) and array.ndim == 2)
    if not square or FORMATS[native.format].backend or native.settings or "linear_layout" in settings:
        return ()
    return (
        "Every Linear weight of the file is square and its container tells no layout: linear_layout = out_in was assumed, and "
        "no shape shows whether it is so.",
    )


def _canonical(arrays: Arrays, format_name: str, layout: str | None) -> dict[str, np.ndarray]:
    """Arrays by canonical name in canonical layout; ``layout`` overrules what the container tells."""
    weights: dict[str, np.ndarray] = {}
    for native, array in arrays.items():
        name, transposed = canonical_name(native, format_name)
        if layout is not None and is_matrix(name):
            transposed = layout == "in_out"
        if name.endswith(".pos_embedding"):  # a bare parameter [1, T, D]
            name, array = f"{name}.weight", flat_table(array)
        if name in weights:
            raise PortError(f"Two tensors of the file mean {name}; one of them is {native!r:.80}.")
        as_is = not transposed or array.ndim != 2 or _is_table(name, array, arrays, format_name)
        weights[name] = array if as_is else np.ascontiguousarray(array.T)
    return under_own_names(weights, format_name)


def _is_table(name: str, array: np.ndarray, arrays: Arrays, format_name: str) -> bool:
    """Tell whether an output is the embedding's table [V, D] itself, which our model in Paddle keeps as it lies."""
    return name == OUTPUT and any(
        np.array_equal(array, other)
        for native, other in arrays.items()
        if canonical_name(native, format_name).name in (SOURCE, TARGET)
    )


def _check_layout(weights: Arrays) -> None:
    """A Linear whose bias is as long as its other side lies the wrong way round; square ones do not show it."""
    for name, array in weights.items():
        bias = weights.get(f"{name.removesuffix('.weight')}.bias") if is_matrix(name) else None
        if bias is not None and array.ndim == 2 and bias.shape != (array.shape[0],) and bias.shape == (array.shape[1],):
            raise PortError(
                f"{name} must lie [out, in], got {list(array.shape)} with a bias of {bias.shape[0]}: the Linear weights "
                'of this file lie the other way round. Say "linear_layout": "in_out" (or "out_in") in the settings.'
            )


def write(model: PortedModel, format_name: str, settings: Settings) -> NativeFile:
    """The file that our own model of this framework loads; ``block_names`` of the settings changes what it calls its blocks."""
    scheme, block = _scheme(format_name, settings)
    config = model.config
    native = partial(_native, scheme=scheme, block=block, config=config)
    weights = under_each_name(config, model.weights) if scheme.shared == "each" else model.weights
    optimizer = model.optimizer and renamed_moments(model.optimizer, native)
    return NativeFile(
        format=format_name, tensors=native(weights), optimizer=optimizer, betas=model.betas, settings=config.to_dict()
    )


def check_names(container: Format, settings: Settings) -> None:
    """Refuse names for blocks that our own reader would not know again, and the version of another framework."""
    for other in FORMATS.values():
        if other is not container and other.version_setting and other.version_setting in settings:
            raise PortError(f"{other.version_setting} is for {other.name}, got it for {container.name}.")
    scheme, block = _scheme(container.name, settings)
    canonical = "encoder.blks.block3.ffn.dense1.weight"
    if block is not None and canonical_name(native_name(canonical, scheme, block), container.name).name != canonical:
        raise PortError(f"block_names must be d2l, {{i}}, block{{i}} or the like, which can be read back, got {block!r}.")


def loading(model: PortedModel, container: Format | None, settings: Settings) -> Loading:
    """Return the lines that load the file; none where ``settings`` ask for names that are not those of our own model."""
    assert container is not None
    own = NAMING_SCHEMES[container.name]
    scheme, block = _scheme(container.name, settings)
    if scheme == own and block in (None, own.block):
        return container.loading_of(model)
    return Loading(into="a model whose tensors are called so, as the settings ask; ours are not")


def _scheme(format_name: str, settings: Settings) -> tuple[NamingScheme, str | None]:
    version, block = settings.get("keras_version", 3), settings.get("block_names")
    if version not in (2, 3):
        raise PortError(f"keras_version must be 2 or 3, got {version!r}.")
    own = NAMING_SCHEMES[format_name]
    theirs = D2L_SCHEMES.get(format_name, own)
    if block == OF_D2L:
        return theirs, None
    if block is not None and not (isinstance(block, str) and "{i}" in block and not set("{}") & set(block.replace("{i}", ""))):
        raise PortError(
            "block_names must be d2l, or a text with {i} and no other braces in it, such as block{i}, got " + f"{block!r}."
        )
    return (theirs if version == 2 else own), block


def _native(arrays: Arrays, scheme: NamingScheme, block: str | None, config: TransformerConfig) -> dict[str, np.ndarray]:
    renamed = first_names(config, scheme)
    as_is = (OUTPUT,) if scheme.table_as_is and config.tie_output else ()
    return {
        native_name(renamed.get(name, name), scheme, block): np.ascontiguousarray(array.T)
        if scheme.transposed and is_matrix(name) and name not in as_is
        else array
        for name, array in arrays.items()
    }


ROW = Family(
    name="d2l",
    title="D2L book models and this project's own",
    kind="tensors",
    recognize=recognize,
    read=read,
    write=write,
    runs="proof.reference_runs.engines:run_backend",
    requires=None,
    own=OWN,
    optimizer=True,
    loading=loading,
    check_names=check_names,
)
