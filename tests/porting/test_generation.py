"""Generation as published: ``backend.generate`` gives the tokens of transformers' ``generate``, whatever is configured."""

import random

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.hugging_face import PUBLISHED, marian_batch
from porting.on_backend import BACKENDS, sentences
from porting.transformers_process import PAD
from transformer_mb.checkpoint import Checkpoint, write_checkpoint
from transformer_mb.decoding.generation_config import USUAL, GenerationConfig
from transformer_mb.errors import ConfigError
from transformer_mb.porting.families import marian

EOS = 0
# Each rule by itself, with values at which it changes tokens of this model.
RULES = {
    "early_stopping": True,
    "length_penalty": 3.0,
    "max_length": 9,
    "max_new_tokens": 6,
    "min_length": 12,
    "min_new_tokens": 9,
    "repetition_penalty": 1.7,
    "encoder_repetition_penalty": 2.5,
    "no_repeat_ngram_size": 2,
    "encoder_no_repeat_ngram_size": 1,
    "bad_words_ids": [[22], [37, 37], [EOS], [40, 40]],
    "sequence_bias": [[[24], -3.0], [[17, 4], 5.5], [[9], 1.5]],
    "suppress_tokens": [24, 6],
    "begin_suppress_tokens": [40, 22],
    "forced_bos_token_id": 11,
    "forced_eos_token_id": EOS,
    "exponential_decay_length_penalty": [3, 1.4],
}
PUBLISHED_BY_OTHERS = {
    "summaries": {
        "num_beams": 4,
        "no_repeat_ngram_size": 3,
        "min_length": 6,
        "max_length": 16,
        "length_penalty": 2.0,
        "early_stopping": True,
        "forced_bos_token_id": 2,
        "forced_eos_token_id": EOS,
    },
    "translations": {
        "num_beams": 5,
        "max_length": 24,
        "bad_words_ids": [[PAD]],
        "forced_eos_token_id": EOS,
        "renormalize_logits": True,
    },
    "never": {"num_beams": 3, "early_stopping": "never", "length_penalty": 0.4, "max_length": 18},
    "short ones": {"num_beams": 6, "length_penalty": -1.0, "max_length": 15},
    "chat": {
        "num_beams": 10,
        "min_length": 8,
        "encoder_no_repeat_ngram_size": 3,
        "no_repeat_ngram_size": 3,
        "length_penalty": 0.65,
        "max_length": 20,
    },
}


def drawn(seed):
    """Several rules at once, each in a third of the configurations."""
    dice = random.Random(seed)
    fields = {name: value for name, value in RULES.items() if dice.random() < 1 / 3 and name != "max_new_tokens"}
    return {**fields, "num_beams": dice.choice([1, 2, 5]), "renormalize_logits": dice.random() < 0.3}


