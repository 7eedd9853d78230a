"""What holds for every family of ``transformers``: recognized by its model type, exact, and refused where it does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from porting.hugging_face import MADE, NARROW, STEPS, VARIANTS, folder_of
from porting.small_model import on_numpy, refused, spoil
from transformer_mb.parity.verdict.limits import worst
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.proof.agreement import error
from transformer_mb.porting.proof.proving import LIMIT

PARTS = ("encoder", "logits")
CANNOT_HOLD = {
    "marian": (
        {"sinusoid_layout": "interleaved", "encoder_attention_bias": False},
        "encoder_attention_bias must be True.* sinusoid_layout must be 'halves'",
    ),
    "bert": (
        {"norm_position": "pre", "final_norm": True},
        "norm_position must be 'post', got 'pre'; final_norm must be False",
    ),
}
MISFITS = {
    "marian": [
        ({"scale_embedding": None}, "scale_embedding must be true or false, got nothing"),
        ({"eos_token_id": [0, 1]}, r"eos_token_id must be a whole number, got \[0, 1\]"),
        ({"decoder_start_token_id": 7}, "decoder_start_id must be from 0 to 6, got 7"),
        ({"activation_function": "mish"}, "activation_function must be one of relu, .*got 'mish'"),
        ({"decoder_ffn_dim": 16}, "decoder_ffn_dim must be 12"),
        ({"encoder_layers": 3, "d_model": 16}, "missing encoder.layers.2.self_attn.q_proj.weight.* must have shape"),
        ({"decoder_layers": 1}, r"unexpected decoder.layers.1.*and \d+ more"),
        *[({name: 4}, f"{name} must be") for name in ("hidden_size", "num_attention_heads", "num_hidden_layers")],
    ],
    "bert": [
        ({"num_attention_heads": None}, "num_attention_heads must be a whole number, got nothing"),
        ({"num_attention_heads": "two"}, "num_attention_heads must be a whole number, got 'two'"),
        ({"num_attention_heads": 3}, "not divisible by 3"),
        ({"hidden_act": "mish"}, "hidden_act must be one of relu, gelu, .*got 'mish'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
        ({"is_decoder": True}, "is_decoder must be False"),
        ({"num_hidden_layers": 3}, r"missing encoder.layer.2.attention.self.query.weight .*and \d+ more"),
        ({"num_hidden_layers": 1}, "unexpected encoder.layer.1.attention"),
        ({"intermediate_size": 13}, r"must have shape \[13, 8\], got \[12, 8\].*intermediate.dense.bias must have shape"),
    ],
}
WRONG = {
    "published": [
        {"sinusoid_layout": "interleaved"},
        {"embedding_scale": False},
        {"activation": "gelu"},
        {"norm_eps": 1e-3},
        {"encoder_num_heads": 2},
    ],
    "small BERT": [{"norm_eps": 1e-3}, {"activation": "gelu_tanh"}, {"encoder_num_heads": 1}, {"embedding_scale": True}],
}


def each(table):
    return [(name, *(case if isinstance(case, tuple) else (case,))) for name, cases in table.items() for case in cases]


@pytest.mark.parametrize("family", MADE)
def test_a_folder_is_recognized_by_its_model_type(family, tmp_path):
    recognize = FAMILIES[family].recognize
    assert not recognize(tmp_path)
    folder = folder_of(family, tmp_path)
    assert recognize(folder)
    for other in ("camembert", "plbart"):
        (folder / "config.json").write_text(f'{{"model_type": "{other}"}}')
        assert not recognize(folder)


@pytest.mark.parametrize(("family", "changes", "words"), each(MISFITS))
def test_a_config_that_does_not_fit(family, changes, words, tmp_path):
    spoil(folder_of(family, tmp_path) / "config.json", **changes)
    refused(words, FAMILIES[family].read, tmp_path, {})


@pytest.mark.parametrize("family", MADE)
def test_what_the_family_cannot_hold(family, tmp_path):
    model, (changes, words) = MADE[family](), CANNOT_HOLD[family]
    refused(words, FAMILIES[family].write, replace(model, config=model.config.replace(**changes)), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "changes"), each(WRONG))
def test_a_wrong_setting_shows(name, changes, written):
    reference = written[name]
    model = FAMILIES["bert" if "BERT" in name else "marian"].read(reference.folder, {})
    got = on_numpy(replace(model, config=model.config.replace(**changes)), reference.batch)
    assert worst(np.abs(got[part] - reference.outputs[part]).max() for part in PARTS if part in got) > 1e-4


@pytest.mark.parametrize("name", [*VARIANTS, *NARROW])
def test_what_the_proof_runs_is_what_users_have(name, references):
    """It opens no folder, and yet computes what ``from_pretrained`` does."""
    proof, outputs = dict(references[name].proof), dict(references[name].outputs)
    assert set(proof) == set(outputs)
    assert proof.pop("tokens", None) == outputs.pop("tokens", None)
    assert all(np.abs(proof[name] - array).max() <= 1e-5 for name, array in outputs.items())


@pytest.mark.parametrize("name", NARROW)
def test_a_narrow_folder_computes_in_float32(name, references):
    reference = references[name]
    model = FAMILIES[NARROW[name]["family"]].read(reference.folder, {})
    got = on_numpy(model, reference.batch, **({"steps": STEPS} if model.config.has_decoder else {}))
    for part in set(PARTS) & set(got):
        assert np.abs(got[part] - reference.outputs[part]).max() <= 1e-5
        assert error(got[part], reference.proof[part], np.indices(got[part].shape[:-1])[0].reshape(-1)) <= LIMIT
    assert got.get("tokens") == reference.outputs.get("tokens")
