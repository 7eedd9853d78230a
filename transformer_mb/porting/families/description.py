"""Description of a family of ``transformers`` as tables: what its tensors and the fields of its config.json are called here.

``described_folder`` reads and writes the folders of any family by one of these, so that another family is a file of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ..kinds import Settings
from ..model import PortedModel
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames
from .task_layouts import HeadLayout
from .tokenizer_files import Words, read_words, write_words

Values = Mapping[str, Any]  # of a config.json
Named = dict[str, np.ndarray]


def as_they_are(values: Values) -> dict[str, Any]:
    """Return the fields of a config.json that names all it needs."""
    return dict(values)


def unchanged(tensors: Mapping[str, np.ndarray]) -> Named:
    """Return tensors that lie as ours do."""
    return dict(tensors)


@dataclass(frozen=True, kw_only=True)
class TokenTables:
    """The tables of token vectors and the projection to the vocabulary, each of which may be another one's.

    Attributes:
        sides: by side, the name of its table. shared: the name of one for all of them. output: of the projection's weight,
            bias: of its bias [1, V]; "" where there is none.
        share: the field of config.json that says whether both sides have one table; "": ``tie_word_embeddings`` ties all.
        tied_by_itself: what an absent ``tie_word_embeddings`` means.
    """

    sides: Mapping[str, str]
    shared: str = ""
    output: str = ""
    bias: str = ""
    share: str = ""
    tied_by_itself: bool = True


@dataclass(frozen=True, kw_only=True)
class Description:
    """The tables of one family. ``theirs`` are names of config.json or of tensors, ``ours`` those of a TransformerConfig.

    Attributes:
        prefix: what the base model's tensors begin with inside of a model with a head. names: of the base model's tensors.
        sizes, rates, switches: fields of config.json that hold whole numbers, fractions and truth values, by ours.
        vocabularies: the size of each side's, by ours; the first that is there.
        activation: the field that names it. fixed: fields of ours that config.json does not tell.
        required: values with which a field of theirs changes nothing; the first is written, unless it is None.
        equal: fields of theirs that must say what another one says.
        counts_offset: ``max_len`` as they count it has the rows before the first position too.
        absent: what their class takes for a field that is not there, where no release takes anything else. nulls: fields of
            which null says something else than that they are not there.
        buffers: patterns of tensors that count from 0 or are masks. sinusoids: the names of computed tables.
        modern: the fields of any release as the tables want them; published: written fields as their class reads them.
        unpacked, packed: tensors as ours lie, and back.
        read_words, write_words: of the vocabularies. note: what a written folder lacks.
        heads: that its classes have.
    """

    library: LibraryModel
    title: str
    prefix: str
    names: LayerNames
    tables: TokenTables
    fixed: Mapping[str, Any]
    sizes: Mapping[str, str]
    rates: Mapping[str, str]
    vocabularies: Mapping[str, tuple[str, ...]]
    activation: str
    switches: Mapping[str, str] = field(default_factory=dict)
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    equal: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, Any] = field(default_factory=dict)
    nulls: tuple[str, ...] = ()
    counts_offset: bool = False
    buffers: tuple[str, ...] = ()
    sinusoids: tuple[str, ...] = ()
    modern: Callable[[Values], dict[str, Any]] = as_they_are
    published: Callable[[Values], dict[str, Any]] = as_they_are
    unpacked: Callable[[Mapping[str, np.ndarray]], Named] = unchanged
    packed: Callable[[Mapping[str, np.ndarray]], Named] = unchanged
    read_words: Callable[[Path, TransformerConfig, Settings], Words] = read_words
    write_words: Callable[[Path, PortedModel], None] = write_words
    note: Callable[[PortedModel], str] = lambda model: ""
    heads: tuple[HeadLayout, ...] = ()

    @property
    def pooler(self) -> str:
        """The name of BERT's tanh layer; "" where there is none."""
        return self.names.outer.get("pooler.dense", "")

    @property
    def output_inside(self) -> bool:
        """Tell whether the output projection is one of the base model's tensors."""
        return self.tables.output.split(".")[0] in self.levels

    @property
    def architecture(self) -> str:
        return str(self.fixed["architecture"])

    @property
    def known(self) -> tuple[str, ...]:
        """The fields of config.json that a model is made of."""
        ties = tuple(name for name in ("tie_word_embeddings", self.tables.share) if name)
        sizes = (name for names in self.vocabularies.values() for name in names)
        fields = (self.sizes, self.rates, self.switches)
        named = (
            *sizes,
            *(theirs for table in fields for theirs in table.values()),
            self.activation,
            *self.required,
            *self.equal,
        )
        return tuple(dict.fromkeys((*named, *ties, "bos_token_id")))

    @property
    def levels(self) -> set[str]:
        """The first levels of the base model's tensors."""
        outside = {self.tables.output, self.tables.bias}
        outer = (name for name in self.names.outer.values() if name not in outside)
        layers = [self.names.block, *outer, *self.tables.sides.values(), self.tables.shared]
        return {name.format(side=side, number="").split(".")[0] for name in layers for side in ("encoder", "decoder")} - {""}
