"""Attention as one node, sentences encoded past the checks, few positions on one thread: what users see of them is nothing."""

import threading

import numpy as np
import pytest
import torch

import transformer_mb as tmb
from transformer_mb.backends.torch import DecoderBlock, DotProductAttention, PositionWiseFFN, TransformerEncoder
from transformer_mb.backends.torch.dropout import Dropout
from transformer_mb.backends.torch.shortcuts import decoding_steps, one_row, prepared_layers, random_masks
from transformer_mb.backends.torch.shortcuts.composed_attention import ComposedAttention
from transformer_mb.backends.torch.shortcuts.threads import _openmp, suit
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ShapeError


def arrays(steps=5, keys=6):
    torch.manual_seed(0)
    queries, K, V = (torch.randn(2, 3, n, 4, dtype=torch.float64, requires_grad=True) for n in (steps, keys, keys))
    lens = torch.tensor([[0, 6, 2, 3, 1], [6, 4, 0, 1, 2]])  # 0: a row that may attend to nothing
    return queries, K, V, (torch.arange(keys) < lens[:, None, :steps, None])


def composed(queries, keys, values, allowed, factors, scale):
    scores = (queries @ keys.transpose(-2, -1) * scale).masked_fill(~allowed, -1e300)
    weights = torch.softmax(scores, dim=-1) * allowed
    return (weights if factors is None else weights * factors) @ values


@pytest.mark.parametrize("scale", [0.5, 1.0])
@pytest.mark.parametrize("drops", [True, False])
@pytest.mark.parametrize("keys", [6, 20])
def test_attention_as_one_node_is_differentiated_once_and_twice(keys, drops, scale):
    *tensors, allowed = arrays(keys=keys)
    factors = (torch.rand(2, 3, 5, keys) < 0.7).double() / 0.7 if drops else None
    cotangent = torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    found = []
    for function in (ComposedAttention.apply, composed):
        output = function(*tensors, allowed, factors, scale)
        first = torch.autograd.grad(output, tensors, cotangent, create_graph=True)
        squared = sum(gradient.pow(2).sum() for gradient in first)
        found.append((output, *first, *torch.autograd.grad(squared, (*tensors, cotangent))))
        found.append(torch.autograd.grad(function(*tensors, allowed, factors, scale), tensors, cotangent.detach()))
    for got, expected in zip((*found[0], *found[1]), (*found[2], *found[3]), strict=True):
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-14)
    assert not found[0][0][0, :, 0].any() and not found[1][0][0, :, 0].any()  # nothing at all where nothing may be attended to


def test_attention_without_heads_is_differentiated_as_one_node():
    """[B, T, D], with as many keys as queries, so that exchanged axes would fit."""
    tensors = [tensor.detach()[:, 0].requires_grad_() for tensor in arrays(steps=6)[:3]]
    every, cotangent = torch.ones(2, 6, 6, dtype=torch.bool), torch.randn(2, 6, 4, dtype=torch.float64)
    found = [
        torch.autograd.grad(function(*tensors, every, None, 0.5), tensors, cotangent)
        for function in (ComposedAttention.apply, composed)
    ]
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_in_two_bytes_is_no_node_of_ours(dtype):
    """Its backward would round each step; torch's own softmax keeps float32 inside, forward and backward."""
    queries, keys, values = (torch.randn(4, 4, 12, 16) for _ in range(3))
    layer = DotProductAttention(0.0)
    assert layer(queries.requires_grad_(), keys, values).grad_fn.name() == "ComposedAttentionBackward"
    with torch.autocast("cpu", dtype):
        assert layer(queries, keys, values).grad_fn.name() != "ComposedAttentionBackward"
    half = layer(queries.detach().to(dtype).requires_grad_(), keys.to(dtype), values.to(dtype))
    assert half.grad_fn.name() != "ComposedAttentionBackward"


def test_attention_with_dropout_goes_through_torch_func_and_forward_derivatives():
    layer = DotProductAttention(0.5).double().train()
    layer.dropout.keep = torch.rand(2, 3, 5, 6) < 0.5
    queries, keys, values, allowed = arrays()
    constant = keys.detach(), values.detach()

    def total(given):
        return layer(given, *constant, mask=allowed).sum()

    (expected,) = torch.autograd.grad(total(queries), queries)
    torch.testing.assert_close(torch.func.grad(total)(queries.detach()), expected)
    direction = torch.randn_like(queries.detach())
    along = (expected * direction).sum()
    torch.testing.assert_close(torch.func.jvp(total, (queries.detach(),), (direction,))[1], along)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(queries.detach(), direction)
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(total(dual)).tangent, along)


def test_a_norm_of_two_axes_goes_through_its_layer():
    assert prepared_layers.is_plain(DecoderBlock(8, 8, 8, 8, 8, 8, 8, 2, 0.0, 0))
    assert not prepared_layers.is_plain(DecoderBlock(8, 8, 8, 8, [4, 8], 8, 8, 2, 0.0, 0))


