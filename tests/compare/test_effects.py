"""What a swapped default does to a small model: the table, the trainings and the document."""

import json
from pathlib import Path

import numpy as np
import pytest

from transformer_mb import get_backend
from transformer_mb.built_in import BUILT_IN
from transformer_mb.cli.main import main
from transformer_mb.compare.expectations import expected
from transformer_mb.compare.probes import PROBES
from transformer_mb.compare.training.arms import corpus, kept, moved_logits, order, trained
from transformer_mb.compare.training.effects import effects, page, read_study, record
from transformer_mb.compare.training.report_page import effects_section_of
from transformer_mb.compare.training.statistics import moved
from transformer_mb.compare.training.swaps import CONTROL, DEFAULT, SWAPS, Arm
from transformer_mb.errors import ConfigError
from transformer_mb.reports.page import page_text

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "effects.json"
MOMENTUM = "momentum under a schedule"
BY_NAME = {swap.name: swap for swap in SWAPS}


def answer(framework, probe):
    return expected()[probe][framework]["value"]


@pytest.mark.parametrize("effect", SWAPS, ids=lambda effect: effect.name)
def test_a_swapped_default_is_one_that_frameworks_answer_differently(effect):
    assert effect.base.key != effect.swapped.key and effect.one != effect.other
    for probe in effect.probes:
        assert probe in PROBES
        assert len({answer(framework, probe) for framework in BUILT_IN} - {None}) > 1
    assert effect.probes or effect.name == CONTROL


def test_there_are_more_than_eight_of_them_and_names_are_unique():
    assert len(BY_NAME) == len(SWAPS) and len({probe for effect in SWAPS for probe in effect.probes}) >= 8


# The numbers that are swapped are those that were measured: the effect, which arm, its switch, the framework and the probe.
MEASURED = [
    ("layer norm epsilon, 1e-3", "swapped", "norm_eps", "tensorflow", "layer norm epsilon"),
    ("layer norm epsilon, 1e-6", "swapped", "norm_eps", "jax", "layer norm epsilon"),
    ("RMS norm epsilon", "base", "norm_eps", "torch", "rms norm epsilon"),
    ("RMS norm epsilon", "swapped", "norm_eps", "jax", "rms norm epsilon"),
    ("Adam epsilon", "swapped", "eps", "tensorflow", "Adam epsilon"),
    ("Adam epsilon and its place", "swapped", "eps", "tensorflow", "Adam epsilon"),
    ("AdamW weight decay, 0.004", "base", "weight_decay", "torch", "AdamW weight decay"),
    ("AdamW weight decay, 0.004", "swapped", "weight_decay", "tensorflow", "AdamW weight decay"),
    ("AdamW weight decay, 1e-4", "swapped", "weight_decay", "jax", "AdamW weight decay"),
    ("SGD learning rate", "base", "learning_rate", "torch", "SGD learning rate"),
    ("SGD learning rate", "swapped", "learning_rate", "tensorflow", "SGD learning rate"),
    ("clipping epsilon", "swapped", "clip_eps", "torch", "clipping epsilon"),
]


@pytest.mark.parametrize(("name", "side", "switch", "framework", "probe"), MEASURED)
def test_a_switch_has_the_measured_value(name, side, switch, framework, probe):
    arm = getattr(BY_NAME[name], side)
    assert {**arm.model, **arm.update}[switch] == pytest.approx(answer(framework, probe), rel=1e-5)


def test_the_layer_norms_epsilon_moves_small_activations_by_the_formula():
    """Of variance v: sqrt((v + 1e-5) / (v + 1e-3)), which is 4.6 % for v = 0.01."""
    backend = get_backend("numpy", dtype="float64")
    activations = np.tile([0.1, -0.1], (1, 32))  # variance 0.01
    narrow, wide = (backend.apply(backend.LayerNorm(64, eps=eps), activations) for eps in (1e-5, 1e-3))
    np.testing.assert_allclose(wide / narrow, np.sqrt((0.01 + 1e-5) / (0.01 + 1e-3)), rtol=1e-12)
    assert 1 - (wide / narrow).max() == pytest.approx(0.046, abs=5e-4)


def test_a_mask_is_shared_by_rows_and_heads_alone():
    batch = next(order(0, 1))
    own, shared = (kept(corpus().config, 3, 0, batch, shared) for shared in (False, True))
    assert own.keys() == shared.keys()
    for path, mask in shared.items():
        if mask.ndim == 4:
            assert (mask == mask[:1, :1]).all() and not (own[path] == own[path][:1, :1]).all()
        else:
            assert (mask == own[path]).all()


