"""More steps than a decoder's state has room for: refused in one sentence, and up to there as a sequence that is fed whole."""

import numpy as np
import pytest

from transformer_mb.conformance.native_calls import array, as_they_are, native
from transformer_mb.conformance.test_bad_calls import BLOCK, IDS, LENS, STACK, X, called
from transformer_mb.errors import TokenError

STEPS = 3
TOO_LONG = "A sequence must be at most max_steps = 2 tokens long, got 3."


def fed(backend, decoder, pieces, max_steps):
    """The logits [B, T, V] of these pieces, natively and one after the other."""
    state, logits = decoder.init_state(*native(backend, (X, LENS)), max_steps), []
    for piece in native(backend, np.split(IDS, np.cumsum(pieces)[:-1], axis=1)):
        output, state = as_they_are(backend, decoder, piece, state)
        logits.append(array(backend, output))
    return np.concatenate(logits, axis=1)


PIECES = pytest.mark.parametrize("pieces", [(1, 1, 1), (2, 1), (1, 2), (3,)], ids=str)


@PIECES
def test_a_decoder_is_fed_no_more_than_it_was_to_remember(pieces, backend):
    decoder = backend.layer("TransformerDecoder", *STACK)
    np.testing.assert_allclose(fed(backend, decoder, pieces, STEPS), fed(backend, decoder, (STEPS,), None), rtol=1e-10)
    with pytest.raises(TokenError) as raised:
        fed(backend, decoder, pieces, STEPS - 1)
    assert str(raised.value) == TOO_LONG


@PIECES
def test_neither_by_way_of_apply(pieces, backend):
    """What a backend compiles is no way around it, on a processor; and a refused step leaves the state as it was."""
    decoder = backend.layer("TransformerDecoder", *STACK)
    *begun, last = np.split(IDS, np.cumsum(pieces)[:-1], axis=1)
    state = backend.apply(decoder.init_state, X, LENS, STEPS - 1)
    for piece in begun:
        _, state = backend.apply(decoder, piece, state)
    with pytest.raises(TokenError) as raised:
        backend.apply(decoder, last, state)
    assert str(raised.value) == TOO_LONG
    if sum(pieces[:-1]) < STEPS - 1:
        logits, _ = backend.apply(decoder, last[:, :1], state)
        expected = fed(backend, decoder, (STEPS,), None)[:, sum(pieces[:-1])]
        np.testing.assert_allclose(logits[:, 0], expected, rtol=1e-10)


def test_nor_is_a_block(backend):
    decoder = backend.layer("TransformerDecoder", *STACK)
    state = backend.apply(decoder.init_state, X, LENS, STEPS - 1)
    with pytest.raises(TokenError) as raised:
        called(backend, "DecoderBlock", (*BLOCK, 0), (X, state), {})
    assert str(raised.value) == TOO_LONG
