"""Files that make tokens of text in a MarianMT folder, as ``transformers.AutoTokenizer`` reads them.

SentencePiece: ``source.spm`` and ``target.spm`` beside vocab.json, which numbers the pieces of both; with two vocabularies
target_vocab.json numbers those of the target. A tokenizer of the library ``tokenizers``: ``tokenizer.json``, which appends the
end token; with two vocabularies the target's lies in the folder ``target`` (``AutoTokenizer.from_pretrained(folder,
subfolder="target")``), since one such file has one vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...config import TransformerConfig
from ...data.subword_models import SENTINEL, library
from ...data.subwords import SubwordVocabulary
from ...data.vocabulary import Vocabulary
from ...errors import DataError
from ...files.regular import LARGEST, read_regular_file
from ..model import PortedModel
from ..safety.port_errors import port_errors, system_errors
from .hugging_face import MOST_ROWS, NO_TOKEN, read_object, vocabulary_of, write_object

VOCABULARIES = {"source": "vocab.json", "target": "target_vocab.json"}
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
TARGET = "target"  # the folder of its tokenizer, where there are two


def both_vocabularies(folder: Path, config: TransformerConfig) -> tuple[Vocabulary | None, Vocabulary | None, str]:
    """Both or none, and why. Without tokenizers text must come as pieces with spaces between them."""
    roles = {"pad": config.pad_id, "bos": config.start_id, "eos": config.eos_id}
    sizes = {"source": config.source_vocab_size or 0, "target": config.target_vocab_size or 0}
    if not (folder / VOCABULARIES["source"]).is_file():
        alone = read_alone(folder, roles, sizes["target"])
        if alone is not None and {len(alone)} == set(sizes.values()):
            return alone, alone, ""
        if alone is not None:
            rows = " and ".join(map(str, sorted(set(sizes.values()))))
            return None, None, f"{TOKENIZER} was left out: it gives {len(alone)} tokens for {rows} rows of the embedding."
        return None, None, f"There is no {VOCABULARIES['source']}: the vocabularies were left out."
    shared = not (folder / VOCABULARIES["target"]).is_file()
    both = []
    for side, size in sizes.items():
        name = VOCABULARIES["source" if shared else side]
        ids = read_object(folder / name)
        special = {"unk": ids.get("<unk>", config.pad_id), **roles}
        vocabulary, problem = vocabulary_of(ids, size, name, partial(read_vocabulary, folder, side, shared, special=special))
        if vocabulary is None:
            return None, None, problem
        both.append(vocabulary)
    return both[0], both[1], ""


def read_vocabulary(folder: Path, side: str, shared: bool, entries: list[str], special: Mapping[str, int]) -> Vocabulary:
    """A vocabulary that takes raw text where the folder holds what makes tokens of it, else one of words.

    ``shared``: vocab.json speaks of both sides. Raises DataError for tokens that cannot be, PortError for a tokenizer.
    """
    files = {
        "sentencepiece": folder / f"{side}.spm",
        "tokenizers": folder / TOKENIZER if shared or side == "source" else folder / TARGET / TOKENIZER,
    }
    for kind, file in files.items():
        if file.is_file():
            with port_errors(DataError), system_errors(f"{file} cannot be read"):
                content = bytes(read_regular_file(file, LARGEST["vocabulary"]))
                content = _with_rows(content, len(entries)) if kind == "tokenizers" else content
                return SubwordVocabulary(kind, content, entries, special)
    return Vocabulary(entries, "words", special)


def read_alone(folder: Path, special: Mapping[str, int], rows: int) -> SubwordVocabulary | None:
    """Read what transformers saves of one tokenizer for both sides: tokenizer.json, and no vocab.json. Raises PortError."""
    file = folder / TOKENIZER
    if not file.is_file():
        return None
    with port_errors(DataError), system_errors(f"{file} cannot be read"):
        vocabulary = SubwordVocabulary("tokenizers", _with_rows(bytes(read_regular_file(file, LARGEST["vocabulary"])), rows))
        return SubwordVocabulary("tokenizers", vocabulary.content, None, {**vocabulary.special, **special})


def _with_rows(content: bytes, rows: int) -> bytes:
    tokens = SubwordVocabulary("tokenizers", content)
    return with_rows(tokens.content, len(tokens), rows)


def with_rows(content: bytes, count: int, rows: int) -> bytes:
    """A tokenizer.json of ``count`` tokens with names for the rows past its last, as special tokens, which no text gives."""
    if not count < rows <= MOST_ROWS * count:
        return content
    fields = json.loads(content)
    flags = {**dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False), "special": True}
    more = [{"id": number, "content": NO_TOKEN.format(number), **flags} for number in range(count, rows)]
    return json.dumps({**fields, "added_tokens": [*(fields.get("added_tokens") or []), *more]}).encode()


def tokenizers_of(model: PortedModel) -> tuple[SubwordVocabulary, SubwordVocabulary] | None:
    """Return the tokenizers of the two sides, where both have one of the same kind."""
    source, target = model.source_vocabulary, model.target_vocabulary
    if not isinstance(source, SubwordVocabulary) or not isinstance(target, SubwordVocabulary) or source.kind != target.kind:
        return None
    return source, target


def without_tokenizers(model: PortedModel) -> str:
    """Describe a folder that has tokens by id and nothing that makes them of text; or ""."""
    source, target = model.source_vocabulary, model.target_vocabulary
    if source is None or target is None or tokenizers_of(model):
        return ""
    return (
        "There is no tokenizer in it that transformers could load (AutoTokenizer fails): the model takes the ids of "
        f"{VOCABULARIES['source']}, those of a source with that of {source.entries[source.eos_id]} at their end"
        + (f", and gives those of {VOCABULARIES['target']}." if source.entries != target.entries else ", and gives them.")
    )


def write_vocabularies(folder: Path, model: PortedModel) -> None:
    """Tokens by id, and the tokenizers where both sides have one of the same kind."""
    source, target = model.source_vocabulary, model.target_vocabulary
    shared = source is None or target is None or source.entries == target.entries
    for name, vocabulary in ((VOCABULARIES["source"], source), (VOCABULARIES["target"], None if shared else target)):
        if vocabulary is not None:
            write_object(folder / name, {token: number for number, token in enumerate(vocabulary.entries)})
    if (tokenizers := tokenizers_of(model)) is None:
        return
    source, target = tokenizers
    if source.kind == "sentencepiece":
        (folder / "source.spm").write_bytes(source.content)
        (folder / "target.spm").write_bytes(target.content)
        write_tokenizer_config(folder, source, model, {"tokenizer_class": "MarianTokenizer", "separate_vocabs": not shared})
        return
    for place, vocabulary in ((folder, source), (folder / TARGET, target))[: 1 if shared else 2]:
        place.mkdir(exist_ok=True)
        (place / TOKENIZER).write_bytes(framing(vocabulary))
        write_tokenizer_config(place, vocabulary, model, {"tokenizer_class": "PreTrainedTokenizerFast"})


def framing(vocabulary: SubwordVocabulary) -> bytes:
    """The tokenizer.json with the vocabulary's frame around each text, the end token after it for most."""
    tokenizers = library("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_buffer(vocabulary.content)
    before, after = vocabulary.tokens(vocabulary.opening), vocabulary.tokens(vocabulary.closing)
    pieces = {"single": [*before, "$A", *after], "pair": [*before, "$A", "$B", *after]}
    special = list(zip([*before, *after], [*vocabulary.opening, *vocabulary.closing], strict=True))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(**pieces, special_tokens=list(dict.fromkeys(special)))
    return tokenizer.to_str(pretty=True).encode()


def write_tokenizer_config(folder: Path, vocabulary: SubwordVocabulary, model: PortedModel, fields: dict[str, Any]) -> None:
    """Write tokenizer_config.json: these fields, the names of the roles and the longest text."""
    named = {f"{role}_token": vocabulary.entries[vocabulary.special[role]] for role in vocabulary.special}
    # It alone has all special tokens split, or none.
    whole = bool(vocabulary.spelled) or any(SENTINEL.fullmatch(entry) for entry in vocabulary.entries)
    more = {"model_max_length": model.config.max_len, "split_special_tokens": not whole}
    write_object(folder / TOKENIZER_CONFIG, {**fields, **named, **more, "clean_up_tokenization_spaces": vocabulary.tidy})
