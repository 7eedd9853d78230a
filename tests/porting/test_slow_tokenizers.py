"""The slow tokenizers of transformers 4.57, which 5 has no more: their ids on 500 lines of five scripts, of files of old."""

import json
import subprocess

import pytest

from porting.five_scripts import lines
from porting.test_stranded_containers import PYTHON, ROOT
from porting.test_tokenizers import LANGUAGES, config_of
from porting.transformers_tokenizers import KINDS, as_of_old
from transformer_mb.porting.families.tokenizer_files import read_words

pytestmark = pytest.mark.long
TEXTS = lines()
# Lines on which ours is as the fast one of that release: it leaves accents of cased texts apart, and puts a blank before a tab.
AS_FAST = {"distilbert-cased": 1, "blenderbot": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder per kind, with the ids that the slow tokenizer gave."""
    if not PYTHON.exists():
        pytest.skip("make stranded makes the environment of transformers 4.57, which is not there")
    place = tmp_path_factory.mktemp("slow")
    as_of_old(place, TEXTS)
    (place / "lines.json").write_text(json.dumps(TEXTS))
    command = [PYTHON, ROOT / "tests" / "porting" / "stranded" / "slow_ids.py", place, place / "lines.json"]
    done = subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.stdout.strip().startswith("4.57.")
    return place


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
