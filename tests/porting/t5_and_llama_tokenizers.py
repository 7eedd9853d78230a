"""Tokenizers of T5, ByT5 and Llama, trained small, as they are published and as transformers saves them; its ids and texts."""

import io
import json
from pathlib import Path

from porting.transformers_tokenizers import PIECES, padded

T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
# As Meta trained theirs: pairs that are joined, bytes for what is unknown, a text as it stands.
LLAMA = {
    "model_type": "bpe",
    "byte_fallback": True,
    "character_coverage": 0.99,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
    "split_digits": True,
}
OF_LLAMA = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}
TIDY = {"clean_up_tokenization_spaces": True}  # which release 5 does not do to pieces that are joined pairs
OF_T5 = {"tokenizer_class": "T5Tokenizer", "extra_ids": 7}
PLAIN = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
ADDED = {"700": {"content": "[PAD]", **PLAIN, "special": True}}
# As users add them to mark an answer in its text, and to part two texts.
MARKS = {"607": {"content": "<hl>", **PLAIN, "special": True}, "608": {"content": "<sep>", **PLAIN, "special": False}}
# By name: the files, tokenizer_config.json and config.json.
FOLDERS = {
    "t5-old": ("spiece.model", OF_T5, {"model_type": "t5"}),
    "t5-unnamed-old": ("spiece.model", {"model_max_length": 512}, {"model_type": "t5"}),
    "t5-tidy-old": ("spiece.model", {**OF_T5, **TIDY}, {"model_type": "t5"}),
    "t5-marked-old": ("spiece.model", {**OF_T5, "added_tokens_decoder": MARKS}, {"model_type": "t5"}),
    "mt5-old": ("spiece.model", {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}, {"model_type": "mt5"}),
    "byt5-old": ("", {"tokenizer_class": "ByT5Tokenizer"}, {"model_type": "t5"}),
    "byt5-unnamed-old": ("", {"extra_ids": 9}, {"model_type": "t5", "tokenizer_class": "ByT5Tokenizer"}),
    "llama-old": ("tokenizer.model", OF_LLAMA, {"model_type": "llama"}),
    "llama-unnamed-old": ("tokenizer.model", {"add_bos_token": True, "add_eos_token": True}, {"model_type": "llama"}),
    "llama-bare-old": ("tokenizer.model", {**OF_LLAMA, "add_prefix_space": False}, {"model_type": "llama"}),
    "llama-padded-old": (
        "tokenizer.model",
        {**OF_LLAMA, **TIDY, "pad_token": "[PAD]", "added_tokens_decoder": ADDED},
        {"model_type": "llama"},
    ),
}


def as_of_old(folder, lines):
    """Write FOLDER/NAME for each name."""
    for name, content in {"spiece.model": (600, T5), "tokenizer.model": (700, LLAMA)}.items():
        (folder / name).write_bytes(sentencepiece(lines, *content))
    for name, (file, options, config) in FOLDERS.items():
        place = folder / name
        place.mkdir()
        if file:
            (place / file).write_bytes((folder / file).read_bytes())
        (place / "tokenizer_config.json").write_text(json.dumps(options))
        (place / "config.json").write_text(json.dumps(config))


def made(folder, lines, rows):
    """Return what ``read`` does of the folders of old, of those that AutoTokenizer saves of them, and of published ones."""
    import transformers

    folder = Path(folder)
    as_of_old(folder, lines)
    for name, (*_, config) in FOLDERS.items():
        place = folder / name.removesuffix("-old")
        transformers.AutoTokenizer.from_pretrained(folder / name, local_files_only=True).save_pretrained(place)
        (place / "config.json").write_text(json.dumps(config))
    published(folder)
    return read(sorted(path for path in folder.iterdir() if path.is_dir()), lines, rows)


def read(folders, lines, rows):
    """Return by folder AutoTokenizer's ids of all lines, its texts of these and of rows of ids, and how many tokens it has."""
    import transformers

    ids, texts = {}, {}
    for place in map(Path, folders):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)
        ids[place.name] = padded(tokenizer(lines)["input_ids"])
        drawn = [[number % len(tokenizer) for number in row] for row in rows]
        read = [[number for number in row if number >= 0] for row in ids[place.name].tolist()]
        texts[place.name] = [tokenizer.decode(row, skip_special_tokens=True) for row in (*read, *drawn)]
        texts[f"{place.name} count"] = len(tokenizer)
    return ids, texts


def sentencepiece(lines, size, options):
    import sentencepiece

    model = io.BytesIO()
    settings = {**PIECES, "vocab_size": size, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **settings)
    return model.getvalue()


def published(folder):
    """FOLDER/llama-1: as 4.x wrote it, where the first space is a change of the text; llama-3: of bytes, as Meta's is."""
    own = json.loads((folder / "llama" / "tokenizer.json").read_text())
    prefix = [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]
    changed = {**own, "normalizer": {"type": "Sequence", "normalizers": prefix}, "pre_tokenizer": None}
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    written(folder / "llama-1", json.dumps(changed), {"tokenizer_class": "PreTrainedTokenizerFast", **names})
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    begin, end = special = ["<|begin_of_text|>", "<|end_of_text|>"]
    of_bytes = Tokenizer(models.BPE(ignore_merges=True))
    words = pre_tokenizers.Split(Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+|[^\s\p{L}\p{N}]+"), "isolated")
    of_bytes.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    of_bytes.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    of_bytes.train_from_iterator([json.dumps(own["model"]["vocab"], ensure_ascii=False)], trainer)
    of_bytes.add_special_tokens(special)
    framed = processors.TemplateProcessing(single=f"{begin} $A", special_tokens=[(begin, of_bytes.token_to_id(begin))])
    of_bytes.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), framed])
    options = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": begin, "eos_token": end}
    written(folder / "llama-3", of_bytes.to_str(), {**options, **TIDY})


def written(place, content, options):
    place.mkdir()
    (place / "tokenizer.json").write_text(content)
    (place / "tokenizer_config.json").write_text(json.dumps(options))
    (place / "config.json").write_text(json.dumps({"model_type": "llama"}))
