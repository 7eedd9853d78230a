"""The slow tokenizers of transformers 4.57, which 5 has no more: their ids on 500 lines of five scripts, of files of old."""

import json
import subprocess
from functools import partial

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
        assert [words.decode(row) for row in slow["slow"]] == slow["slow texts"]


def saved(place, config, settings, which, texts):
    """Ids and texts of what a class of release 4 saved, beside those of that class."""
    ids = json.loads((place / "ids.json").read_text())
    words = read_words(place / which, config(ids["count"]), settings)
    assert words.problem == ""
    one = words.source or words.target
    return [one.framed(one.encode(line)) for line in texts], ids[which], [one.decode(row) for row in ids[which]], ids


@pytest.mark.parametrize("which", ["slow", "fast"])
@pytest.mark.parametrize("name", [name for name in KINDS if name != "m2m100"])
def test_what_release_4_saved_is_read_as_it_read_it(name, which, folder):
    """With its added_tokens.json, special_tokens_map.json and added_tokens_decoder, or its tokenizer.json."""
    config, settings = partial(config_of, kind=name), LANGUAGES.get(name, {})
    got, expected, texts, ids = saved(folder / f"{name}-old", config, settings, which, TEXTS)
    wrong = sum(ours != theirs for ours, theirs in zip(got, expected, strict=True))
    assert wrong == (AS_FAST.get(name, 0) if which == "slow" else 0) and texts == ids[f"{which} texts"]


@pytest.mark.parametrize(("name", "which"), [(n, w) for n in NAMED for w in ("slow", "fast") if (n, w) != ("byt5-old", "fast")])
def test_what_release_4_saved_of_t5_and_llama_is_read_as_it_read_it(name, which, newer):
    of_new = test_t5_and_llama_tokenizers
    config, settings = partial(of_new.config_of, name), of_new.settings_of(name)
    got, expected, texts, ids = saved(newer / name, config, settings, which, of_new.TEXTS)
    assert got == expected
    if name not in AS_IN_5:
        assert texts == ids[f"{which} texts"]
