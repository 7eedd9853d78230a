"""Vocabularies of folders of ``transformers``: text to the ids that AutoTokenizer gives, and back.

``tokenizer.json`` is read where there is one; older folders have only the files of the slow tokenizers (``slow_tokenizers``).
What stands around a text, such as ``<s>`` and ``</s>`` or the code of a language, is the frame of the vocabulary.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...config import TransformerConfig
from ...data.subword_models import library
from ...data.subwords import SubwordVocabulary
from ...data.tokenizer_json import listed_tokens
from ...data.vocabulary import Vocabulary
from ...errors import DataError, PortError
from ...extras import install_command
from ...files.regular import LARGEST, read_regular_file
from ..model import PortedModel
from ..safety.port_errors import port_errors, system_errors
from ..settings import names_of
from .added_tokens import AddedTokens, read_added
from .hugging_face import CONFIG, MOST_ROWS, NO_TOKEN, read_object
from .marian_tokenizers import framing, with_rows, write_tokenizer_config
from .slow_tokenizers import SlowFiles, slow_tokenizer

TOKENIZER, TOKENIZER_CONFIG, SPECIAL_MAP = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
LANGUAGES = {"source": "source_language", "target": "target_language"}  # settings
SPELLED, FEW = "spelled_tokens", 3  # a setting; names that a note lists
SAID = {"source": "src_lang", "target": "tgt_lang"}  # in tokenizer_config.json
USUAL_NAMES = {
    **{"unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "bos": "<s>", "eos": "</s>"},
    **{"pad": "<pad>", "mask": "<mask>"},
}
TEXT = "a"  # of a token or more in every vocabulary
# The class of a tokenizer that no file names, by model_type, as AutoTokenizer has it.
USUAL_CLASSES = {
    **{"t5": "T5", "mt5": "T5", "llama": "Llama", "mistral": "Llama", "bart": "Bart", "pegasus": "Pegasus"},
    "blenderbot": "Blenderbot",
    **{"roberta": "Roberta", "xlm-roberta": "XLMRoberta", "distilbert": "DistilBert", "gpt2": "GPT2", "opt": "GPT2"},
}
ASKED = ("GPT2", "Llama")  # whose add_bos_token and add_eos_token say what stands around a text
OF_PAIRS = ("Llama",)  # of those that SentencePiece reads, whose pieces are pairs that were joined (BPE)
# Around a text by the class of its tokenizer, where no tokenizer.json says it. LANGUAGE stands for the code of the side.
LANGUAGE = "LANGUAGE"
FRAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(("Bart", "Roberta", "XLMRoberta"), (("bos",), ("eos",))),
    **dict.fromkeys(("Bert", "DistilBert"), (("cls",), ("sep",))),
    **dict.fromkeys(("T5", "MT5", "ByT5", "Pegasus", "Blenderbot", "Marian"), ((), ("eos",))),
    **dict.fromkeys(("MBart50", "M2M100", "Nllb"), ((LANGUAGE,), ("eos",))),
    "MBart": ((), ("eos", LANGUAGE)),
    "GPT2": ((), ()),
    "Llama": (("bos",), ()),
}
OF_LANGUAGES = tuple(name for name, (before, after) in FRAMES.items() if LANGUAGE in (*before, *after))
QUIET = (*OF_LANGUAGES, "Pegasus")  # whose special tokens are codes, which settings name, and those of its pretraining


class Words(NamedTuple):
    """The vocabularies of the sides that a model has; ``problem``: one sentence why there is none, what it lacks, or ""."""

    source: Vocabulary | None
    target: Vocabulary | None
    problem: str


def read_words(folder: Path, config: TransformerConfig, settings: Mapping[str, Any]) -> Words:
    """The vocabularies of a folder whose tokenizer is of both sides. Raises PortError for a damaged one."""
    sides = {"encoder": ("source",), "decoder": ("target",)}.get(config.architecture, ("source", "target"))
    rows = {int(getattr(config, f"{side}_vocab_size") or 0) for side in sides}
    if len(rows) > 1:
        return Words(None, None, "The sides have vocabularies of different sizes: the tokenizer of the folder was left out.")
    files = TokenizerFiles(folder)
    if missing := [name for name in ("tokenizers", "sentencepiece") if importlib.util.find_spec(name) is None]:
        how = f"that needs the package {missing[0]}: {install_command('text')}"
        return Words(None, None, f"The tokenizer of the folder was not read: {how}.")
    try:
        with port_errors(DataError), system_errors(f"A tokenizer of {folder} cannot be read"):
            made = {side: files.vocabulary(side, rows.copy().pop(), config, settings) for side in sides}
    except _Absent as absent:
        return Words(None, None, str(absent))
    return Words(made.get("source"), made.get("target"), files.unspelled(next(iter(made.values()))))


def write_words(folder: Path, model: PortedModel) -> None:
    """Write tokenizer.json where both sides have one and the same, for AutoTokenizer, with the frame of the source's."""
    words = [one for one in (model.source_vocabulary, model.target_vocabulary) if one is not None]
    kinds = [one for one in words if isinstance(one, SubwordVocabulary) and one.kind == "tokenizers"]
    if kinds and len(kinds) == len(words) and len({one.content for one in kinds}) == 1:
        (folder / TOKENIZER).write_bytes(framing(kinds[0]))
        write_tokenizer_config(folder, kinds[0], model, {"tokenizer_class": "PreTrainedTokenizerFast"})


