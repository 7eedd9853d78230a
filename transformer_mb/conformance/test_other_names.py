"""Names of other libraries' arguments: the layer that was called, what it takes, and what to give instead."""

import inspect

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.conformance.native_calls import array, natively
from transformer_mb.conformance.test_bad_calls import ATTENTION, BLOCK, IDS, LENS, STACK, START, X, called
from transformer_mb.errors import ArgumentError, ConfigError
from transformer_mb.other_names import OTHER_NAMES
from transformer_mb.presets import d2l

MASK = np.ones((2, 3), bool)
CALLS = {
    "MultiHeadAttention": (ATTENTION, (X, X, X), ["valid_lens", "mask", "causal", "need_weights"]),
    "DotProductAttention": ((0.0,), (X, X, X), ["valid_lens", "mask", "causal", "need_weights"]),
    "EncoderBlock": (BLOCK, (X,), ["valid_lens", "mask", "need_weights"]),
    "DecoderBlock": ((*BLOCK, 0), (X, START), ["need_weights"]),
    "TransformerEncoder": (STACK, (IDS, LENS), ["token_types", "need_weights"]),
    "TransformerDecoder": (STACK, (IDS, START), ["need_weights"]),
    "PositionWiseFFN": ((8, 16, 8), (X,), []),
    "AddNorm": ((8, 0.0), (X, X), []),
    "LayerNorm": ((8,), (X,), []),
    "PositionalEncoding": ((8, 0.0), (X,), ["offset"]),
}
WORDS = ("key_padding_mask", "attn_mask", "is_causal", "deterministic", "attention_mask", "src_mask")


@pytest.fixture(autouse=True)
def of_this_package(backend_name):
    if backend_name not in BUILT_IN:
        pytest.skip("a backend of another package says it in its own words")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_by_another_name_is_told_ours(name, word, backend):
    arguments, inputs, ours = CALLS[name]
    with pytest.raises(ArgumentError) as raised:
        called(backend, name, arguments, inputs, {word: MASK})
    said = str(raised.value)
    assert said.startswith(f"{name} takes ") and said.endswith(f", got {word}: {OTHER_NAMES[word].instead}.")
    assert all(f"{each}" in said.split(", got ")[0] for each in ours)


@pytest.mark.parametrize("name", CALLS)
def test_a_name_that_nobody_has_is_refused(name, backend):
    arguments, inputs, _ = CALLS[name]
    with pytest.raises(ArgumentError, match=f"^{name} takes .*, got nonesuch.$"):
        called(backend, name, arguments, inputs, {"nonesuch": 1})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"causal": "no"}, "causal must be True or False, got 'no'; a mask goes to mask=."),
        ({"causal": MASK}, "causal must be True or False, got a ndarray; a mask goes to mask=."),
        ({"need_weights": 1}, "need_weights must be True or False, got 1."),
    ],
)
def test_what_is_yes_or_no_takes_nothing_else(given, said, backend):
    with pytest.raises(ArgumentError) as raised:
        backend.layer("MultiHeadAttention", *ATTENTION)(X, X, X, **given)
    assert str(raised.value) == said


@pytest.mark.parametrize("word", ["batch_first", "embed_dim", "nhead", "d_model", "dropout_rate"])
@pytest.mark.parametrize("name", CALLS)
def test_a_layer_is_not_made_by_another_name(name, word, backend):
    with pytest.raises(ArgumentError) as raised:
        backend.layer(name, *CALLS[name][0], **{word: 1})
    assert str(raised.value) == f"{name} has no argument {word}: {OTHER_NAMES[word].instead}."


@pytest.mark.parametrize("given", [(100, 100), (None, 100), ("encoder", None), (d2l(9, 9), None), (None, None, 100)])
def test_a_model_of_numbers_is_refused(given, backend):
    with pytest.raises(
        ConfigError, match=r"must be a layer or None, got .*EncoderDecoder\.from_config\(config\) makes all parts"
    ):
        backend.EncoderDecoder(*given)


@pytest.mark.parametrize("name", CALLS)
def test_help_of_a_call_tells_shapes_and_options(name, backend):
    layer = getattr(type(backend), name)
    call = next(getattr(layer, each) for each in ("forward", "call", "__call__") if each in vars(layer))
    told = inspect.getdoc(call)
    assert told and "[B, " in told
    if name in ("MultiHeadAttention", "DotProductAttention"):
        assert all(f"{option}:" in told for option in ("valid_lens", "mask", "causal", "need_weights"))


def test_a_users_own_layer_takes_what_it_says(backend):
    """A class derived from ours may have arguments of these names."""
    base = type(backend).LayerNorm
    call = next(each for each in ("forward", "call", "__call__") if each in vars(base))

    def own(self, X, attn_mask=None):
        return getattr(super(Own, self), call)(X)

    def make(self, batch_first, **options):
        base.__init__(self, 8, **options)

    Own = type("Own", (base,), {call: own, "__init__": make, "__module__": "users"})
    layer = backend.make(Own, batch_first=True)
    found, expected = (array(backend, natively(backend, layer, X, **given)) for given in ({"attn_mask": None}, {}))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["apply", "gradients"])
def test_help_of_a_backend_tells_what_comes_back(method, backend):
    assert "Returns:" in inspect.getdoc(getattr(backend, method)) and getattr(backend, method).__doc__