def test_a_rate_next_to_one_keeps_next_to_nothing():
    """Its bound is the largest number of sixteen bits, which alone is kept."""
    assert random_masks.kept((1000,), 1.0 - 1e-9).sum() <= 3
    torch.manual_seed(0)
    assert 24 < random_masks.kept((2**22,), 1.0 - 1e-9).sum() < 104  # 64 by one number in 2^16, with five deviations


@pytest.mark.parametrize("watch", ["hook", "backward hook", "forward", "subclass"])
def test_dropout_of_the_weights_is_asked_where_somebody_watches_it(watch):
    layer, seen = DotProductAttention(0.5).double().train(), []
    if watch == "hook":
        layer.dropout.register_forward_hook(lambda *_: seen.append(1))
    elif watch == "backward hook":
        layer.dropout.register_full_backward_hook(lambda *_: seen.append(1))
    elif watch == "forward":
        layer.dropout.forward = lambda X: seen.append(1) or X
    else:
        layer.dropout.__class__ = type("Own", (Dropout,), {"forward": lambda self, X: seen.append(1) or X})
    queries, keys, values, allowed = arrays()
    layer(queries, keys, values, mask=allowed).sum().backward()
    assert seen == [1]


def test_a_watched_table_of_token_types_gives_the_rows_of_those_given():
    encoder = TransformerEncoder(11, 8, 8, 8, 8, [8], 8, 12, 2, 1, 0.0, token_types=2).eval()
    tokens, types = torch.tensor([[3, 4, 5]]), torch.tensor([[0, 1, 1]])
    expected = encoder(tokens, token_types=types)
    encoder.type_embedding.register_forward_hook(lambda *_: None)
    assert torch.equal(encoder(tokens, token_types=types), expected)
    assert not torch.equal(encoder(tokens), expected)


def test_a_dropout_mask_that_does_not_fit_the_weights_is_refused():
    layer = DotProductAttention(0.5).double().train()
    layer.dropout.keep = torch.ones(2, 3, 5, 7, dtype=torch.bool)
    with pytest.raises(ShapeError, match="dropout mask"):
        layer(*arrays()[:3])


