"""Prompts continued by a decoder alone as ``generate`` continues them: by themselves, and padded on the left."""

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.library_prompts import EOS, MODELS, VOCABULARY, of_arrays
from porting.on_backend import BACKENDS
from porting.test_generation import RULES
from transformer_mb.checkpoint import Checkpoint, write_checkpoint
from transformer_mb.decoding.generation_config import GenerationConfig
from transformer_mb.porting.files.sources import read_source

LENS = np.array([3, 9, 1, 6, 3])
PROMPTS = np.random.default_rng(4).integers(2, EOS, (len(LENS), LENS.max()))
# Each rule at values at which it changes tokens here; of lengths, the prompt's tokens count.
OWN = {**RULES, "max_length": 17, "min_length": 14, "bad_words_ids": [[22], [37, 37], [EOS]], "forced_eos_token_id": EOS}
OWN["begin_suppress_tokens"] = [8, 10, 36, 47, 49, 53]
OWN["sequence_bias"] = [[[24], -3.0], [[17], 2.5], [[9], 1.5]]
LONG = {"num_beams": 2, "length_penalty": 2.0, "max_new_tokens": 12, "sequence_bias": [[[EOS], 3.0]]}
BEAMS = {
    "means": {"num_beams": 5, "max_new_tokens": 12},
    "long ones": {**LONG, "early_stopping": True},
    "long ones to the end": LONG,
    "short ones": {"num_beams": 4, "length_penalty": -1.0, "max_new_tokens": 12},
    "sums": {"num_beams": 3, "length_penalty": 0.0, "max_new_tokens": 9, "early_stopping": "never"},
    "at least": {"num_beams": 4, "min_new_tokens": 8, "max_new_tokens": 12, "no_repeat_ngram_size": 0},
}
OF_BEAMS = ("early_stopping", "length_penalty")
GREEDY = {"greedy": {"max_new_tokens": 14}, "greedy at least": {"min_new_tokens": 9, "max_new_tokens": 14}}
TOGETHER = {f"{name}, padded on the left": fields for name, fields in {**GREEDY, **BEAMS}.items()}
ALONE = {
    **GREEDY,
    **BEAMS,
    "beam": {"num_beams": 4},
    **{f"greedy {name}": {name: value} for name, value in OWN.items() if name not in OF_BEAMS},
    **{f"beam {name}": {"num_beams": 4, name: value} for name, value in OWN.items()},
}
SETTINGS = {**ALONE, **TOGETHER}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders, and by MODEL/NUMBER the library's tokens."""
    folder = tmp_path_factory.mktemp("decoders")
    together = [number for number, name in enumerate(SETTINGS) if name in TOGETHER]
    given = {"folder": folder, "settings": list(SETTINGS.values()), "together": together}
    arrays, facts = elsewhere("porting.library_prompts:continued", {"prompt": PROMPTS, "lens": LENS}, **given)
    assert facts["version"].startswith("5.")
    return folder, of_arrays(arrays)


@pytest.fixture(scope="module")
def on_numpy(made):
    backend = tmb.get_backend("numpy", dtype="float64")
    found = {}
    for name in MODELS:
        model = read_source(made[0] / name, None, {}).model
        assert model.config.target_vocab_size == VOCABULARY
        found[name] = backend.from_weights(model.config, model.weights)
    return lambda name, fields: backend.generate(found[name], PROMPTS, LENS, GenerationConfig.from_dict(fields))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_the_tokens_are_those_of_generate(name, setting, made, on_numpy):
    assert on_numpy(name, SETTINGS[setting]) == made[1][f"{name}/{list(SETTINGS).index(setting)}"]


def test_each_rule_changes_tokens_and_some_outputs_end(made):
    """Else equal tokens would say little."""

    def found(setting):
        return [made[1][f"{name}/{list(SETTINGS).index(setting)}"] for name in MODELS]

    assert not [rule for rule in OWN if rule != "early_stopping" and found(f"beam {rule}") == found("beam")]
    assert found("long ones") != found("long ones to the end")
    assert all(len({tuple(row) for row in rows}) > 2 for rows in found("means"))
    assert all(min(map(len, rows)) < 12 for rows in found("long ones"))


@pytest.mark.long(but=1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend(backend, made, tmp_path):
    """Beams of all kinds, and greedily, of both models."""
    names = [name for name in SETTINGS if name in {**GREEDY, **BEAMS}]
    for model in MODELS:
        ported = read_source(made[0] / model, None, {}).model
        write_checkpoint(tmp_path / model, Checkpoint(config=ported.config, weights=ported.weights))
    given = {"folder": tmp_path, "backend": backend, "settings": [SETTINGS[name] for name in names]}
    arrays, _ = elsewhere("porting.test_decoders_generation:on_backend", {"prompt": PROMPTS, "lens": LENS}, **given)
    numbers = {name: number for number, name in enumerate(SETTINGS)}
    expected = {f"{model}/{place}": made[1][f"{model}/{numbers[name]}"] for model in MODELS for place, name in enumerate(names)}
    assert of_arrays(arrays) == expected


def on_backend(arrays, folder, backend, settings):
    """Run in a process of its own."""
    from porting.transformers_generate import padded

    engine = tmb.get_backend(backend, dtype="float64")
    found = {}
    for name in MODELS:
        model = tmb.load(f"{folder}/{name}", backend=engine)
        for number, fields in enumerate(settings):
            rows = engine.generate(model, arrays["prompt"], arrays["lens"], GenerationConfig.from_dict(fields))
            found[f"{name}/{number}"] = padded(rows, EOS)
    return found, {}
