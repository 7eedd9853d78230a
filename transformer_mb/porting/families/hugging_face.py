"""Folders as ``transformers`` saves them: config.json, weights in safetensors, tokenizer files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...checkpoint import files as checkpoint_files
from ...config import TransformerConfig
from ...data.vocabulary import Vocabulary
from ...errors import CheckpointError, DataError, PortError, WeightsError
from ...files.tensors import write_tensors
from ...parameters import check_weights, parameter_shapes
from ..formats.wrappers import plain_names
from ..kinds import Family, Settings
from ..model import Arrays, NativeFile, PortedModel
from ..safety.port_errors import port_errors
from .named_tensors import check_fractions
from .naming_schemes import LayerNames
from .stranded import read_container

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FILES = (
    *(CONFIG, "generation_config.json", "adapter_config.json", "adapter_model.*", "*processor_config.json"),
    *("*.safetensors", "*.safetensors.index.json", "pytorch_model*", "tf_model*", "flax_model*", "model.ckpt*"),
    *("rust_model.ot", "tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "chat_template.*", "merges.txt"),
    *("*vocab*", "*.spm", "*.model", "modules.json", "sentence_*_config.json", "config_sentence_transformers.json"),
)
# The names that transformers gives to our activations; the first is the one that we write.
ACTIVATIONS = {
    "relu": ("relu",),
    "gelu": ("gelu", "gelu_python"),
    "gelu_tanh": ("gelu_new", "gelu_pytorch_tanh"),
    "silu": ("silu", "swish"),
}
# Fields of a config.json that change nothing here, of these families and of the releases that wrote them.
LISTED = """architectures model_type transformers_version dtype torch_dtype tokenizer_class id2label label2id num_labels
    _num_labels problem_type finetuning_task _name_or_path use_cache is_encoder_decoder is_decoder add_cross_attention
    cross_attention_hidden_size tie_encoder_decoder init_std initializer_range gradient_checkpointing chunk_size_feed_forward
    encoder_layerdrop decoder_layerdrop initializer_factor classif_dropout classifier_dropout pruned_heads return_dict
    output_hidden_states output_attentions torchscript use_bfloat16 directionality pooler_fc_size pooler_num_attention_heads
    pooler_num_fc_layers pooler_size_per_head pooler_type add_bias_logits add_final_layer_norm extra_pos_embeddings
    normalize_before normalize_embedding static_position_embeddings save_step task_specific_params prefix sep_token_id"""
INERT = LISTED.split()
NO_TOKEN, MOST_ROWS = "<no token {}>", 2  # more rows than this many times the tokens are those of another vocabulary
Kind = TypeVar("Kind", int, float, bool, str)
KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


@dataclass(frozen=True, kw_only=True)
class LibraryModel:
    """A model of the library whose encoder and decoder the canonical form holds.

    Attributes:
        classes: of it, with or without a head; the first loads what is written.
        nameless: of folders of 2019 and 2020, whose config.json holds sizes and no name: the field that shows it, what is said
            where the user has not named the family, and what is noted where he has.
    """

    model_type: str
    classes: tuple[str, ...]
    nameless: tuple[str, str, str] | None = None

    def is_in(self, folder: Path) -> bool:
        """Tell whether there is a config.json that says so, if only by naming a class of that family."""
        try:
            values = read_object(folder / CONFIG)
        except PortError:
            return False
        return values.get("model_type") == self.model_type or not self.problem(values)

    def seems(self, folder: Path) -> str:
        """Say, as the end of a sentence, that a folder may hold it and does not name it; or ""."""
        try:
            values = read_object(folder / CONFIG)
        except PortError:
            return ""
        return f": of its config.json, {self.nameless[1]}" if self.nameless and self.is_nameless(values) else ""

    def is_nameless(self, values: Mapping[str, Any]) -> bool:
        """Tell a config.json that holds sizes and names no model."""
        named = values.get("model_type") is not None or values.get("architectures")
        return self.nameless is not None and not named and self.nameless[0] in values

    def problem(self, values: Mapping[str, Any]) -> str:
        """Say why a config.json is not of this family, or ""; kin such as RoBERTa name the same tensors and mean others."""
        got, classes = values.get("model_type"), values.get("architectures") or None
        if self.nameless and self.is_nameless(values):
            return self.nameless[1]
        if got not in (None, self.model_type) or (classes is None and got is None):
            return f"model_type must be {self.model_type!r} for this family, got {got!r:.60}"
        if classes is not None and (not isinstance(classes, list) or any(one not in self.classes for one in classes)):
            return f"architectures must name one of {', '.join(self.classes)}, got {classes!r:.80}"
        return ""


def named_model(folder: Path) -> str:
    """Quote what the config.json of a folder of no family says that it is, as the end of a sentence; or ""."""
    try:
        values = read_object(folder / CONFIG)
    except PortError:
        return ""
    named = ", ".join(f"{name} {values[name]!r:.60}" for name in ("model_type", "architectures") if name in values)
    return f": its config.json says {named}, and no family here computes what that does" if named else ""


def read_object(path: Path) -> dict[str, Any]:
    with port_errors(CheckpointError):
        return checkpoint_files.read_object(path)


def write_object(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


class Fields:
    """The fields of a config.json, checked as they are asked for.

    A field without a default must be there: what transformers takes for an absent one differs between its releases.
    """

    def __init__(self, path: Path, model: LibraryModel):
        self.path = path
        self.values = read_object(path)
        nameless = model.is_nameless(self.values)
        if not nameless and (problem := model.problem(self.values)):
            raise PortError(f"{path}: {problem}.")
        self.doubts = (model.nameless[2],) if model.nameless and nameless else ()
        self.given: dict[str, str] = {}  # by their name, the setting that may say what is absent
        self.require("per_layer_config", None, None)

    def get(self, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        right = isinstance(value, (int, float) if kind is float else kind) and (kind is bool) == isinstance(value, bool)
        if not right:
            got = "nothing" if name not in self.values else f"{value!r:.60}"
            said = f" Say {self.given[name]} in the settings (config)." if name in self.given and got == "nothing" else ""
            raise PortError(f"{self.path}: {name} must be {KINDS[kind]}, got {got}.{said}")
        return kind(value)  # type: ignore[arg-type]

    def fill(self, names: Mapping[str, str], settings: Settings) -> dict[str, bool]:
        """Fill what is absent from the settings, by our name of each field; return which, as ``PortedModel.shown`` has them."""
        absent = {ours: theirs for ours, theirs in names.items() if self.values.get(theirs) is None and ours in settings}
        self.values |= {theirs: settings[ours] for ours, theirs in absent.items()}
        self.given = {theirs: ours for ours, theirs in names.items()}
        return dict.fromkeys(absent, False)

    def all(self, names: Mapping[str, str], kind: type[Kind]) -> dict[str, Kind]:
        """Return their fields by our name of each."""
        return {ours: self.get(theirs, kind) for ours, theirs in names.items()}

    def require(self, name: str, expected: Any, default: Any) -> None:
        """Refuse a variant that the canonical form does not have."""
        got = self.values.get(name, default)
        if got != expected:
            raise PortError(f"{self.path}: {name} must be {expected!r} for this family, got {got!r:.60}.")

    def native(self, names: Iterable[str], known: Iterable[str] = ()) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return these fields as they stand, for the library that wrote them; and a note of those that are unknown."""
        values = {name: value for name, value in self.values.items() if value is not None}
        unknown = sorted(set(values) - {*names, *known, *INERT})
        note = f"{CONFIG} holds {', '.join(unknown):.300}, not known here: not used."
        return {name: values[name] for name in names if name in values}, (note,) if unknown else ()

    def activation(self, name: str) -> str:
        got = self.get(name, str)
        for ours, theirs in ACTIVATIONS.items():
            if got in theirs:
                return ours
        known = ", ".join(one for theirs in ACTIVATIONS.values() for one in theirs)
        raise PortError(f"{self.path}: {name} must be one of {known}, got {got!r:.60}.")


