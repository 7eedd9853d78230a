"""Layers of T5 and Llama that the book's Transformer has not, against those of Hugging Face's transformers in float64.

PyTorch's layers and the reference's are compared here; the matrix holds all others to the reference.
"""

import numpy as np
import pytest
import torch

import transformer_mb as tmb
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.families import t5
from transformer_mb.porting.model import PortedModel
from transformer_mb.positions import relative_buckets

pytest.importorskip("transformers", reason="the library that the layers are compared with is not installed")
from transformers import LlamaConfig, T5Config, T5ForConditionalGeneration
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.models.t5.modeling_t5 import T5Attention, T5DenseGatedActDense

D, F, B, T = 8, 12, 2, 5
THEIRS = {
    "gelu_tanh": (
        lambda: T5DenseGatedActDense(T5Config(d_model=D, d_ff=F, feed_forward_proj="gated-gelu", dropout_rate=0.0)),
        {"dense1": "wi_0", "dense3": "wi_1", "dense2": "wo"},
    ),
    "silu": (
        lambda: LlamaMLP(LlamaConfig(hidden_size=D, intermediate_size=F, num_attention_heads=2, hidden_act="silu")),
        {"dense1": "gate_proj", "dense3": "up_proj", "dense2": "down_proj"},
    ),
}


def gradients_of(layer, X, cotangent):
    """The output, and the gradients of sum(output * cotangent): of X, and by the parameter's name."""
    layer.double().eval()
    X = torch.tensor(X, requires_grad=True)
    Y = layer(X)
    (Y * torch.tensor(cotangent)).sum().backward()
    return Y.detach().numpy(), X.grad.numpy(), {name: weight.grad.numpy() for name, weight in layer.named_parameters()}


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("activation", THEIRS)
def test_the_gated_network_is_t5s_and_llamas(activation, backend):
    make, names = THEIRS[activation]
    theirs, rng = make(), np.random.default_rng(0)
    X, cotangent = rng.standard_normal((B, T, D)), rng.standard_normal((B, T, D))
    expected, of_input, of_weights = gradients_of(theirs, X, cotangent)
    backend = tmb.get_backend(backend, dtype="float64")
    ours = backend.layer("PositionWiseFFN", D, F, D, activation=activation, use_bias=False, gated=True)
    weights = {f"{name}.weight": getattr(theirs, other).weight.detach().numpy() for name, other in names.items()}
    backend.set_weights(ours, weights)
    np.testing.assert_allclose(backend.apply(ours, X), expected, rtol=1e-13, atol=1e-13)
    _, (got,), by_name = backend.gradients(ours, [X], cotangent)
    np.testing.assert_allclose(got, of_input, rtol=1e-12, atol=1e-12)
    for name, other in names.items():
        np.testing.assert_allclose(by_name[f"{name}.weight"], of_weights[f"{other}.weight"], rtol=1e-12, atol=1e-12)


def t5_attention(heads, width):
    """T5's own attention without a bias of positions: scores are not scaled, and heads are as wide as ``width`` says."""
    config = T5Config(d_model=D, num_heads=heads, d_kv=width, dropout_rate=0.0)
    return T5Attention(config, has_relative_attention_bias=False, layer_idx=0)


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize(("heads", "width"), [(2, 3), (3, 5)])
def test_attention_is_t5s(heads, width, backend):
    theirs, rng = t5_attention(heads, width), np.random.default_rng(1)
    theirs = theirs.double().eval()
    X, cotangent = rng.standard_normal((B, T, D)), rng.standard_normal((B, T, D))
    inputs = torch.tensor(X, requires_grad=True)
    expected = theirs(inputs, mask=torch.zeros(1, 1, T, T, dtype=torch.float64))[0]
    (expected * torch.tensor(cotangent)).sum().backward()
    backend = tmb.get_backend(backend, dtype="float64")
    ours = backend.layer("MultiHeadAttention", D, D, D, D, heads, 0.0, head_size=width, attention_scale=False)
    names = {"W_q": "q", "W_k": "k", "W_v": "v", "W_o": "o"}
    backend.set_weights(ours, {f"{n}.weight": getattr(theirs, other).weight.detach().numpy() for n, other in names.items()})
    np.testing.assert_allclose(backend.apply(ours, X, X, X), expected.detach().numpy(), rtol=1e-13, atol=1e-13)
    _, of_inputs, by_name = backend.gradients(ours, [X, X, X], cotangent)
    got = sum(gradient for gradient in of_inputs if gradient is not None)
    np.testing.assert_allclose(got, inputs.grad.numpy(), rtol=1e-12, atol=1e-12)
    for name, other in names.items():
        gradient = getattr(theirs, other).weight.grad.numpy()
        np.testing.assert_allclose(by_name[f"{name}.weight"], gradient, rtol=1e-12, atol=1e-12)