VARIANTS = {
    "d2l": {},
    "pre": {"norm_position": "pre", "final_norm": True, "activation": "gelu"},
    "learned": {"position": "learned", "position_offset": 2, "embedding_norm": True, "token_types": 2},
    "kinds": {"norm_kind": "rms_norm", "encoder_attention_bias": True, "sinusoid_layout": "halves"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_short_source_is_encoded_in_eight_bits_as_the_encoder_does(variant, monkeypatch):
    backend = tmb.get_backend("torch")
    config = TransformerConfig(source_vocab_size=20, target_vocab_size=20, dropout=0.1, **VARIANTS[variant])
    model = backend.quantized(backend.build(config, seed=0).eval())
    source, lens = torch.randint(4, 20, (3, 7)), torch.tensor([7, 3, 1])
    with torch.inference_mode():
        expected = model.encoder(source, lens)
        for block in model.encoder.blks:
            monkeypatch.setattr(type(block), "forward", None)  # the layers' own way is not the one that is taken
        got = prepared_layers.encode(model.encoder, source, lens)
    exact = 2e-2  # masked positions, which differ, decide about a range of all positions
    for row, length in enumerate(lens):
        torch.testing.assert_close(got[row, :length], expected[row, :length], rtol=0, atol=exact * float(expected.abs().max()))


def threads_of(call, layer):
    """How many threads the operations inside a layer's forward had."""
    seen = []
    hook = layer.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    call()
    hook.remove()
    return set(seen)


@pytest.fixture
def two_threads():
    assert _openmp() is not None
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("width", "expected"), [(32, 1), (512, 2)])
def test_few_positions_have_one_thread_and_afterwards_there_are_as_many_as_before(two_threads, width, expected):
    backend = tmb.get_backend("torch")
    sizes = {"num_hiddens": width, "ffn_num_hiddens": 2 * width, "encoder_num_layers": 1, "decoder_num_layers": 1}
    model = backend.build(TransformerConfig(source_vocab_size=50, target_vocab_size=50, **sizes))
    ids, lens = np.full((8, 10), 5), np.full(8, 10)
    batch = Batch(ids, lens, ids, ids, lens)
    trainer, layer = backend.trainer(model), model.encoder.blks[0]
    for call in (
        lambda: trainer.step(batch),
        lambda: backend.greedy(model, ids, lens, 2),
        lambda: backend.beam(model, ids[:4], lens[:4], 2, 2),
    ):
        assert threads_of(call, layer) == {expected}
        assert torch.get_num_threads() == 2


def test_one_thread_is_for_the_caller_alone_and_ends_with_an_error(two_threads):
    found = []
    with pytest.raises(ZeroDivisionError), suit(torch.device("cpu"), tmb.presets.d2l(20, 20), 10):
        assert torch.get_num_threads() == 1
        other = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        other.start()
        other.join()
        1 / 0  # noqa: B018
    assert found == [2] and torch.get_num_threads() == 2


@pytest.mark.parametrize("watched", ["dense2", "dropout", None])
def test_a_compiled_feed_forward_network_shows_what_it_shows_otherwise(watched):
    """Its trace alone is made here, without a compiler."""
    layer, X, seen = PositionWiseFFN(8, 16, 8), torch.randn(2, 3, 8), []
    expected = layer(X)
    if watched is not None:
        getattr(layer, watched).register_forward_hook(lambda _, given, __: seen.append(given[0].dim()))
    compiled = torch.compile(layer, backend="eager", dynamic=True, fullgraph=watched is None)
    torch.testing.assert_close(compiled(X), expected)
    assert seen == ([] if watched is None else [3])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("maker", ["Intel", "another"])
def test_one_row_is_multiplied_by_the_faster_library(bias, maker, monkeypatch):
    """To the same numbers; a small weight stays with the one whose calls cost less."""
    calls, own = [], torch.ops.mkldnn._linear_pointwise
    monkeypatch.setattr(one_row, "_onednn_is_the_better_one", lambda: maker == "another")
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", lambda *given: calls.append(1) or own(*given))
    with torch.inference_mode():
        for width in (64, 320):
            layer, X = torch.nn.Linear(width, width, bias=bias), torch.randn(1, width)
            expected = X.double() @ layer.weight.double().T + (layer.bias.double() if bias else 0.0)
            torch.testing.assert_close(prepared_layers.product(1, layer)(X).double(), expected, rtol=0, atol=1e-5)
    assert len(calls) == (maker == "another")


@pytest.mark.parametrize("rows", [1, 2])
def test_one_row_in_bfloat16_is_multiplied_without_onednn(rows, monkeypatch):
    """Only while a step computes; the encoder, and several rows, have it."""
    backend, linear, seen = tmb.get_backend("torch", dtype="bfloat16"), torch.nn.functional.linear, []
    model, steps = backend.build(TransformerConfig(source_vocab_size=9, target_vocab_size=9), seed=0), []
    own = decoding_steps.DecodingSteps.logits
    monkeypatch.setattr(decoding_steps.DecodingSteps, "logits", lambda *given: steps.append(1) or own(*given))

    def watched(*given):
        seen.append((bool(steps), torch.backends.mkldnn.enabled))
        return linear(*given)

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    backend.greedy(model, np.full((rows, 20), 5), np.full(rows, 20), 4)
    assert set(seen) == {(False, True), (True, rows > 1)} and torch.backends.mkldnn.enabled


@pytest.mark.parametrize("before", [True, False])
def test_onednn_is_back_when_the_last_thread_leaves(before, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", before)
    seen, go_on, inside = [], threading.Event(), threading.Event()

    def other():
        with one_row.without_onednn():
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=other)
    with pytest.raises(ZeroDivisionError), one_row.without_onednn():
        thread.start()
        inside.wait()
        raise ZeroDivisionError
    seen.append(torch.backends.mkldnn.enabled)
    go_on.set()
    thread.join()
    assert [*seen, torch.backends.mkldnn.enabled] == [False, before]


@torch.inference_mode()
def test_a_step_of_one_row_in_bfloat16_loses_no_more_than_the_layers_do():
    """Beside float64 on the same weights, which are bfloat16's numbers; the layers' products are oneDNN's."""
    config = TransformerConfig(source_vocab_size=50, target_vocab_size=50, num_hiddens=64, ffn_num_hiddens=256)
    half, exact = (tmb.get_backend("torch", dtype=dtype) for dtype in ("bfloat16", "float64"))
    model = half.build(config, seed=0).eval()
    weights = half.get_weights(model)
    tokens, source, lens = torch.tensor([[1, 7, 30, 12]]), torch.full((1, 9), 5), torch.tensor([9])
    expected = torch.as_tensor(exact.logits(exact.from_weights(config, weights), source, tokens, lens))

    def error(logits):
        return ((logits.double() - expected).abs().max() / expected.abs().max()).item()

    encoded = model.encoder(source, lens)
    caches = model.decoder.init_state(None, None, 4)[2]
    steps = decoding_steps.DecodingSteps(model.decoder, encoded, lens, caches, 1, 4)
    found = torch.stack([steps.logits(token) for token in tokens[0, :, None]], dim=1)
    by_layers, _ = model.decoder(tokens, model.decoder.init_state(encoded, lens))
    assert 0 < error(found) <= 2 * error(by_layers) < 0.05
