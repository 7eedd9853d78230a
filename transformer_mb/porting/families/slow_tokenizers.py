"""Files of the slow tokenizers of ``transformers``, before tokenizer.json: made one, or read by SentencePiece.

Numbers of pieces differ from those of a SentencePiece model where fairseq's vocabulary, or Pegasus', begins otherwise. ByT5 has
no file at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ...data.subword_models import sentencepiece_pieces, without_prefix
from ...data.token_bytes import byte_characters
from ...errors import DataError, PortError
from ...files.regular import LARGEST, read_regular_file, read_regular_text
from .added_tokens import AddedTokens
from .hugging_face import read_object
from .language_codes import CODES

MOST_EXTRA = 10_000  # tokens that a field may ask for
REPLACED, LAST = "\ufffd", "\U0010ffff"  # what stands for bytes that are no text; the last character, which text has not


class SlowFiles(NamedTuple):
    """A folder, the class of its tokenizer without ``Tokenizer``, the fields of its configuration, and tokens added later."""

    folder: Path
    kind: str
    fields: dict[str, Any]
    added: AddedTokens

    def text(self, name: str) -> str:
        return read_regular_text(self.folder / name, "vocabulary")

    def number(self, name: str, usual: int) -> int:
        value = self.fields.get(name, usual)
        if type(value) is not int or not 0 <= value <= MOST_EXTRA:
            raise PortError(f"{self.folder}: {name} of the tokenizer must be from 0 to {MOST_EXTRA}, got {value!r:.40}.")
        return value

    def codes(self) -> list[str]:
        """Tokens beside the vocabulary, such as codes of languages, in their order."""
        if self.kind in CODES:
            return CODES[self.kind]
        value = self.fields.get("additional_special_tokens") or self.fields.get("extra_special_tokens") or []
        listed = [one.get("content") if isinstance(one, dict) else one for one in value] if isinstance(value, list) else [None]
        if not all(isinstance(one, str) for one in listed):
            raise PortError(f"{self.folder}: additional_special_tokens must be a list of tokens, got {value!r:.60}.")
        return [str(one) for one in listed]


Slow = tuple[str, bytes, list[str]]  # kind of SubwordVocabulary, content, tokens by id


def slow_tokenizer(files: SlowFiles) -> Slow | None:
    """The tokenizer of a folder by the files that it has, None where there are none that are known. Raises PortError."""
    if files.kind == "ByT5":
        return _of_byt5(files)
    for names, made in READERS.items():
        if all((files.folder / name).is_file() for name in names):
            kind, content, entries = made(files)
            return kind, content, files.added.after(entries)
    return None


def _of_bytes(files: SlowFiles) -> Slow:
    """vocab.json and merges.txt: pairs of characters that stand for bytes (GPT-2)."""
    merges = [line.split(" ") for line in files.text("merges.txt").split("\n") if line and not line.startswith("#version")]
    if wrong := next((pair for pair in merges if len(pair) != 2), None):
        raise PortError(f"{files.folder / 'merges.txt'} must hold two pieces per line, got {' '.join(wrong)!r:.60}.")
    level = {"type": "ByteLevel", "add_prefix_space": files.fields.get("add_prefix_space") is True, "trim_offsets": True}
    vocabulary = read_object(files.folder / "vocab.json")
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges}
    return _tokenizer_json(files, model, {"pre_tokenizer": {**level, "use_regex": True}, "decoder": level})


def _of_words(files: SlowFiles) -> Slow:
    """vocab.txt: WordPiece (BERT)."""
    tokens = files.text("vocab.txt").removesuffix("\n").split("\n")
    fields = files.fields
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": fields.get("tokenize_chinese_chars") is not False,
        "strip_accents": fields.get("strip_accents"),
        "lowercase": fields.get("do_lower_case") is not False,
    }
    vocabulary = {token.removesuffix("\r"): number for number, token in enumerate(tokens)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocabulary}
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    more = {"normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": decoder}
    return _tokenizer_json(files, {**model, "max_input_chars_per_word": 100}, more)


def _tokenizer_json(files: SlowFiles, model: dict[str, Any], more: dict[str, Any]) -> Slow:
    numbers = model["vocab"]
    if not all(type(number) is int for number in numbers.values()) or sorted(numbers.values()) != list(range(len(numbers))):
        raise PortError(f"The vocabulary of {files.folder} must number its tokens 0, 1, 2, ..., but it does not.")
    parts = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    own = sorted(numbers, key=numbers.__getitem__)
    entries = files.added.after(own)
    rows = files.added.rows(entries[len(own) :], len(own))
    content = {"version": "1.0", **parts, "added_tokens": rows, "model": model, **more}
    return "tokenizers", json.dumps(content).encode(), entries


def _of_byt5(files: SlowFiles) -> Slow:
    """Bytes, whose numbers begin at 3, and sentinels: pairs of characters of which none are joined.

    The library leaves out bytes that are together no UTF-8. Of text, U+FFFD is kept: U+10FFFF, which no text has, stands for
    it while those bytes are dropped.
    """
    characters = byte_characters()
    sentinels = files.codes() or [f"<extra_id_{number}>" for number in range(files.number("extra_ids", 125))]
    vocabulary = {name: number for number, name in enumerate(["<pad>", "</s>", "<unk>", *characters])}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    spelled = {char: "".join(characters[byte] for byte in char.encode()) for char in (REPLACED, LAST)}
    steps = ((spelled[REPLACED], spelled[LAST]), (REPLACED, ""), (LAST, REPLACED))
    first, *then = ({"type": "Replace", "pattern": {"String": before}, "content": after} for before, after in steps)
    decoder = {"type": "Sequence", "decoders": [{"type": "Fuse"}, first, level, *then]}
    model = {"type": "BPE", "vocab": vocabulary, "merges": []}
    beyond = files._replace(added=files.added.following(sentinels, len(vocabulary)))
    return _tokenizer_json(beyond, model, {"pre_tokenizer": level, "decoder": decoder})


def _of_t5(files: SlowFiles) -> Slow:
    content, pieces = _pieces(files, "spiece.model")
    if files.kind == "Pegasus":
        unused = [f"<unk_{number}>" for number in range(2, files.number("offset", 103))]
        return "sentencepiece", content, ["<pad>", "</s>", "<mask_1>", "<mask_2>", *unused, *pieces[2:]]
    extra = range(files.number("extra_ids", 100) - 1, -1, -1)
    return "sentencepiece", content, [*pieces, *(f"<extra_id_{number}>" for number in extra)]


def _of_llama(files: SlowFiles) -> Slow:
    content, pieces = _pieces(files, "tokenizer.model")
    if files.fields.get("add_prefix_space") is False:
        content = without_prefix(content)
    return "sentencepiece", content, pieces


def _of_fairseq(files: SlowFiles) -> Slow:
    """XLM-R, mBART, NLLB: fairseq's four special tokens first, codes of languages and <mask> last."""
    content, pieces = _pieces(files, "sentencepiece.bpe.model")
    return "sentencepiece", content, ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:], *files.codes(), "<mask>"]


