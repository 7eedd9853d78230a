"""``port --expect``: the owner's own inputs and outputs turn trust into proof, or say what they refute."""

import re

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import refused
from transformer_mb.errors import ProofError
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.proof.expected_outputs import held_against, read_expected

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_heads": 4, "decoder_num_heads": 4, "max_len": 30}
CONFIG = tmb.presets.d2l(11, 13, **SIZES)
HEADS = {"num_heads": 4}


@pytest.fixture
def owned(tmp_path):
    """A bare file, and what its owner's model of four heads computes: in float64, by this project's reference."""
    backend = tmb.get_backend("numpy", dtype="float64")
    model = backend.build(CONFIG, seed=3)
    random = np.random.default_rng(0)
    source, target, lens = random.integers(4, 11, (3, 6)), random.integers(4, 13, (3, 5)), np.array([6, 2, 4])
    np.savez(tmp_path / "m.npz", **backend.get_weights(model))
    outputs = {"encoder": backend.encode(model, source, lens), "logits": backend.logits(model, source, target, lens)}
    return tmp_path / "m.npz", {"source": source, "source_valid_lens": lens, "target": target, **outputs}


def encoded(file, source):
    """States of the first token of each source."""
    backend = tmb.get_backend("numpy", dtype="float64")
    model = backend.create_empty(CONFIG)
    with np.load(file) as weights:
        backend.set_weights(model, dict(weights))
    return backend.encode(model, source, np.ones(3, int))


def test_outputs_bear_out_what_was_taken_on_trust(owned, tmp_path, cli):
    file, arrays = owned
    bare = tmb.port(file, tmp_path / "a", to="canonical", config=HEADS)
    assert {"encoder_num_heads", "decoder_num_heads", "activation", "embedding_scale"} <= set(bare.proof.on_trust)
    assert any(line.startswith("proof holds for what the file shows; 11 fields taken on trust: enc") for line in bare.lines())
    np.savez(tmp_path / "outputs.npz", **arrays)
    (tmp_path / "h.json").write_text('{"num_heads": 4}')
    options = ("--to", "canonical", "--config", tmp_path / "h.json", "--expect", tmp_path / "outputs.npz")
    done = cli("port", file, tmp_path / "b", *options)
    assert done.status == 0 and "they bear out encoder_num_heads, decoder_num_heads, norm_position" in done.out
    rests_on = [line for line in done.out.splitlines() if line.startswith("the proof rests on")]
    assert rests_on and not any("num_heads" in line or "norm_position" in line for line in rests_on)
    report = tmb.port(file, tmp_path / "c", to="canonical", config=HEADS, expect=arrays)
    assert not {"encoder_num_heads", "activation", "embedding_scale", "position"} & set(report.proof.on_trust)


def test_a_wrong_number_of_heads_is_refuted_and_the_right_one_named(owned, tmp_path):
    file, arrays = owned
    with pytest.raises(ProofError, match=r"error of encoder .*they agree with encoder_num_heads = 4 and decoder_num_heads = 4"):
        tmb.port(file, tmp_path / "a", to="canonical", config={"num_heads": 8}, expect=arrays)
    assert not (tmp_path / "a").exists()
    with pytest.raises(ProofError, match="they agree with embedding_scale = True"):
        tmb.port(file, tmp_path / "a", to="canonical", config={**HEADS, "embedding_scale": False}, expect=arrays)


def test_outputs_that_cannot_tell_bear_nothing_out(owned, tmp_path):
    """Of one token each the number of heads shows nowhere: attention over one key is that key."""
    file, arrays = owned
    short = {"source": arrays["source"][:, :1], "encoder": encoded(file, arrays["source"][:, :1])}
    proof = tmb.port(file, tmp_path / "a", to="canonical", config=HEADS, expect=short).proof
    assert {"encoder_num_heads", "decoder_num_heads", "position"} <= set(proof.on_trust) and "activation" not in proof.on_trust


REFUSED = [
    ({"other": np.zeros(2)}, "must hold source, .* got other"),
    ({"logits": None}, "at least one of the outputs encoder, pooled, logits, got none"),
    ({"logits": np.zeros((3, 5, 13), np.float16)}, "logits must be float32 or float64, got float16"),
    ({"source": np.zeros((3, 6))}, "source must be whole numbers, got float64"),
    ({"source": None}, "must hold the inputs source for a model of architecture encoder_decoder"),
    ({"target": None}, "must hold the inputs target"),
    ({"logits": np.zeros((3, 5, 12))}, r"logits must be of shape \[3, 5, 13\] here, got \[3, 5, 12\]"),
    ({"logits": np.full((3, 5, 13), np.nan)}, "logits holds numbers that are not finite"),
    ({"source": np.full((3, 6), 99)}, "99"),
    ({"source": np.zeros(3, int)}, "source must have 2 axes, got 1"),
    ({"source": [[4, 5], [6]]}, "expect: source must be an array that NumPy takes, got list"),
    ({"target": np.full((2, 5), 4)}, "expect: target must have batch size 3"),
    ({"pooled": np.zeros((3, 16))}, "of which encoder and logits can be compared, got pooled"),
    ({"logits": np.zeros((3, 5, 13), np.float16)}, "float16. Run your model in float32"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_cannot_be_compared_is_refused(owned, tmp_path, changes, words):
    file, arrays = owned
    given = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
    if changes.get("logits", 0) is None:
        del given["encoder"]
    refused(words, tmb.port, file, tmp_path / "a", to="canonical", config=HEADS, expect=given)
    assert not (tmp_path / "a").exists()


def held(file, given):
    model = read_source(file, None, HEADS).model
    return held_against(read_expected(given), model, ("architecture", "position", "activation"))


def test_outputs_of_padding_alone_prove_nothing(owned):
    """Encoder states at padding are anybody's: without a token there is nothing to compare."""
    file, arrays = owned
    given = {"source": arrays["source"], "source_valid_lens": np.zeros(3, int), "encoder": 7 * arrays["encoder"]}
    refused("encoder must hold numbers at tokens, but by source_valid_lens all of it is padding", held, file, given)


def test_sentences_of_one_token_and_padding_are_of_one_token(owned):
    file, arrays = owned
    given = {"source": arrays["source"], "source_valid_lens": np.ones(3, int)}
    given["encoder"] = encoded(file, given["source"])
    assert held(file, given).borne_out == ("activation",)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


CAUSES = [
    ({"logits": log_softmax}, "its logits are logarithms of probabilities: they must be those before log_softmax"),
    ({"logits": lambda logits: np.exp(log_softmax(logits))}, "its logits are probabilities: they must be those before softmax"),
    ({"source_valid_lens": None}, "it holds no source_valid_lens, so that each id of source counts as a token, padding too"),
    ({"logits": lambda logits: logits + 1}, "they must be of the model in evaluation mode .without dropout., in float32"),
]


@pytest.mark.parametrize(("changes", "words"), CAUSES)
def test_outputs_that_nothing_explains_hear_what_they_likely_are(owned, changes, words):
    file, arrays = owned
    source = np.where(np.arange(6) < arrays["source_valid_lens"][:, None], arrays["source"], CONFIG.pad_id)
    given = {**arrays, "source": source}
    del given["encoder"]
    for name, change in changes.items():
        if change is None:
            del given[name]
        else:
            given[name] = change(given[name])
    (failure,) = held(file, given).failures
    assert re.search(words, failure)


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path):
    refused(r"none.npz cannot be read: No such file", read_expected, tmp_path / "none.npz")
    refused("expect must be an .npz file or a mapping of arrays by name, got list", read_expected, [1, 2])