SETTINGS = {
    "greedy": {},
    "beam": {"num_beams": 4},
    **{f"greedy {name}": {name: value} for name, value in RULES.items() if name not in ("early_stopping", "length_penalty")},
    **{f"beam {name}": {"num_beams": 4, name: value} for name, value in RULES.items()},
    **PUBLISHED_BY_OTHERS,
    **{f"drawn {seed}": drawn(seed) for seed in range(12)},
}
BATCH = {name: array for name, array in marian_batch().items() if name != "target"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of a small MarianMT whose weights are loud enough that beams differ."""
    folder = tmp_path_factory.mktemp("generation")
    elsewhere("porting.transformers_process:make_in", folder=folder, wishes={**PUBLISHED, "generation": {}})
    return folder


@pytest.fixture(scope="module")
def expected(made):
    alone = [number for number, fields in enumerate(SETTINGS.values()) if any(name.startswith("encoder") for name in fields)]
    arrays, facts = elsewhere(
        "porting.transformers_generate:generated", BATCH, folder=made, settings=list(SETTINGS.values()), alone=alone
    )
    assert facts["version"].startswith("5.")
    return {name: sentences(arrays[str(number)]) for number, name in enumerate(SETTINGS)}


@pytest.fixture(scope="module")
def on_numpy(made):
    model, backend = marian.read(made, {}), tmb.get_backend("numpy")
    native = backend.from_weights(model.config.replace(suppress_ids=()), model.weights)
    return lambda fields: backend.generate(native, *BATCH.values(), GenerationConfig.from_dict(fields))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_tokens_are_those_of_generate(name, expected, on_numpy):
    assert on_numpy(SETTINGS[name]) == expected[name]


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith(("greedy ", "beam "))])
def test_each_rule_changes_tokens(name, expected):
    """Else equal tokens would say nothing of it."""
    kind = name.partition(" ")[0]
    assert expected[name] != expected[kind]


def test_every_field_is_a_row_here():
    assert set(USUAL) == {*RULES, "num_beams", "renormalize_logits"}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend(backend, made, expected, tmp_path):
    model = marian.read(made, {})
    checkpoint = Checkpoint(config=model.config.replace(suppress_ids=()), weights=model.weights)
    write_checkpoint(tmp_path / "model", checkpoint)
    names = [name for name in SETTINGS if name.startswith("drawn") or name in PUBLISHED_BY_OTHERS]
    settings = [SETTINGS[name] for name in names]
    arrays, _ = elsewhere(
        "porting.test_generation:on_backend", BATCH, folder=tmp_path / "model", backend=backend, settings=settings
    )
    assert {name: sentences(arrays[str(number)]) for number, name in enumerate(names)} == {
        name: expected[name] for name in names
    }


def on_backend(arrays, folder, backend, settings):
    """Run in a process of its own."""
    from porting.transformers_generate import padded

    engine = tmb.get_backend(backend)
    model = tmb.load(folder, backend=engine)
    given = arrays["source"], arrays["source_valid_lens"]
    found = [engine.generate(model, *given, GenerationConfig.from_dict(fields)) for fields in settings]
    return {str(number): padded(rows, EOS) for number, rows in enumerate(found)}, {}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_beams": 0}, "num_beams must be a whole number from 1 to 1000, got 0"),
        ({"num_beams": True}, "num_beams must be a whole number"),
        ({"early_stopping": "always"}, "early_stopping must be true, false or"),
        ({"max_length": 42}, "max_length must leave from 1 to 40 tokens after the 1 given .* got 42"),
        ({"max_new_tokens": 0}, "max_new_tokens must leave from 1 to 40"),
        ({"bad_words_ids": [[]]}, "bad_words_ids must be a list of lists of token ids"),
        ({"bad_words_ids": [[41]]}, "bad_words_ids must hold token ids from 0 to 40, got 41"),
        ({"sequence_bias": [[3, 1.0]]}, "sequence_bias must be a list of pairs"),
        ({"forced_bos_token_id": [1, 2]}, "forced_bos_token_id must be a token id"),
        ({"repetition_penalty": 0.0}, "repetition_penalty must be a number above 0, got 0.0"),
        ({"no_repeat_ngrams": 2}, "has no no_repeat_ngrams. Did you mean no_repeat_ngram_size?"),
    ],
)
def test_what_cannot_be_is_refused(fields, words, on_numpy):
    with pytest.raises(ConfigError, match=words):
        on_numpy(fields)


def test_suppressed_tokens_of_the_model_are_never_generated(made):
    model, backend = marian.read(made, {}), tmb.get_backend("numpy")
    everything = backend.generate(backend.from_weights(model.config, model.weights), *BATCH.values())
    token = max(
        set(np.concatenate([np.array(row) for row in everything])), key=lambda one: sum(row.count(one) for row in everything)
    )
    without = backend.from_weights(model.config.replace(suppress_ids=(int(token),)), model.weights)
    assert not any(token in row for row in backend.generate(without, *BATCH.values(), GenerationConfig(num_beams=3)))
