"""Folders of ``transformers`` that are damaged or lie: one clear error, whatever any of their files says."""

import json
import random
import time

import pytest

from porting.hugging_face import small_bert, small_marian
from porting.mutations import mutated
from transformer_mb.errors import PortError
from transformer_mb.porting.families import bert, marian

FAMILIES = {"marian": (marian, small_marian), "bert": (bert, small_bert)}
LIES = [None, True, -1, 0, 2**31, 2**63, 10**30, 1e308, float("nan"), "x", "9" * 5000, [], {}, [[]], [[6]], [[10**9]], [["a"]]]


def made(name, folder):
    """The module, its folder, and by name the content of every file of a good folder."""
    module, make = FAMILIES[name]
    module.write(make(), folder)
    return module, folder, {path.name: path.read_bytes() for path in folder.iterdir()}


def lying(data, chance):
    """A JSON object, one of its fields (or one that it may have) being another value."""
    fields = json.loads(data)
    fields[chance.choice([*fields, "bad_words_ids", "position_embedding_type"])] = chance.choice(LIES)
    return json.dumps(fields).encode()


def read_damaged(family, count):
    module, folder, files = family
    refused = 0
    for seed in range(count):
        chance = random.Random(seed)
        name = chance.choice(list(files))
        lie = name.endswith(".json") and chance.random() < 0.5
        (folder / name).write_bytes(lying(files[name], chance) if lie else mutated(files[name], seed))
        started = time.monotonic()
        try:
            module.recognize(folder)
            module.read(folder, {})
        except PortError:
            refused += 1
        assert time.monotonic() - started < 10.0
        (folder / name).write_bytes(files[name])
    assert refused > count / 4


@pytest.mark.parametrize("name", FAMILIES)
def test_damaged_folders(name, tmp_path):
    read_damaged(made(name, tmp_path), 80)


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
def test_thousands_of_damaged_folders(name, tmp_path):
    read_damaged(made(name, tmp_path), 3000)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("bert", "num_hidden_layers"),
        ("bert", "max_position_embeddings"),
        ("marian", "encoder_layers"),
        ("marian", "decoder_layers"),
        ("marian", "max_position_embeddings"),
    ],
)
def test_sizes_that_no_tensor_bears_out(name, field, tmp_path):
    """Names of two thousand million layers would fill the memory before any of them is found missing."""
    module, folder, files = made(name, tmp_path)
    (folder / "config.json").write_text(json.dumps({**json.loads(files["config.json"]), field: 2**31}))
    with pytest.raises(PortError, match="must be at most|must have shape"):
        module.read(folder, {})