def test_two_trainings_of_one_seed_differ_by_the_arm_alone():
    backend = get_backend("numpy", dtype="float32")
    losses = [trained(backend, arm, 0, 2).loss for arm in (DEFAULT, Arm(), Arm(update={"learning_rate": 0.01}))]
    assert losses[0] == losses[1] != losses[2]
    assert trained(backend, DEFAULT, 1, 2).loss != losses[0]


def test_logits_move_by_what_the_forward_pass_has_otherwise():
    backend, weights = get_backend("numpy", dtype="float64"), trained(get_backend("numpy"), DEFAULT, 0, 1).weights
    assert moved_logits(backend, weights, DEFAULT, DEFAULT) == 0.0
    small, large = (moved_logits(backend, weights, DEFAULT, Arm(model={"norm_eps": eps})) for eps in (1e-6, 1e-3))
    assert 0.0 < small < 1e-4 < large < 1e-2  # activations here have a variance of about 1, 0.1 of it at the least


@pytest.fixture(scope="module")
def study():
    return effects([0, 1, 2, 3], "SGD learning rate|gradient of a padding row", steps=4)


def test_what_bites_is_told_and_comes_first(study):
    """Ten times the learning rate does; a padding row that nothing reads does nothing, to the last bit."""
    first, *others = study.found
    assert first.swap.name == "SGD learning rate" and study.bites(first) and first.loss.mean < 0.0 and first.logits is None
    by_name = {one.swap.name: one for one in others}
    row = by_name["gradient of a padding row"]
    assert row.base == row.swapped and row.loss.mean == row.logits == 0.0 and not study.bites(row)
    assert abs(by_name[CONTROL].loss.mean) < 1e-2


def test_a_study_is_read_as_it_was_written(study, tmp_path):
    (tmp_path / "study.json").write_text(json.dumps(record(study)))
    assert read_study(tmp_path / "study.json") == study
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ConfigError, match="must be what `compare effects --json` writes"):
        read_study(tmp_path / "other.json")


def test_seeds_are_refused_that_have_no_deviation():
    for seeds in (1, [3], [3, 3]):
        with pytest.raises(ConfigError, match="seeds must be at least 2 different ones, got"):
            effects(seeds)


def test_the_document_is_the_committed_run():
    study = read_study(RESULTS)
    assert (ROOT / "docs" / "EFFECTS.md").read_text() == page(study)
    assert len(study.seeds) >= 8 and study.steps == 100
    assert sorted(one.swap.name for one in study.found) == sorted(BY_NAME)
    sizes = [abs(one.loss.mean) for one in study.found]
    assert sizes == sorted(sizes, reverse=True)
    for one in study.found:
        assert len(one.base) == len(one.swapped) == len(study.seeds)
        assert [*one.loss] == pytest.approx([*moved(one.base, one.swapped)], rel=1e-9, abs=1e-15)
    listed = {one["name"]: one for one in json.loads(RESULTS.read_text())["effects"]}
    assert all(listed[effect.name]["probes"] == list(effect.probes) for effect in SWAPS)


def test_the_committed_run_shows_what_the_readme_says():
    study = read_study(RESULTS)
    found = {one.swap.name: one for one in study.found}
    for name in (*(name for name in found if name.startswith("dense weights")), "embeddings, standard normal", MOMENTUM):
        assert study.bites(found[name]) and all(abs(end) > 1.0 for end in (found[name].loss.low, found[name].loss.high))
    epsilons = [name for name in found if "psilon" in name and "clipping" not in name]
    assert len(epsilons) == 6 and not any(study.bites(found[name]) for name in epsilons)


def test_the_command(tmp_path, capsys):
    """A few steps; the table fits a hundred columns, and the files hold what it shows."""
    command = ["compare", "effects", "--seeds", "8", "--steps", "1", "--only", "Adam epsilon", "--backend", "numpy"]
    files = {"--json": "e.json", "--markdown": "e.md", "--report": "report"}
    assert main([*command, *(word for option, name in files.items() for word in (option, str(tmp_path / name)))]) == 0
    out = capsys.readouterr().out
    assert "in units of the standard deviation of 8 seeds" in out and "control: one" in out
    assert max(map(len, out.splitlines()[:-1])) <= 100
    study = read_study(tmp_path / "e.json")
    assert (tmp_path / "e.md").read_text() == page(study)
    assert (tmp_path / "report" / "index.html").read_text() == page_text([effects_section_of(study)])


def test_the_command_refuses_what_it_does_not_know(capsys):
    assert main(["compare", "effects", "--only", "no such effect"]) == 2
    first, *names = capsys.readouterr().err.splitlines()
    assert first == "Error: --only must match the name of one of these effects, got 'no such effect':"
    assert names == [f"- {effect.name}" for effect in SWAPS]  # which hold commas
    assert main(["compare", "effects", "--seeds", "7"]) == 2
    capsys.readouterr()
