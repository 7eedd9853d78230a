"""A save or a training replaces no checkpoint that holds more, unless it is told to."""

import os

import pytest

import transformer_mb as tmb
from transformer_mb.data import Vocabulary
from transformer_mb.errors import CheckpointError
from transformer_mb.training import Progress

SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "encoder_num_layers": 1, "decoder_num_layers": 1}


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_saving_a_model_loses_no_vocabularies_and_no_training(checkpoint):
    model, before = tmb.load(checkpoint, backend="numpy"), files(checkpoint)
    with pytest.raises(CheckpointError, match=r"with vocabularies and the state of its training, which would be lost: nothing"):
        tmb.save(model, checkpoint)
    assert files(checkpoint) == before
    for name in ("optimizer.safetensors", "trainer.json"):
        (checkpoint / name).unlink()
    with pytest.raises(CheckpointError, match=r"holds a checkpoint with vocabularies, which would be lost"):
        tmb.save(model, checkpoint)
    tmb.save(model, checkpoint, force=True)
    assert sorted(files(checkpoint)) == ["config.json", "model.safetensors"]
    tmb.save(model, checkpoint)  # the same kinds again


def test_what_adds_to_a_checkpoint_needs_no_force(tmp_path):
    """A bare model over a bare model, and one with vocabularies over it, need no force."""
    model = tmb.get_backend("numpy").build(tmb.presets.d2l(4, 4, **SMALL))
    vocabulary = Vocabulary.from_tokens([])
    tmb.save(model, tmp_path / "model")
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))


def test_a_training_is_not_replaced_by_another_in_python(checkpoint):
    before = files(checkpoint)
    words = r"holds a checkpoint already: resume=True \(--resume\) continues it, force=True \(--force\) replaces"
    with pytest.raises(CheckpointError, match=words):
        tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", **SMALL)
    assert files(checkpoint) == before
    tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", force=True, **SMALL)
    assert files(checkpoint) != before


@pytest.mark.parametrize("resume", [False, "auto"])
def test_of_two_trainings_that_begin_together_the_later_one_replaces_nothing(tmp_path, resume, monkeypatch):
    """Both have found a folder without a checkpoint, on a file system without locks: the second to save looks again."""
    monkeypatch.setattr("transformer_mb.files.locks._attempt", lambda path, held: ("", False))
    folder, kept = tmp_path / "model", {}
    options = {"epochs": 2, "save_every": 1, "backend": "numpy", **SMALL}

    class Meanwhile(Progress):
        def epoch(self, record):
            if not kept:
                tmb.train([("a", "b")], folder, **options)
                kept.update(files(folder))

    with pytest.raises(CheckpointError, match="another training has written there meanwhile: it stays as it is") as raised:
        tmb.train([("a", "b")], folder, resume=resume, progress=Meanwhile(), **options)
    assert str(folder) in str(raised.value) and files(folder) == kept and os.listdir(tmp_path) == ["model"]
