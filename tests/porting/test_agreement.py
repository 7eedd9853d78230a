"""The measure of a proof: no number of any size hides another, and rounding is no difference."""

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import made, refused
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.porting.model import PortedModel
from transformer_mb.porting.proof import agreement, running
from transformer_mb.porting.proof.agreement import token_differences
from transformer_mb.porting.proof.probe import probe_batch, run_reference
from transformer_mb.porting.proof.proving import LIMIT

SENTENCES = np.repeat(np.arange(4), 6)


def logits(scale=1.0):
    return scale * np.random.default_rng(0).normal(size=(4, 6, 13))


def rounded(array):
    return np.asarray(array, np.float32).astype(np.float64) * (1 + 1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e6])
def test_a_scale_changes_nothing(scale):
    exact = logits(scale)
    wrong = exact.copy()
    wrong[1, 2, 3] *= 1.01
    assert agreement.error(rounded(exact), exact, SENTENCES) < 1e-6
    assert agreement.error(np.zeros_like(exact), exact, SENTENCES) > 0.5
    assert agreement.error(-exact, exact, SENTENCES) > 1.0
    assert agreement.error(wrong, exact, SENTENCES) > 1e-4


@pytest.mark.parametrize("huge", [-1e4, -1e5, -1e9])
@pytest.mark.parametrize("where", [(..., 7), (2, 3, 7)], ids=["a column", "one token"])
def test_one_large_number_hides_nothing(huge, where):
    exact = logits()
    exact[where] = huge
    wrong = exact + np.where(exact == huge, 0.0, 1e-2)
    assert agreement.error(rounded(exact), exact, SENTENCES) < 1e-6
    assert agreement.error(wrong, exact, SENTENCES) > 1e-3
    only = exact.copy()
    only[2, 3, 5] += 1e-2
    assert agreement.error(only, exact, SENTENCES) > 1e-4


def test_zero_in_theory_is_no_failure_and_zero_throughout_is_exact():
    exact = logits()
    exact[..., 4] = 0.0
    noisy = exact + 1e-7 * np.random.default_rng(1).normal(size=exact.shape)
    assert agreement.error(noisy, exact, SENTENCES) < 1e-6
    assert agreement.error(exact * 0, exact * 0, SENTENCES) == 0.0
    assert agreement.error(exact, exact * 0, SENTENCES) == np.inf


def test_what_is_not_finite_is_no_agreement():
    exact = logits()
    for odd in (np.nan, np.inf, -np.inf):
        wrong = exact.copy()
        wrong[3, 5, 12] = odd
        assert agreement.not_finite(wrong) == 1
        for sides in ((wrong, exact), (exact, wrong)):
            with np.errstate(invalid="ignore"):
                assert not agreement.error(*sides, SENTENCES) <= LIMIT


def masked_model():
    """Its output bias rules a token out, as people do."""
    config = tmb.presets.d2l(11, 13, num_hiddens=8, ffn_num_hiddens=12, encoder_num_heads=2, decoder_num_heads=1, max_len=20)
    model = made(config)
    model.weights["decoder.dense.bias"][7] = -1e5
    return model


def test_a_wrong_number_of_heads_shows_beside_a_masked_token(tmp_path, monkeypatch):
    write_target(masked_model(), find_target("canonical"), tmp_path / "ck", {})
    true, calls = running.run_reference, []

    def second_has_other_heads(model, batch):
        calls.append(model)
        if len(calls) != 2:
            return true(model, batch)
        return true(PortedModel(config=model.config.replace(decoder_num_heads=8), weights=model.weights), batch)

    monkeypatch.setattr(running, "run_reference", second_has_other_heads)
    refused("the error of logits is", tmb.port, tmp_path / "ck", tmp_path / "out.npz", to="npz")
    assert tmb.port(tmp_path / "ck", tmp_path / "out.npz", to="npz").holds


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["encoder", "logits"])
def test_numbers_that_are_not_finite_are_said_in_words(tmp_path, monkeypatch, odd, name):
    """On both sides alike: two NaN are no agreement."""
    write_target(masked_model(), find_target("canonical"), tmp_path / "ck", {})
    true = running.run_reference

    def odd_in_the_last_place(model, batch):
        found = true(model, batch)
        found[name][0, -1, -1] = odd
        return found

    monkeypatch.setattr(running, "run_reference", odd_in_the_last_place)
    words = f"{name} of the result holds 1 number that is not finite; {name} of the source holds 1 number"
    refused(words, tmb.port, tmp_path / "ck", tmp_path / "out.npz", to="npz")


def test_a_near_tie_is_excused_by_its_own_rows_and_tokens_alone():
    model = masked_model()
    batch = probe_batch(model.config)
    expected = run_reference(model, batch)
    other = {name: array.copy() for name, array in expected.items()}
    first = int(expected["tokens"][1, 0])
    second = next(token for token in (4, 5) if token != first)
    other["tokens"][1, 0] = second
    assert token_differences(model, batch, expected, other)[1]
    other["logits"][1, :, 9] += 100.0  # another token
    other["logits"][2] += 100.0  # another row
    assert token_differences(model, batch, expected, other)[1]
    other["logits"][1, :, second] += 100.0
    assert token_differences(model, batch, expected, other)[0]


def test_tokens_of_tiny_logits_must_be_the_same():
    model = masked_model()
    small = {name: array * 1e-8 if name.startswith("decoder.dense") else array for name, array in model.weights.items()}
    model = PortedModel(config=model.config, weights=small)
    batch = probe_batch(model.config)
    expected = run_reference(model, batch)
    other = {name: array.copy() for name, array in expected.items()}
    other["tokens"][0, 0] = next(token for token in (4, 5) if token != expected["tokens"][0, 0])
    assert token_differences(model, batch, expected, other)[1]


def test_the_probe_sees_far_positions_types_and_the_pooler():
    config = tmb.TransformerConfig(
        architecture="encoder", source_vocab_size=11, num_hiddens=8, token_types=3, pooler=True, position="learned", max_len=100
    )
    batch = probe_batch(config)
    assert batch["source"].shape[1] == 64 == batch["source_valid_lens"].max()
    assert sorted(set(batch["token_types"].ravel().tolist())) == [0, 1, 2]
    outputs = run_reference(made(config), batch)
    assert outputs["pooled"].shape == (4, 8)


@pytest.mark.parametrize("max_len", [1, 2, 7, 8, 9])
def test_short_models_have_room_for_their_tokens(max_len):
    config = masked_model().config.replace(max_len=max_len)
    model = PortedModel(config=config, weights=masked_model().weights)
    outputs = run_reference(model, probe_batch(config))
    assert outputs["tokens"].shape[1] == max(1, min(8, max_len - 1))