class _Absent(Exception):
    """The reason why a folder gives no vocabulary, in a sentence."""


class TokenizerFiles:
    """The files of a folder that make ids of text."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.fields: dict[str, Any] = {}
        for name in (SPECIAL_MAP, TOKENIZER_CONFIG):
            if (folder / name).is_file():
                self.fields |= read_object(folder / name)
        config = read_object(folder / CONFIG) if (folder / CONFIG).is_file() else {}
        named = str(self.fields.get("tokenizer_class") or config.get("tokenizer_class") or "")
        usual = USUAL_CLASSES.get(str(config.get("model_type")), "")
        self.kind = named.removesuffix("Fast").removesuffix("Tokenizer") or usual
        self.whole = (folder / TOKENIZER).is_file()  # it alone says all but the frame
        roles = [self._name(role) for role in USUAL_NAMES if f"{role}_token" in self.fields]
        self.added = AddedTokens(folder, {}, frozenset()) if self.whole else read_added(folder, self.fields, roles)

    def vocabulary(self, side: str, rows: int, config: TransformerConfig, settings: Mapping[str, Any]) -> SubwordVocabulary:
        kind, content, own = self._tokens()
        entries = [*own, *(NO_TOKEN.format(number) for number in range(len(own), min(rows, MOST_ROWS * len(own))))]
        if len(entries) != rows:
            raise _Absent(f"The tokenizer was left out: it gives {len(own)} tokens for {rows} rows of the embedding.")
        content = with_rows(content, len(own), rows) if kind == "tokenizers" else content
        numbers = {token: number for number, token in enumerate(entries)}
        self._check(entries, numbers, config)
        unknown = next((numbers[name] for name in (self._name("unk"), "[UNK]") if name in numbers), config.pad_id)
        special = {"unk": unknown, "pad": config.pad_id, "bos": config.pad_id, "eos": config.pad_id}
        plain = SubwordVocabulary(kind, content, entries, special)
        opening, closing = frame = self._frame(side, plain, numbers, settings)
        if config.has_decoder:
            special |= {"bos": config.start_id, "eos": config.eos_id}
        else:  # of an encoder alone no configuration says them
            special |= {"bos": opening[0] if opening else config.pad_id, "eos": closing[-1] if closing else config.pad_id}
        more = self._outside(numbers, {*special.values(), *opening, *closing}) if kind == "sentencepiece" else ([], [])
        spelled = list(dict.fromkeys((*names_of(settings, SPELLED), *more[0])))
        return SubwordVocabulary(
            kind, plain.content, entries, special, frame, self._is_tidied(kind, content), spelled, silent=more[1]
        )

    def _outside(self, numbers: Mapping[str, int], roles: set[int]) -> tuple[list[str], list[str]]:
        """Return added tokens that a SentencePiece model does not have: words, and special ones without a role."""
        tokens = [token for token in self.added.tokens.values() if numbers.get(token, -1) not in {-1, *roles}]
        special = [token for token in tokens if token in self.added.special]
        return [token for token in tokens if token not in self.added.special], special

    def unspelled(self, vocabulary: SubwordVocabulary) -> str:
        """Say which special tokens AutoTokenizer would find in a text and we do not, or ""."""
        usual = {self._name(role) for role in USUAL_NAMES}
        names = [one for one in vocabulary.unspelled if one not in usual and not one.startswith(NO_TOKEN.partition("{")[0])]
        if not names or self.kind in QUIET:
            return ""
        more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
        listed = ", ".join(f"{one:.40}" for one in names[:FEW])
        return (
            f"Inside a text {listed}{more} are text, no special tokens, unless {SPELLED} in the settings (config) names them."
        )

    def _tokens(self) -> tuple[str, bytes, list[str]]:
        """Read the kind of a SubwordVocabulary, its content, and its tokens by number."""
        if self.whole:
            content = bytes(read_regular_file(self.folder / TOKENIZER, LARGEST["vocabulary"]))
            return "tokenizers", content, listed_tokens(content)
        slow = slow_tokenizer(SlowFiles(self.folder, self.kind, self.fields, self.added))
        if slow is None:
            raise _Absent(f"There is no {TOKENIZER} and no other tokenizer that can be read here: the vocabulary was left out.")
        return slow

    def _check(self, entries: list[str], numbers: Mapping[str, int], config: TransformerConfig) -> None:
        """Refuse what would give other tokens than the model has learned."""
        for number, token in enumerate(entries):
            if (last := numbers[token]) != number:
                raise PortError(f"{self.folder}: a token must have one number, but {token!r:.40} has {number} and {last}.")
        end, said = self._name("eos"), self.fields.get("extra_ids")
        if config.has_encoder and config.has_decoder and numbers.get(end, config.eos_id) != config.eos_id:
            raise _Absent(
                f"The tokenizer was left out: its end token {end!r:.40} must have the model's eos_token_id {config.eos_id}, "
                f"but it has {numbers[end]}."
            )
        sentinels = (f"<extra_id_{number}>" for number in range(said if type(said) is int else 0))
        if (absent := next((name for name in sentinels if name not in numbers), None)) is not None:
            raise _Absent(f"The tokenizer was left out: it must have extra_ids = {said} sentinels, but {absent} is not there.")

    def _is_tidied(self, kind: str, content: bytes) -> bool:
        """Tell whether transformers 5 tidies the texts: where it is asked to, but not those of joined pairs."""
        asked = self.fields.get("clean_up_tokenization_spaces") is True
        if not asked or self.kind == "ByT5":
            return asked
        return self.kind not in OF_PAIRS if kind == "sentencepiece" else json.loads(content)["model"].get("type") != "BPE"

    def _name(self, role: str) -> str:
        """Return the name of a role's token: a text, or the fields of an added token."""
        value = self.fields.get(f"{role}_token")
        value = value.get("content") if isinstance(value, dict) else value
        return value if isinstance(value, str) else USUAL_NAMES[role]

    def _frame(
        self, side: str, vocabulary: SubwordVocabulary, numbers: Mapping[str, int], settings: Mapping[str, Any]
    ) -> tuple[list[int], list[int]]:
        of_languages, names = self.kind in OF_LANGUAGES, FRAMES.get(self.kind)
        language = settings.get(LANGUAGES[side], self.fields.get(SAID[side]) if of_languages else None)
        if self.whole and language is None and not (of_languages and side == "target"):  # it frames a source
            return self._asked(frame_of(vocabulary.content), numbers)
        if names is None:
            raise _Absent(f"The tokenizer was left out: what stands around a text of a {self.kind}Tokenizer is not known here.")
        if of_languages:
            if language is None:
                raise _Absent(f"The vocabulary was left out until {LANGUAGES[side]} in the settings (config) says its code.")
            of_m2m = f"__{language}__"  # asked for first: the code itself may be a piece of words
            language = of_m2m if of_m2m in numbers else language
            if language not in numbers:
                got = settings.get(LANGUAGES[side], self.fields.get(SAID[side]))
                raise PortError(f"{LANGUAGES[side]} must be a token of {self.folder}'s vocabulary, got {got!r:.60}.")
        elif language is not None:
            raise PortError(
                f"{LANGUAGES[side]} is for tokenizers of {', '.join(OF_LANGUAGES)}, got one of {self.kind or 'none'}."
            )
        found = [[str(language) if name == LANGUAGE else self._name(name) for name in part] for part in names]
        if missing := [name for part in found for name in part if name not in numbers]:
            raise _Absent(f"The tokenizer was left out: it has no token {missing[0]!r:.40}.")
        opening, closing = ([numbers[name] for name in part] for part in found)
        return self._asked((opening, closing), numbers)

    def _asked(self, frame: tuple[list[int], list[int]], numbers: Mapping[str, int]) -> tuple[list[int], list[int]]:
        """Return the frame as add_bos_token and add_eos_token want it."""
        parts = []
        for role, part in zip(("bos", "eos"), frame, strict=True):
            said = self.fields.get(f"add_{role}_token") if self.kind in ASKED else None
            if said is True and (name := self._name(role)) not in numbers:
                raise _Absent(f"The tokenizer was left out: it has no token {name!r:.40}.")
            parts.append(part if not isinstance(said, bool) else [numbers[self._name(role)]] if said else [])
        return parts[0], parts[1]


def frame_of(content: bytes) -> tuple[list[int], list[int]]:
    """Return what a tokenizer.json puts before and after a text."""
    tokenizer = library("tokenizers").Tokenizer.from_buffer(content)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare, framed = (tokenizer.encode(TEXT, add_special_tokens=special).ids for special in (False, True))
    places = range(len(framed) - len(bare) + 1)
    start = next((place for place in places if framed[place : place + len(bare)] == bare), None)
    if start is None or not bare:
        raise PortError(f"A tokenizer must put its special tokens around a text, but of {TEXT!r} it makes {framed!r:.80}.")
    return framed[:start], framed[start + len(bare) :]