T5 = {
    "d_model": D, "d_kv": 3, "d_ff": F, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "dropout_rate": 0.0,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0,
}  # fmt: skip


@pytest.mark.parametrize("buckets", [4, 5, 8, 20, 32, 33, 64])
@pytest.mark.parametrize("max_distance", [40, 100, 128, 1000])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_the_buckets_are_those_of_the_library(buckets, max_distance, bidirectional):
    """Whole numbers, rounded as there by logarithms of float32."""
    distances = torch.arange(-5000, 5001)
    theirs = T5Attention._relative_position_bucket(distances, bidirectional, buckets, max_distance)
    np.testing.assert_array_equal(relative_buckets(5000, buckets, max_distance, bidirectional), theirs.numpy())


def test_the_buckets_of_the_published_models_by_hand():
    """32 of them up to 128: eight distances each have one of their own, then 8 to 11 share one, and so on."""
    before, after = np.split(relative_buckets(128, 32, 128, True)[:-1], 2)
    assert before[::-1][:16].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 9, 9, 9, 9, 10] and before[0] == 15
    assert after[:9].tolist() == [0, *range(17, 25)] and after[-1] == 31
    assert relative_buckets(128, 32, 128, False)[128:].tolist() == [0] * 129


@pytest.mark.parametrize("tied", [True, False], ids=["T5 1.0", "T5 1.1"])
def test_the_library_runs_what_is_written(tied, tmp_path):
    """Tied, scaled and not gated as the models of 2019, or none of it. Its norms are of float32 inside."""
    kind = {"tie_output": tied, "output_scale": tied, "ffn_gated": not tied, "activation": "relu" if tied else "gelu_tanh"}
    sizes = {
        "num_hiddens": D,
        "ffn_num_hiddens": F,
        "encoder_num_heads": 2,
        "decoder_num_heads": 2,
        "head_size": 3,
        "dropout": 0.0,
    }
    config = tmb.TransformerConfig(
        **{**t5.FIXED, **sizes, **kind, **dict.fromkeys(t5.RATES, 0.0)},
        decoder_start_id=0,
        source_vocab_size=11,
        target_vocab_size=11,
        max_len=20,
        pad_id=0,
        eos_id=1,
        bos_id=0,
    )
    weights = random_weights(parameter_shapes(config))
    t5.ROW.write(
        PortedModel(config=config, weights={name: array.astype(np.float32) for name, array in weights.items()}), tmp_path
    )
    read = t5.ROW.read(tmp_path, {})
    assert read.config == config and all(
        (read.weights[name] == array.astype(np.float32)).all() for name, array in weights.items()
    )
    source, target = np.array([[4, 5, 6, 1], [7, 1, 0, 0]]), np.array([[0, 8, 9], [0, 10, 2]])
    theirs = T5ForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64).eval()
    given = {"input_ids": torch.tensor(source), "attention_mask": torch.tensor(source > 0).long()}
    expected = theirs(**given, decoder_input_ids=torch.tensor(target)).logits.detach().numpy()
    backend = tmb.get_backend("torch", dtype="float64")
    got = backend.logits(backend.from_weights(config, read.weights), source, target, np.array([4, 2]))
    assert np.linalg.norm(got - expected) < 1e-6 * np.linalg.norm(expected)