def _of_m2m100(files: SlowFiles) -> Slow:
    content, _ = _pieces(files, "sentencepiece.bpe.model")
    numbers = read_object(files.folder / "vocab.json")
    if not all(type(number) is int for number in numbers.values()) or sorted(numbers.values()) != list(range(len(numbers))):
        raise PortError(f"{files.folder / 'vocab.json'} must number its tokens 0, 1, 2, ..., but it does not.")
    return "sentencepiece", content, [*sorted(numbers, key=numbers.__getitem__), *files.codes()]


def _pieces(files: SlowFiles, name: str) -> tuple[bytes, list[str]]:
    content = bytes(read_regular_file(files.folder / name, LARGEST["vocabulary"]))
    try:
        return content, sentencepiece_pieces(content)[1]
    except DataError as error:
        raise PortError(f"{files.folder / name}: {error}") from None


READERS: dict[tuple[str, ...], Callable[[SlowFiles], Slow]] = {
    ("vocab.json", "merges.txt"): _of_bytes,
    ("vocab.json", "sentencepiece.bpe.model"): _of_m2m100,
    ("sentencepiece.bpe.model",): _of_fairseq,
    ("spiece.model",): _of_t5,
    ("tokenizer.model",): _of_llama,
    ("vocab.txt",): _of_words,
}
