"""The mean of weights: of those that a training kept, and of several folders."""

import numpy as np
import pytest
from safetensors.numpy import load_file

import transformer_mb as tmb
from transformer_mb.data import demo_pairs
from transformer_mb.errors import ConfigError

OPTIONS = {"epochs": 6, "validate_every_steps": 2, "validation_metric": "chrf", "validation_lines": 6, "dropout": 0.1,
           "keep_best": 3}  # fmt: skip
TINY = {"num_hiddens": 16, "ffn_num_hiddens": 16, "num_layers": 1, "num_heads": 2, "batch_size": 8, "learning_rate": 0.02}
TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[0][20:30]  # three steps an epoch


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "trainer.json"}


def mean_by_hand(*paths) -> dict[str, np.ndarray]:
    tensors = [load_file(path) for path in paths]
    return {name: np.float32(sum(np.float64(one[name]) for one in tensors) / len(tensors)) for name in tensors[0]}


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, "backend": "numpy", "validation": UNSEEN, **options})


def test_the_mean_of_what_was_kept(tmp_path, cli, fails):
    trained = train(tmp_path / "model", **OPTIONS)
    steps = sorted(record.step for record in trained.state.ranked[:3])
    paths = [tmp_path / "model" / f"kept-{step}.safetensors" for step in steps]
    outcome = cli("average", tmp_path / "model", "--out", tmp_path / "mean")
    assert outcome.status == 0 and outcome.out.splitlines() == [
        f"the mean of 3: {', '.join(map(str, paths))}",
        f"saved in {tmp_path / 'mean'}",
    ]
    expected = mean_by_hand(*paths)
    found = load_file(tmp_path / "mean" / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array)
    assert sorted(files(tmp_path / "mean")) == [
        "config.json", "model.safetensors", "source_vocabulary.json", "target_vocabulary.json",
    ]  # fmt: skip
    assert isinstance(tmb.Translator.load(tmp_path / "mean", "numpy").translate("he is tired ."), str)
    assert tmb.average(tmp_path / "model", tmp_path / "two", last=2) == [str(path) for path in paths[1:]]
    two = load_file(tmp_path / "two" / "model.safetensors")
    assert all(np.array_equal(two[name], array) for name, array in mean_by_hand(*paths[1:]).items())
    out = ("--out", tmp_path / "three")
    assert "last must be from 1 to 3, the number of weights" in fails("average", tmp_path / "model", "--last", 4, *out)
    assert "it keeps none beside its model: train with keep_best = N" in fails("average", tmp_path / "mean", *out)
    assert "holds a checkpoint already" in fails("average", tmp_path / "model", "--out", tmp_path / "two")
    assert "which is one of those it is taken of" in fails(
        "average", tmp_path / "model", "--out", tmp_path / "model", "--force"
    )


def test_the_mean_of_several_folders(tmp_path, fails):
    folders = [train(tmp_path / f"seed-{seed}", seed=seed, epochs=1).folder for seed in range(3)]
    tmb.average(folders, tmp_path / "mean")
    found = load_file(tmp_path / "mean" / "model.safetensors")
    for name, array in mean_by_hand(*(folder / "model.safetensors" for folder in folders)).items():
        np.testing.assert_array_equal(found[name], array)
    with pytest.raises(ConfigError, match="last must be left out where several folders are named, got 2"):
        tmb.average(folders, tmp_path / "other", last=2)
    train(tmp_path / "wider", epochs=1, ffn_num_hiddens=20)
    message = fails("average", *folders, tmp_path / "wider", "--out", tmp_path / "other")
    assert "the same configuration, but ffn_num_hiddens is 16 in" in message and "and 20 in" in message
    for word in "xy":  # vocabularies of one size
        pairs = [(f"{source} {word}", target) for source, target in TRAINED_ON]
        tmb.train(pairs, tmp_path / word, epochs=1, backend="numpy", **TINY)
    message = fails("average", tmp_path / "x", tmp_path / "y", "--out", tmp_path / "other")
    assert "All checkpoints must have the same source_vocabulary.json, but those of" in message
    assert not (tmp_path / "other").exists()
    with pytest.raises(ConfigError, match="at least one checkpoint folder, got none"):
        tmb.average([], tmp_path / "other")
