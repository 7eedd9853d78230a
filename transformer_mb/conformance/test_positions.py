"""Tables of positions in each layout; positions of left-padded rows, whatever the padding's dtype and the table's."""

import numpy as np
import pytest

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
