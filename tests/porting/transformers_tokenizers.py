"""Tokenizers of ``transformers``, trained small, saved as it does today and as folders of old are; and their ids."""

import io
import json
from pathlib import Path

import numpy as np

BYTES = {"vocab_size": 400, "special": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]}
PIECES = {"vocab_size": 600, "character_coverage": 1.0, "hard_vocab_limit": False, "minloglevel": 2, "num_threads": 1}
# By name: the class, the files that it is made of, its options, and those of the call.
KINDS = {
    "bart": ("BartTokenizer", "bytes", {}),
    "roberta": ("RobertaTokenizer", "bytes", {}),
    "blenderbot": ("BlenderbotTokenizer", "bytes", {"add_prefix_space": True}),
    "gpt2": ("GPT2Tokenizer", "gpt2", {}),
    "opt": (
        "GPT2Tokenizer",
        "bytes",
        {"add_bos_token": True, "bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"},
    ),
    "t5": ("T5Tokenizer", "t5", {"extra_ids": 5}),
    "pegasus": ("PegasusTokenizer", "t5", {}),
    "xlm-roberta": ("XLMRobertaTokenizer", "fairseq", {}),
    "mbart": ("MBartTokenizer", "fairseq", {"src_lang": "fr_XX", "tgt_lang": "en_XX"}),
    "mbart-50": ("MBart50Tokenizer", "fairseq", {"src_lang": "fr_XX", "tgt_lang": "en_XX"}),
    "m2m100": ("M2M100Tokenizer", "m2m100", {"src_lang": "fr", "tgt_lang": "en"}),
    "bert": ("BertTokenizer", "words", {}),
    "distilbert-cased": ("DistilBertTokenizer", "words", {"do_lower_case": False}),
}


def trained(folder, lines):
    """The files of each kind of tokenizer, in a folder of that name."""
    import sentencepiece
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

    for name, special in (("bytes", BYTES["special"]), ("gpt2", ["<|endoftext|>"])):
        made = ByteLevelBPETokenizer()
        made.train_from_iterator(lines, BYTES["vocab_size"], 2, show_progress=False, special_tokens=special)
        (folder / name).mkdir(parents=True)
        made.save_model(str(folder / name))
    made = BertWordPieceTokenizer(lowercase=False)
    made.train_from_iterator(lines, 700, 2, show_progress=False)
    (folder / "words").mkdir()
    made.save_model(str(folder / "words"))
    ids = {
        "t5": ("spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}),
        "fairseq": ("sentencepiece.bpe.model", {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}),
    }
    for name, (file, special) in ids.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **PIECES, **special)
        (folder / name).mkdir()
        (folder / name / file).write_bytes(model.getvalue())
    (folder / "m2m100").mkdir()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "fairseq" / "sentencepiece.bpe.model"))
    pieces = [model.id_to_piece(number) for number in range(3, model.get_piece_size())]
    vocabulary = {piece: number for number, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    (folder / "m2m100" / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "m2m100" / "sentencepiece.bpe.model").write_bytes((folder / "fairseq" / "sentencepiece.bpe.model").read_bytes())


def as_of_old(folder, lines):
    """FOLDER/KIND-old: the files of the slow tokenizer, and a configuration that names its class."""
    trained(folder / "files", lines)
    for name, (kind, files, options) in KINDS.items():
        place = folder / f"{name}-old"
        place.mkdir()
        for file in (folder / "files" / files).iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **options}))


def made(folder, lines):
    """Per kind: AutoTokenizer's ids of all lines, of FOLDER/KIND (saved today) and FOLDER/KIND-old (files of the slow one)."""
    import transformers

    folder = Path(folder)
    as_of_old(folder, lines)
    found, facts = {}, {}
    for name in KINDS:
        (folder / name).mkdir()
        for which in (f"{name}-old", name):
            try:
                if which == name:
                    first = transformers.AutoTokenizer.from_pretrained(folder / f"{name}-old", local_files_only=True)
                    first.save_pretrained(folder / name)
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder / which, local_files_only=True)
                rows = tokenizer(lines)["input_ids"]
                found[which] = padded(rows)
                facts[which] = [len(tokenizer), type(tokenizer).__name__, tokenizer.decode(rows[40], skip_special_tokens=True)]
            except Exception as error:  # the test says which tokenizer transformers itself cannot load
                facts[which] = [0, type(error).__name__, str(error)[:300]]
    return found, facts


def ids_of(folder, lines):
    """AutoTokenizer's ids of a folder."""
    import transformers

    return {"ids": padded(transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)(lines)["input_ids"])}, {}


def padded(rows):
    width = max(map(len, rows))
    return np.array([row + [-1] * (width - len(row)) for row in rows])
