"""Rotary attention of PyTorch's backend in float64, held to functions and attention of Hugging Face's Llama and GPT-J."""

import pytest
import torch
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as turned_by_gptj
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, apply_rotary_pos_emb

from transformer_mb.backends.torch.attention import MultiHeadAttention
from transformer_mb.backends.torch.rotary import RotaryEncoding

D, H, T, WIDTH, BASE = 24, 3, 7, 8, 500.0
STEPS = torch.arange(T, dtype=torch.float64)
# The library computes its angles in float32 whatever the model is; here by its formula in float64.
ANGLES = STEPS[:, None] * BASE ** (-torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)


def in_halves():
    """[1, T, d] of cosines and of sines, as the library has them for Llama."""
    both = torch.cat((ANGLES, ANGLES), dim=-1)[None]
    return both.cos(), both.sin()


def test_halves_are_those_of_llama():
    X = torch.randn(2, H, T, WIDTH, dtype=torch.float64, generator=torch.manual_seed(0))
    expected, _ = apply_rotary_pos_emb(X, X, *in_halves())
    got = RotaryEncoding(WIDTH, T, base=BASE, layout="halves")(X)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-15)
    assert (got - RotaryEncoding(WIDTH, T, base=BASE, layout="interleaved")(X)).abs().max() > 0.1


def test_interleaved_ones_are_those_of_gptj():
    X = torch.randn(2, T, H, WIDTH, dtype=torch.float64, generator=torch.manual_seed(0))  # GPT-J has steps before heads
    expected = turned_by_gptj(X, ANGLES.sin()[None], ANGLES.cos()[None]).transpose(1, 2)
    got = RotaryEncoding(WIDTH, T, base=BASE, layout="interleaved")(X.transpose(1, 2))
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("bias", [False, True])
def test_the_attention_of_llama_and_its_gradients(bias):
    config = LlamaConfig(hidden_size=D, num_attention_heads=H, num_key_value_heads=H, attention_bias=bias)
    config._attn_implementation = "sdpa"  # the eager one rounds its softmax to float32
    theirs = LlamaAttention(config, layer_idx=0).double().eval()
    ours = MultiHeadAttention(D, D, D, D, H, 0.0, bias, position="rotary", rotary_base=BASE, max_len=T + 1).double().eval()
    ours.load_state_dict({f"W_{key}": value for key, value in renamed(theirs.state_dict())})
    X = torch.randn(2, T, D, dtype=torch.float64, generator=torch.manual_seed(1), requires_grad=True)
    past = torch.full((T, T), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    expected = theirs(X, position_embeddings=in_halves(), attention_mask=past)[0]
    got = ours(X, X, X, causal=True)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-14)
    cotangent = torch.randn(2, T, D, dtype=torch.float64, generator=torch.manual_seed(2))
    inputs = [(expected, [X, *theirs.parameters()]), (got, [X, *ours.parameters()])]
    theirs_gradients, our_gradients = (torch.autograd.grad(output, wanted, cotangent) for output, wanted in inputs)
    for own, other in zip(our_gradients, theirs_gradients, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=1e-13)
    assert (ours(X, X, X, causal=True, offset=1) - expected).abs().max() > 1e-3


def renamed(state):
    """Take ``k_proj.weight`` as ``k.weight``."""
    return [(name.replace("_proj", ""), value) for name, value in state.items()]


@pytest.mark.parametrize(("dtype", "digits"), [(torch.float16, 11), (torch.bfloat16, 8)])
def test_a_turn_in_two_bytes_is_rounded_once(dtype, digits):
    """By angles in float32: what comes out is as near as a number of so many binary digits can be."""
    turn = RotaryEncoding(WIDTH, 500, base=BASE, layout="halves")
    X = torch.randn(1, H, 500, WIDTH, generator=torch.Generator().manual_seed(0)).to(dtype)
    exact = turn(X.double())
    errors = (turn(X).double() - exact).abs() / exact.abs().clamp(min=2.0**-10)
    assert errors.max() <= 1.001 * 2.0**-digits


def test_a_table_has_the_dtype_of_what_it_turns_and_is_kept():
    turn = RotaryEncoding(WIDTH, 9, base=BASE, layout="halves")
    turn(torch.randn(1, H, 5, WIDTH))
    table = turn.table
    assert table.dtype == torch.float32
    turn(torch.randn(1, H, 9, WIDTH))
    assert turn.table is table
