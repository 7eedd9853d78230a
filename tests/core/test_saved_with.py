"""A checkpoint is one whole: parts of two are not mixed without a word."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import transformer_mb as tmb
from transformer_mb.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from transformer_mb.checkpoint.files import LAST, MODEL, OPTIMIZER, TRAINER
from transformer_mb.errors import CheckpointError


def configure(folder, **changes) -> None:
    described = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**described, "config": {**described["config"], **changes}}))


def swap_words(folder, side: str = "target") -> None:
    path = folder / f"{side}_vocabulary.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    described["tokens"][-2:] = reversed(described["tokens"][-2:])
    path.write_text(json.dumps(described), encoding="utf-8")


def forget_the_training(folder) -> None:
    """What trainer.json says of the other files."""
    path = folder / TRAINER
    described = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in described.items() if name != "saved_with"}))


def with_last(folder):
    """The checkpoint as it is after a training that keeps the best model, with other weights at its end."""
    found = read_checkpoint(folder)
    last = {name: array + 1 for name, array in found.weights.items()}
    write_checkpoint(folder, Checkpoint(**{**vars(found), "last": last}))
    return folder


def other_weights(folder, name: str = MODEL) -> None:
    """Those of another run of the same configuration and vocabularies: what it says of them is right."""
    found = read_checkpoint(folder, optimizer=False)
    weights = {key: array * 0.5 for key, array in found.weights.items()}
    write_checkpoint(folder.parent / "other", Checkpoint(**{**vars(found), "weights": weights}))
    shutil.copy(folder.parent / "other" / MODEL, folder / name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoder_num_heads": 2}, "encoder_num_heads must be 4, got 2."),
        ({"norm_eps": 0.5, "activation": "gelu"}, "norm_eps must be 1e-05, got 0.5; activation must be 'relu', got 'gelu'."),
        (
            {"pad_id": 0, "bos_id": 1, "eos_id": 4, "embedding_scale": False},
            "embedding_scale must be True, got False; pad_id must be 1, got 0; bos_id must be 2, got 1; and 1 more.",
        ),
    ],
)
def test_a_configuration_that_was_edited_is_refused(checkpoint, fails, changes, words):
    configure(checkpoint, **changes)
    for command in (
        ["translate", checkpoint],
        ["train", "--resume", "--out", checkpoint, "--epochs", 61],
        ["inspect", checkpoint],
    ):
        message = fails(*command)
        assert f"config.json must say what model.safetensors was saved with: {words} Restore" in message


def test_a_vocabulary_whose_words_were_swapped_is_refused(checkpoint, fails):
    swap_words(checkpoint)
    assert "target_vocabulary.json must be the one that model.safetensors was saved with, got another." in fails(
        "translate", checkpoint
    )


def test_weights_of_another_run_do_not_continue_this_one(checkpoint, cli, fails, tmp_path):
    other_weights(checkpoint)
    assert (
        cli("translate", checkpoint, stdin="go .\n").status == 0
    )  # the weights of that run are a whole model with these words
    for command in (
        ["train", "--resume", "--out", checkpoint, "--epochs", 61],
        ["port", checkpoint, tmp_path / "x", "--to", "npz"],
    ):
        message = fails(*command)
        assert "model.safetensors must be the one that optimizer.safetensors was saved with, got other weights." in message
    for name in (OPTIMIZER, TRAINER):  # as the message says
        (checkpoint / name).unlink()
    assert cli("port", checkpoint, tmp_path / "x", "--to", "npz").status == 0


def test_the_last_weights_too_are_tied_to_what_they_were_saved_with(checkpoint):
    swap_words(with_last(checkpoint))
    for name in (MODEL, LAST):
        with pytest.raises(CheckpointError, match=f"must be the one that {name} was saved with, got another"):
            read_checkpoint(checkpoint)
        save_file(load_file(checkpoint / name), checkpoint / name)  # says nothing any more
    with pytest.raises(CheckpointError, match=f"must be the one that {TRAINER} was saved with, got another"):
        read_checkpoint(checkpoint)
    forget_the_training(checkpoint)
    read_checkpoint(checkpoint)


def test_the_optimizer_goes_on_from_its_own_last_weights(checkpoint):
    other_weights(checkpoint, LAST)
    with pytest.raises(CheckpointError, match="last.safetensors must be the one .*, got one where none was"):
        read_checkpoint(checkpoint)
    (checkpoint / LAST).unlink()
    other_weights(with_last(checkpoint), LAST)
    with pytest.raises(CheckpointError, match="last.safetensors must be the one .*, got other weights"):
        read_checkpoint(checkpoint)
    (checkpoint / LAST).unlink()
    with pytest.raises(CheckpointError, match="last.safetensors is missing: optimizer.safetensors was saved with it"):
        read_checkpoint(checkpoint)


def test_what_is_edited_in_good_faith_is_taken(checkpoint, cli):
    """How it decodes, what training drops, how long a sentence may be; and a file laid out anew."""
    configure(checkpoint, suppress_ids=[], decoder_start_id=2, compat_decode="d2l", dropout=0.5, max_len=50)
    for side in ("source", "target"):
        path = checkpoint / f"{side}_vocabulary.json"
        described = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(dict(reversed(described.items())), indent=4), encoding="utf-8")
    assert read_checkpoint(checkpoint).config.max_len == 50
    assert cli("translate", checkpoint, stdin="go .\n").status == 0


def test_files_without_record_of_what_they_were_saved_with_are_taken(checkpoint):
    """Those of an older checkpoint, and what other tools wrote."""
    for name in (MODEL, OPTIMIZER):
        save_file(load_file(checkpoint / name), checkpoint / name)
    forget_the_training(checkpoint)
    configure(checkpoint, norm_eps=0.5)
    swap_words(checkpoint)
    assert read_checkpoint(checkpoint).config.norm_eps == 0.5


def test_fields_that_another_version_knows_alone_are_no_contradiction(checkpoint):
    path = checkpoint / MODEL
    saved_with = json.loads(metadata_of(path)["transformer_mb.saved_with"])
    saved_with["config.json"]["color"] = "red"
    del saved_with["config.json"]["norm_kind"]
    save_file(load_file(path), path, {"transformer_mb.saved_with": json.dumps(saved_with)})
    configure(checkpoint, norm_kind="std_norm")
    assert read_checkpoint(checkpoint).config.norm_kind == "std_norm"


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"config.json": 5}', "{"])
def test_damaged_metadata_is_refused(checkpoint, text):
    save_file(load_file(checkpoint / MODEL), checkpoint / MODEL, {"transformer_mb.saved_with": text})
    with pytest.raises(CheckpointError, match="model.safetensors is damaged: its metadata .* must be a JSON object"):
        read_checkpoint(checkpoint)


def test_a_change_that_is_meant_makes_a_new_checkpoint(checkpoint, cli, tmp_path):
    """By the command that the message names."""
    configure(checkpoint, encoder_num_heads=2)
    vocabularies = {f"{side}_vocabulary": str(checkpoint / f"{side}_vocabulary.json") for side in ("source", "target")}
    fields = json.loads((checkpoint / "config.json").read_text())["config"]
    (tmp_path / "meant.json").write_text(json.dumps({**fields, **vocabularies}))
    new = tmp_path / "new"
    assert cli("port", checkpoint / MODEL, new, "--to", "canonical", "--config", tmp_path / "meant.json").status == 0
    assert read_checkpoint(new).config.encoder_num_heads == 2
    assert cli("translate", new, stdin="go .\n").status == 0
    swap_words(new)
    with pytest.raises(CheckpointError, match="was saved with, got another"):  # a port ties as a save does
        tmb.load(new)


def test_equal_checkpoints_are_equal_bytes(checkpoint, tmp_path):
    """Whatever the memory layout of what is saved: the digest is of the numbers."""
    found = read_checkpoint(with_last(checkpoint))
    views = {name: np.asfortranarray(array) for name, array in found.weights.items()}
    write_checkpoint(tmp_path / "again", Checkpoint(**{**vars(found), "weights": views}))
    for name in (MODEL, OPTIMIZER, LAST):
        assert (tmp_path / "again" / name).read_bytes() == (checkpoint / name).read_bytes()


def metadata_of(path) -> dict[str, str]:
    with safe_open(path, "numpy") as file:
        return file.metadata()
