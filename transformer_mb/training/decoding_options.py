"""How the validation is translated when a training has ended: ``[decoding]`` of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..data.padding import check_limits
from ..decoding.beam_search import LENGTH_PENALTY, check_search
from ..decoding.coverage_penalty import check_coverage_penalty
from ..errors import ConfigError
from ..fields import check_field_types, check_names
from ..inference.text_model import TOO_LONG
from ..inference.translation import Translator
from ..training_options import NONE_AS_ZERO


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """See ``Translator``; as ``evaluate`` takes them, and with its defaults. Raises ConfigError."""

    beam: int = 1
    length_penalty: float = LENGTH_PENALTY
    coverage_penalty: float = 0.0
    max_steps: int | None = None
    too_long: str = "cut"

    def __post_init__(self) -> None:
        check_field_types(self)
        check_search(self.beam, self.length_penalty, 1)
        check_coverage_penalty(self.coverage_penalty)
        check_limits(max_steps=self.max_steps)
        if self.too_long not in TOO_LONG:
            raise ConfigError(f"too_long must be one of {', '.join(TOO_LONG)}, got {self.too_long!r}.")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], places: Mapping[str, str] | None = None) -> DecodingOptions:
        """``places`` says of other options where they belong."""
        check_names("field(s) of [decoding]", given, (field.name for field in dataclasses.fields(cls)), places)
        values: dict[str, Any] = {name: None if value == 0 and name in NONE_AS_ZERO else value for name, value in given.items()}
        return cls(**values)

    def translator(self, like: Translator) -> Translator:
        """The same model and vocabularies, decoding so."""
        vocabularies = like.source_vocabulary, like.target_vocabulary
        return Translator(like.backend, like.model, *vocabularies, max_steps=self.max_steps, too_long=self.too_long)
