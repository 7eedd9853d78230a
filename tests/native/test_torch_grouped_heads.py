"""Attention with fewer heads of keys and values than of queries, against Hugging Face's Llama in float64.

PyTorch's layer and the reference's are compared here; the matrix holds all others to the reference.
"""

import numpy as np
import pytest
import torch

import transformer_mb as tmb
from transformer_mb.backends.torch.attention import DotProductAttention
from transformer_mb.errors import ConfigError, ShapeError

pytest.importorskip("transformers", reason="the library that the layers are compared with is not installed")
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

B, T, D, WIDTH = 2, 5, 12, 3
NAMES = {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "o_proj"}


def llamas(heads, few):
    """The library's attention, whose ``repeat_kv`` has consecutive heads of queries ask one head of keys."""
    sizes = {"hidden_size": D, "num_attention_heads": heads, "num_key_value_heads": few, "head_dim": WIDTH}
    config = LlamaConfig(**sizes, attention_bias=True)
    config._attn_implementation = "sdpa"  # the eager one rounds its softmax to float32
    return LlamaAttention(config, layer_idx=0).double().eval()


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize(("heads", "few"), [(4, 2), (6, 2), (6, 3), (4, 1), (4, 4)])
def test_attention_and_its_gradients_are_llamas(heads, few, backend):
    theirs, random = llamas(heads, few), np.random.default_rng(heads + few)
    X, cotangent = random.standard_normal((2, B, T, D))
    inputs = torch.tensor(X, requires_grad=True)
    unturned = torch.ones(1, T, WIDTH, dtype=torch.float64), torch.zeros(1, T, WIDTH, dtype=torch.float64)
    past = torch.full((T, T), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    expected = theirs(inputs, position_embeddings=unturned, attention_mask=past)[0]
    (expected * torch.tensor(cotangent)).sum().backward()
    backend = tmb.get_backend(backend, dtype="float64")
    ours = backend.layer("MultiHeadAttention", D, D, D, D, heads, 0.0, True, head_size=WIDTH, num_kv_heads=few)
    parameters = {f"{name}.{kind}": getattr(getattr(theirs, other), kind) for name, other in NAMES.items() for kind in KINDS}
    backend.set_weights(ours, {name: value.detach().numpy() for name, value in parameters.items()})
    np.testing.assert_allclose(backend.apply(ours, X, X, X, causal=True), expected.detach().numpy(), rtol=0, atol=1e-14)
    _, of_inputs, by_name = backend.gradients(ours, [X, X, X], cotangent, causal=True)
    got = sum(gradient for gradient in of_inputs if gradient is not None)
    np.testing.assert_allclose(got, inputs.grad.numpy(), rtol=0, atol=1e-13)
    for name, value in parameters.items():
        np.testing.assert_allclose(by_name[name], value.grad.numpy(), rtol=0, atol=1e-13)


KINDS = ("weight", "bias")


@pytest.mark.parametrize("way", ["fused", "composed", "with weights"])
@pytest.mark.parametrize("masked", [False, True])
def test_every_way_through_attention_gives_what_repeated_keys_give(way, masked, monkeypatch):
    """Groups of one are the attention that other tests hold: each head of keys and values, repeated, is asked once."""
    if way == "composed":
        monkeypatch.setattr("transformer_mb.backends.torch.attention.FEW_SCORES", 1)
    queries = torch.randn(B, 6, T, WIDTH, dtype=torch.float64, generator=torch.manual_seed(0), requires_grad=True)
    few = torch.randn(2, B, 2, T + 1, WIDTH, dtype=torch.float64, generator=torch.manual_seed(1), requires_grad=True)
    mask = torch.rand(B, 6, T, T + 1, generator=torch.manual_seed(2)) < 0.6 if masked else None
    results = []
    for keys, values in (few, few.repeat_interleave(3, dim=2)):
        attention = DotProductAttention(0.0)
        output = attention(queries, keys, values, mask=mask, causal=True, need_weights=way == "with weights")
        weights = attention.attention_weights
        results.append((output, weights, *torch.autograd.grad(output.sin().sum(), (queries, few))))
    for got, expected in zip(*results, strict=True):
        if expected is not None:
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)
    assert (results[0][1] is None) == (way != "with weights")


def test_heads_that_do_not_divide_are_refused():
    backend = tmb.get_backend("torch")
    with pytest.raises(ConfigError, match="num_kv_heads must divide num_heads = 4, got 3"):
        backend.MultiHeadAttention(8, 8, 8, 8, 4, 0.0, num_kv_heads=3)
    with pytest.raises(ConfigError, match="num_kv_heads must be at least 1, got 0"):
        backend.MultiHeadAttention(8, 8, 8, 8, 4, 0.0, num_kv_heads=0)
    queries, keys = torch.zeros(B, 4, T, WIDTH), torch.zeros(B, 3, T, WIDTH)
    with pytest.raises(ShapeError, match="heads of keys and values must divide those of queries"):
        DotProductAttention(0.0)(queries, keys, keys)


def test_every_side_of_a_model_must_share_its_heads():
    sizes = {"source_vocab_size": 9, "target_vocab_size": 9, "encoder_num_heads": 4, "decoder_num_heads": 2, "num_hiddens": 8}
    with pytest.raises(ConfigError, match="num_kv_heads must divide decoder_num_heads = 2, got 4"):
        tmb.TransformerConfig(**sizes, num_kv_heads=4)
    alone = tmb.TransformerConfig(**{**sizes, "target_vocab_size": None}, architecture="encoder", num_kv_heads=4)
    assert alone.kv_heads("encoder") == 4