def read_weights(folder: Path) -> NativeFile:
    """The tensors of a folder from any of its containers, by the names that a torch model has (see ``stranded``)."""
    native = read_container(folder)
    own = plain_names(native.tensors)  # as torch.compile and others leave them where a wrapped model is saved
    tensors = {own.names[one]: array for one, array in native.tensors.items()}
    return replace(native, tensors=tensors, notes=(*native.notes, *own.notes))


def write_weights(folder: Path, tensors: Arrays) -> None:
    """Write the weights, with the metadata without which transformers refuses a file."""
    write_tensors(folder / WEIGHTS, tensors, {"format": "pt"})


def canonical_weights(tensors: Arrays, names: LayerNames, config: TransformerConfig, folder: Path) -> dict[str, np.ndarray]:
    """The weights of a model from foreign tensors, or one PortError that lists all that does not fit."""
    shapes = parameter_shapes(config)
    with port_errors(WeightsError):
        check_weights(tensors, {names.tensor(name): shape for name, shape in shapes.items()}, f"{folder / CONFIG}")
    check_fractions(tensors)
    return {name: tensors[names.tensor(name)] for name in shapes}


def vocabulary_of(
    ids: Mapping[str, int], size: int, file: str, made: Callable[[list[str]], Vocabulary]
) -> tuple[Vocabulary | None, str]:
    """Return what is ``made`` of the tokens by id and "", or None and why there is none.

    Rows past the last token, as ``resize_token_embeddings`` and padding to a multiple make them, get names that no text gives.
    """
    tokens = {number: token for token, number in ids.items() if type(number) is int}
    entries = [tokens.get(number, NO_TOKEN.format(number)) for number in range(size)]
    if set(tokens) != set(range(len(ids))) or not len(ids) <= size <= MOST_ROWS * len(ids) or len(set(entries)) != size:
        return None, f"{file} does not give a token for each of the {size} rows of the embedding: it was left out."
    try:
        return made(entries), ""
    except DataError as error:
        return None, f"{file} was left out: {error}"


def rows_without_token(vocabulary: Vocabulary | None) -> tuple[int, ...]:
    """The ids that ``vocabulary_of`` made names for."""
    entries = () if vocabulary is None else vocabulary.entries
    return tuple(number for number, token in enumerate(entries) if token == NO_TOKEN.format(number))


def family_of(
    model: LibraryModel,
    title: str,
    *,
    read: Callable[..., PortedModel],
    write: Callable[..., None],
    note: Callable[[PortedModel], str] = lambda model: "",
    options: str = "",
) -> Family:
    """Make the row of a model; ``options`` are further arguments of what loads it."""
    into = f"transformers.{model.classes[0]}"
    return Family(
        name=model.model_type.replace("-", "_"),
        title=title,
        kind="folder",
        recognize=model.is_in,
        seems=model.seems,
        read=read,
        write=write,
        runs="proof.reference_runs.hugging_face:run_folder",
        requires=("transformers", "torch"),
        files=FILES,
        generation=True,
        into=into,
        lines=f"import transformers\nmodel = {into}.from_pretrained({{path}}{options})",
        note=note,
        holds_heads=lambda ported: ported.carried_type == model.model_type,
    )
