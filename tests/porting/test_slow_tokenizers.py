"""The slow tokenizers of transformers 4.57, which 5 has no more: their ids on 500 lines of five scripts, of files of old."""

import json
import subprocess

import pytest

from porting import t5_and_llama_tokenizers, test_t5_and_llama_tokenizers
from porting.five_scripts import lines
from porting.test_stranded_containers import PYTHON, ROOT
from porting.test_tokenizers import LANGUAGES, config_of
from porting.transformers_tokenizers import KINDS, as_of_old
from transformer_mb.porting.families.tokenizer_files import read_words

pytestmark = pytest.mark.long
TEXTS = lines()
# Lines on which ours is as the fast one of that release: it leaves accents of cased texts apart, and puts a blank before a tab.
AS_FAST = {"distilbert-cased": 1, "blenderbot": 1}


def asked(place, texts):
    """Have the environment of 4.57 write the ids and texts of each tokenizer below a folder."""
    if not PYTHON.exists():
        pytest.skip("make stranded makes the environment of transformers 4.57, which is not there")
    (place / "lines.json").write_text(json.dumps(texts))
    command = [PYTHON, ROOT / "tests" / "porting" / "stranded" / "slow_ids.py", place, place / "lines.json"]
    done = subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.stdout.strip().startswith("4.57.")
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder per kind, with the ids that the slow tokenizer gave."""
    place = tmp_path_factory.mktemp("slow")
    as_of_old(place, TEXTS)
    return asked(place, TEXTS)


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    """The same of T5, ByT5 and Llama, on lines with sentinels too."""
    place = tmp_path_factory.mktemp("newer")
    t5_and_llama_tokenizers.as_of_old(place, test_t5_and_llama_tokenizers.TEXTS)
    return asked(place, test_t5_and_llama_tokenizers.TEXTS)


@pytest.mark.parametrize("name", KINDS)
def test_the_ids_are_those_of_the_slow_tokenizer(name, folder):
    place = folder / f"{name}-old"
    slow = json.loads((place / "ids.json").read_text())
    rows = slow["count"] + (108 if name == "m2m100" else 0)  # of languages, which it does not count
    words = read_words(place, config_of(rows, name), LANGUAGES.get(name, {}))
    assert words.problem == ""
    got = [words.source.framed(words.source.encode(line)) for line in TEXTS]
    wrong = [number for number, (ours, theirs) in enumerate(zip(got, slow["slow"], strict=True)) if ours != theirs]
    assert len(wrong) == AS_FAST.get(name, 0), [(TEXTS[number], got[number], slow["slow"][number]) for number in wrong[:3]]
    assert all(got[number] == slow["fast"][number] for number in wrong)


# Whose texts are those of 5: release 4 tidies joined pairs, and shows special tokens that only added_tokens_decoder names.
AS_IN_5 = {"llama-padded-old", "t5-marked-old"}
NAMED = [name for name, (_, options, _) in t5_and_llama_tokenizers.FOLDERS.items() if "tokenizer_class" in options]


@pytest.mark.parametrize("name", NAMED)
def test_ids_and_texts_of_t5_and_llama_are_those_of_the_slow_tokenizer(name, newer):
    slow = json.loads((newer / name / "ids.json").read_text())
    config = test_t5_and_llama_tokenizers.config_of(name, slow["count"])
    words = read_words(newer / name, config, test_t5_and_llama_tokenizers.settings_of(name)).target
    texts = test_t5_and_llama_tokenizers.TEXTS
    got = [words.framed(words.encode(line)) for line in texts]
    assert [line for line, ours, theirs in zip(texts, got, slow["slow"], strict=True) if ours != theirs] == []
    if name not in AS_IN_5:
        assert [words.decode(row) for row in slow["slow"]] == slow["texts"]
