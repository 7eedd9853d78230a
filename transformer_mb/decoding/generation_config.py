"""A generation_config.json as ``transformers`` writes it: how those who published a model decode with it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..config import TransformerConfig
from ..errors import ConfigError
from ..fields import did_you_mean

USUAL_NEW_TOKENS = 20  # of transformers, where neither max_length nor max_new_tokens is said
LARGEST_BEAM = 1000
MOST_IDS = 1_000_000  # in one list; more are no rule but an attack


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """Fields of a generation_config.json that change the tokens of a greedy or a beam search, by transformers' names.

    ``backend.generate`` searches by them, token for token as transformers' ``generate`` does (of 5.23; see docs/PORTING.md).

    Attributes:
        num_beams: 1 decodes greedily. early_stopping: False, True or "never". length_penalty: exponent of the length by which
            log-probabilities are divided.
        max_length, max_new_tokens: with and without the first token or the prompt; both None: 20 new ones. min_length,
            min_new_tokens: likewise, before which no sentence ends.
        repetition_penalty, encoder_repetition_penalty: for tokens that came before; in favor of those of the source.
        no_repeat_ngram_size, encoder_no_repeat_ngram_size: n-grams, of the output and of the source, that must not come again.
        bad_words_ids: lists of ids that are never generated in this order. sequence_bias: such lists with a number each.
        suppress_tokens, begin_suppress_tokens: ids that are never generated, or not as the first.
        forced_bos_token_id, forced_eos_token_id: the first token; the last one of an output of max_length.
        exponential_decay_length_penalty: the length from which ending gets likelier, and the factor.
        renormalize_logits: log-probabilities are made to sum to one again after all rules.
    Raises:
        ConfigError: naming the field, what it must be and what was given.
    """

    num_beams: int = 1
    early_stopping: bool | str = False
    length_penalty: float = 1.0
    max_length: int | None = None
    max_new_tokens: int | None = None
    min_length: int = 0
    min_new_tokens: int | None = None
    repetition_penalty: float = 1.0
    encoder_repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    encoder_no_repeat_ngram_size: int = 0
    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    sequence_bias: tuple[tuple[tuple[int, ...], float], ...] = ()
    suppress_tokens: tuple[int, ...] = ()
    begin_suppress_tokens: tuple[int, ...] = ()
    forced_bos_token_id: int | None = None
    forced_eos_token_id: int | None = None
    exponential_decay_length_penalty: tuple[int, float] | None = None
    renormalize_logits: bool = False

    def __post_init__(self) -> None:
        for name, (kind, what) in FIELDS.items():
            value = getattr(self, name)
            if value is None and USUAL[name] is None:
                continue
            try:
                object.__setattr__(self, name, kind(value))
            except (TypeError, ValueError):
                raise ConfigError(f"{name} must be {what}, got {value!r:.80}.") from None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> GenerationConfig:
        """Make one of fields by name; None stands for what is usual. Raises ConfigError."""
        if unknown := sorted(set(fields) - set(USUAL)):
            hints = "".join(did_you_mean(name, tuple(USUAL)) for name in unknown)
            raise ConfigError(f"A generation configuration has no {', '.join(unknown):.200}.{hints}")
        return cls(**{name: value for name, value in fields.items() if value is not None})

    @classmethod
    def from_json(cls, text: str) -> GenerationConfig:
        """Read ``to_json`` back; raises ConfigError."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"A generation configuration must be JSON: {error!s:.200}.") from None
        if not isinstance(fields, dict):
            raise ConfigError(f"A generation configuration must be a JSON object, got a {type(fields).__name__}.")
        return cls.from_dict(fields)

    def to_dict(self) -> dict[str, Any]:
        """The fields that are not as usual."""
        return {name: value for name, usual in USUAL.items() if (value := getattr(self, name)) != usual}

    def to_json(self) -> str:
        """The content of generation_config.json in a checkpoint."""
        return json.dumps(self.to_dict(), indent=2)

    def longest(self, prompt: int, max_len: int) -> int:
        """The length at which an output is cut, the ``prompt`` tokens before it counted; ``max_len``: the model's positions.

        Raises ConfigError where it is longer than the positions reach.
        """
        if self.max_new_tokens is None and self.max_length is None:
            return min(USUAL_NEW_TOKENS + prompt, max_len + 1)
        name, new = ("max_length", (self.max_length or 0) - prompt) if self.max_new_tokens is None else ("max_new_tokens", 0)
        new = new if self.max_new_tokens is None else self.max_new_tokens
        if not 1 <= new <= max_len + 1 - prompt:
            raise ConfigError(
                f"{name} must leave from 1 to {max_len + 1 - prompt} tokens after the {prompt} given (max_len = {max_len}), "
                f"got {getattr(self, name)}."
            )
        return new + prompt

    def check_ids(self, config: TransformerConfig) -> None:
        """Refuse ids that the model's vocabulary does not have; raises ConfigError."""
        size = config.target_vocab_size or 0
        lists = {name: getattr(self, name) for name in ("suppress_tokens", "begin_suppress_tokens")}
        lists["bad_words_ids"] = [number for word in self.bad_words_ids for number in word]
        lists["sequence_bias"] = [number for word, _ in self.sequence_bias for number in word]
        lists |= {name: [getattr(self, name) or 0] for name in ("forced_bos_token_id", "forced_eos_token_id")}
        for name, ids in lists.items():
            if wrong := [number for number in ids if number >= size]:
                raise ConfigError(f"{name} must hold token ids from 0 to {size - 1}, got {wrong[0]}.")


