"""Tables of positions in each layout, turned heads; positions of left-padded rows, whatever the padding's dtype."""

import numpy as np
import pytest

from transformer_mb.errors import TokenError
from transformer_mb.parity.rows.model_cases import DECODER

STEPS = 300  # more than a byte counts
# Of width 6: by how much each column's angle grows from one position to the next, in the order of the columns.
RATES = {
    "interleaved": 10000.0 ** (-np.repeat([0, 1, 2], 2) / 3),
    "halves": 10000.0 ** (-np.tile([0, 1, 2], 2) / 3),
    "fairseq": np.tile([1.0, 0.01, 0.0001], 2),
}


@pytest.mark.parametrize("layout", RATES)
def test_the_columns_of_a_layout(layout, backend):
    """Sine or cosine of the position times the column's rate, from position 2 on."""
    encoding = backend.PositionalEncoding(6, 0.0, 10, layout=layout)
    got = backend.apply(encoding, np.zeros((1, 4, 6)), 2)[0]
    angles = np.arange(2, 6)[:, None] * RATES[layout]
    sines = np.arange(6) % 2 == 0 if layout == "interleaved" else np.arange(6) < 3
    np.testing.assert_allclose(got, np.where(sines, np.sin(angles), np.cos(angles)), rtol=0, atol=1e-6)


def test_a_turned_sequence_has_the_same_attention_wherever_it_begins(backend):
    """Of rotary positions differences alone count; another base or no turn gives another output."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1, 4, 8))
    kinds = ({"position": "rotary"}, {"position": "rotary", "rotary_base": 3.0}, {})
    made = [backend.layer("MultiHeadAttention", 8, 8, 8, 8, 2, 0.0, **kind) for kind in kinds]
    weights = {name: rng.standard_normal(array.shape) for name, array in backend.get_weights(made[0]).items()}
    for one in made:
        backend.set_weights(one, weights)
    outputs = []
    for one in made:
        for first in (0, 7):
            keys, values = backend.apply(one.project_keys_values, X, X, first)
            outputs.append(backend.apply(one, X, keys, values, offset=first, causal=True))
    for here, there in zip(outputs[::2], outputs[1::2], strict=True):
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-4)
    assert all(np.abs(other - outputs[0]).max() > 1e-3 for other in outputs[2::2])


def test_a_position_that_no_turn_is_made_for_is_refused(backend):
    attention = backend.layer("MultiHeadAttention", 8, 8, 8, 8, 2, 0.0, position="rotary", max_len=4)
    with pytest.raises(TokenError, match="A sequence must be at most max_len = 4 tokens long, got 5"):
        backend.apply(attention, *[np.zeros((1, 5, 8))] * 3)


def test_left_padding_turns_nothing_away(backend):
    """The last logits of a row are those of the row alone, which begins at position 0."""
    config = DECODER.replace(position="rotary")
    model, tokens = backend.build(config, seed=1), np.array([[1, 1, 5, 6, 7]])
    state = backend.apply(model.decoder.init_state, None, None, 8, np.array([2]))
    padded = backend.apply(model.decoder, tokens, state)[0][:, 2:]
    alone = backend.logits(model, None, tokens[:, 2:])
    np.testing.assert_allclose(padded, alone, rtol=0, atol=1e-5)
    unturned = backend.build(config.replace(position="sinusoidal"), seed=1)
    assert np.abs(backend.logits(unturned, None, tokens[:, 2:]) - alone).max() > 1e-3


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_left_padding_of_one_byte(dtype, position, backend):
    config = DECODER.replace(position=position, max_len=STEPS)
    model, tokens, found = backend.build(config, seed=1), np.full((2, STEPS), 5), []
    for of in (dtype, "int64"):
        state = backend.apply(model.decoder.init_state, None, None, STEPS, np.array([3, 0], of))
        found.append(backend.apply(model.decoder, tokens, state)[0])
    np.testing.assert_array_equal(*found)


@pytest.mark.two_bytes
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_gradient_of_a_position_is_a_long_sum(dtype, backend_in):
    """Of equal parts bfloat16 itself adds up no more than 256, and float16 2,048; without padding nothing is looked up."""
    backend, rows, found = backend_in(dtype), 4096, []
    decoder = backend.build(DECODER.replace(position="learned", decoder_num_layers=1), seed=1).decoder
    cotangent = np.tile(np.linspace(-0.5, 1.0, DECODER.target_vocab_size), (rows, 1, 1))
    for padding in (None, np.zeros(rows, np.int64)):
        inputs = [np.full((rows, 1), 5), backend.apply(decoder.init_state, None, None, None, padding)]
        found.append(backend.gradients(decoder, inputs, cotangent)[2]["pos_embedding.weight"])
    expected, gradient = found
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=0.02 * np.abs(expected).max())
