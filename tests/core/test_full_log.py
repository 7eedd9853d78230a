"""A log that cannot be written to any more ends with a warning; the training goes on, and is saved."""

import json

import pytest

import transformer_mb as tmb
from transformer_mb.data import demo_pairs
from transformer_mb.training import Progress

TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 2, "backend": "numpy"}


class Fills(Progress):
    """Takes all that is left of a disk once the first epoch is over."""

    def __init__(self, disk):
        self.disk, self.sentences = disk, []

    def epoch(self, record):
        with (self.disk / "rest").open("wb", buffering=0) as rest:
            try:
                while rest.write(bytes(4096)):
                    pass
            except OSError:
                pass

    def warned(self, sentence):
        self.sentences.append(sentence)


@pytest.mark.parametrize("kind", ["log", "tensorboard"])
def test_a_disk_that_is_full_ends_the_log_and_not_the_training(small_disk, tmp_path, kind):
    place, progress = small_disk / "log", Fills(small_disk)
    epochs = 60  # whose log is longer than what is left of its last page
    trained = tmb.train(demo_pairs()[0][:24], tmp_path / "model", epochs=epochs, progress=progress, **TINY, **{kind: place})
    assert trained.state.epoch == epochs and tmb.load(tmp_path / "model", "numpy")
    (sentence,) = progress.sentences
    assert str(place) in sentence and "No space left on device. The training goes on without it." in sentence
    if kind == "log":
        whole = [json.loads(line) for line in place.read_text().splitlines(keepends=True) if line.endswith("\n")]
        assert 12 <= len(whole) < 12 * epochs


@pytest.mark.parametrize("kind", ["log", "tensorboard"])
def test_a_disk_that_is_full_from_the_start_ends_it_likewise(small_disk, tmp_path, kind):
    progress = Fills(small_disk)
    progress.epoch(None)
    trained = tmb.train(
        demo_pairs()[0][:8], tmp_path / "model", epochs=1, progress=progress, **TINY, **{kind: small_disk / "log"}
    )
    assert trained.state.epoch == 1 and tmb.load(tmp_path / "model", "numpy")
    (sentence,) = progress.sentences
    assert str(small_disk / "log") in sentence and "The training goes on without it." in sentence


def test_in_python_it_is_a_warning():
    with pytest.warns(UserWarning, match="cannot be written"):
        Progress().warned("run.jsonl cannot be written to any more")