def _exactly(kinds: type | tuple[type, ...], check: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A function that returns a value of these kinds for which ``check`` holds, and raises ValueError for others."""

    def checked(value: Any) -> Any:
        accepted = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted) or not check(value):
            raise ValueError
        return value

    return checked


_count = _exactly(int, lambda value: 0 <= value <= MOST_IDS)
_finite = _exactly((int, float), lambda value: abs(value) < 1e6)


def _ids(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_IDS:
        raise ValueError
    return tuple(_count(number) for number in value)


def _words(value: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list | tuple) or not all(_ids(word) for word in value):
        raise ValueError
    return tuple(_ids(word) for word in value)


def _biases(value: Any) -> tuple[tuple[tuple[int, ...], float], ...]:
    pairs = [(word, _finite(number)) for word, number in value]
    return tuple(zip(_words([word for word, _ in pairs]), (float(number) for _, number in pairs), strict=True))


def _one_id(value: Any) -> int:
    return _count(value[0] if isinstance(value, list | tuple) and len(value) == 1 else value)


def _decay(value: Any) -> tuple[int, float]:
    start, factor = value
    return _count(start), float(_finite(factor))


_penalty = _exactly((int, float), lambda value: 0.0 < value < 1e6)
_size = "a whole number from 0 on"
_list = "a list of token ids"
FIELDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "num_beams": (_exactly(int, lambda value: 1 <= value <= LARGEST_BEAM), f"a whole number from 1 to {LARGEST_BEAM}"),
    "early_stopping": (_exactly((bool, str), lambda value: value in (True, False, "never")), 'true, false or "never"'),
    "length_penalty": (_finite, "a number"),
    **dict.fromkeys(("max_length", "max_new_tokens", "min_length", "min_new_tokens"), (_count, _size)),
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty"), (_penalty, "a number above 0")),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), (_count, _size)),
    "bad_words_ids": (_words, "a list of lists of token ids"),
    "sequence_bias": (_biases, "a list of pairs, each a list of token ids and a number"),
    **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens"), (_ids, _list)),
    **dict.fromkeys(("forced_bos_token_id", "forced_eos_token_id"), (_one_id, "a token id")),
    "exponential_decay_length_penalty": (_decay, "a pair of a length and a factor"),
    "renormalize_logits": (_exactly(bool, lambda value: True), "true or false"),
}
USUAL: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(GenerationConfig)}
