"""Decoding by a GenerationConfig: without rules what the greedy search gives, and steps with every logit as the model has it."""

import numpy as np
import pytest

from transformer_mb.decoding.generation_config import GenerationConfig
from transformer_mb.decoding.inputs import decoding_inputs
from transformer_mb.errors import ConfigError
from transformer_mb.parity.rows.model_cases import BATCH, DECODER

SOURCE, LENS, STEPS = BATCH["source"], BATCH["source_valid_lens"], 7


def test_a_step_gives_the_logits_of_a_whole_pass_before_any_is_suppressed(model, backend, in_reference):
    config = model.config.replace(suppress_ids=(1, 2), compat_decode="correct")
    suppressed = backend.from_weights(config, backend.get_weights(model))
    inputs, _ = decoding_inputs(model.config, SOURCE, LENS, STEPS, None, "generate")
    session, target = backend.start_beam(suppressed, inputs, STEPS, 1), np.array([[2, 5, 6]] * len(SOURCE))
    target[:, 0] = model.config.start_id
    got = np.stack([session.logits(column) for column in target.T], axis=1)
    reference, same = in_reference(suppressed)
    np.testing.assert_allclose(got, reference.logits(same, SOURCE, target, LENS), rtol=1e-4, atol=1e-4)


def test_without_rules_it_is_the_greedy_search(model, backend):
    found = backend.generate(model, SOURCE, LENS, GenerationConfig(max_new_tokens=STEPS))
    assert found == backend.greedy(model, SOURCE, LENS, STEPS)


def test_prompts_of_several_lengths_are_continued_as_by_themselves(backend):
    model = backend.build(DECODER, seed=3)
    prompts, lens = np.array([[2, 5, 6, 7], [2, 9, 1, 1], [2, 4, 8, 1]]), np.array([4, 2, 3])
    rules = GenerationConfig(num_beams=3, max_length=9, no_repeat_ngram_size=2)
    alone = [backend.generate(model, row[None, :length], None, rules)[0] for row, length in zip(prompts, lens, strict=True)]
    assert backend.generate(model, prompts, lens, rules) == alone
    assert [len(row) <= 9 - length for row, length in zip(alone, lens, strict=True)] == [True] * 3


def test_what_is_no_configuration_or_several_models_is_refused(model, backend):
    with pytest.raises(ConfigError, match="generation must be a GenerationConfig, got {'num_beams': 2}"):
        backend.generate(model, SOURCE, LENS, {"num_beams": 2})
    with pytest.raises(ConfigError, match="one model decodes, got an ensemble of 2"):
        backend.generate([model, model], SOURCE, LENS)
