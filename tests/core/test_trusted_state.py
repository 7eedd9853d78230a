"""What a resume continues from is what was saved: a digest of all files, and numbers that the training can have come to."""

import json
import random
import shutil

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import demo_pairs
from transformer_mb.errors import CheckpointError, TransformerMBError

PAIRS, UNSEEN = demo_pairs()[0][:24], demo_pairs()[0][20:30]  # three steps an epoch
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}


def train(folder, **options):
    return tmb.train(PAIRS, folder, validation=UNSEEN, **{**TINY, "epochs": 3, "keep_best": 2, **options})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "m"
    train(folder)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "m")


def test_no_bit_of_a_training_changes_unseen(folder):
    """Some places in each file; blanks between the words of a text say nothing."""
    draws = random.Random(3)
    whole = read_checkpoint(folder)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in draws.sample(range(len(content)), 12):
            changed = bytearray(content)
            changed[place] ^= 1 << draws.randrange(7)
            path.write_bytes(bytes(changed))
            try:
                resumed = train(folder, epochs=3, resume=True)
            except TransformerMBError:
                continue
            now = read_checkpoint(folder)
            assert now.trainer == whole.trainer and resumed.state.step == 9, (path.name, place)
            for name, value in whole.optimizer.items():
                np.testing.assert_array_equal(value, now.optimizer[name], err_msg=path.name)
        path.write_bytes(content)


def test_moments_of_another_training_are_refused(folder, tmp_path):
    train(tmp_path / "other", seed=1)
    shutil.copy(tmp_path / "other" / "optimizer.safetensors", folder)
    with pytest.raises(CheckpointError, match="must be the one that"):
        train(folder, epochs=4, resume=True)


def edit(folder, keep_digest=False, **changes):
    path = folder / "trainer.json"
    trainer = {**json.loads(path.read_text()), **changes}
    if not keep_digest:
        del trainer["saved_with"]
    path.write_text(json.dumps(trainer))


def test_an_edited_state_is_refused_and_one_without_a_digest_goes_on(folder):
    edit(folder, keep_digest=True, loss_sum=0.5, tokens=1)
    with pytest.raises(CheckpointError, match=r"trainer\.json must hold what was saved, got something else.*saved_with"):
        train(folder, epochs=4, resume=True)
    edit(folder, loss_sum=0.0, tokens=0)
    assert train(folder, epochs=4, resume=True).state.step == 12


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 3}, "a batch from 0 to 2, of the 3 of an epoch, got 3"),
        ({"batch": 10**30}, "below 2\\^53 as batch"),
        ({"batch": 1}, "step 10 after 3 epochs and 1 of 3 batches, got 9"),
        ({"batch": -1}, "at least 0"),
        ({"epoch": 2}, "2 finished epochs in order as history"),
        ({"epoch": 4}, "4 finished epochs"),
        ({"step": 8}, "must be of one step|validations of growing steps up to 8"),
        ({"loss_sum": float("nan")}, "as loss_sum, got nan"),
        ({"seconds": float("inf")}, "as seconds, got inf"),
        ({"lowered": [99]}, "as closing and lowered"),
    ],
)
def test_a_place_that_no_training_comes_to_is_refused(folder, changes, words):
    edit(folder, **changes)
    with pytest.raises(CheckpointError, match=words):
        train(folder, epochs=5, resume=True)
