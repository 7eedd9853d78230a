"""What T5 and Llama have that the book's Transformer has not, against the layers of Hugging Face's transformers in float64.

PyTorch's layers and the reference's are compared here; the matrix holds all others to the reference.
"""

import numpy as np
import pytest
import torch

import transformer_mb as tmb

pytest.importorskip("transformers", reason="the library that the layers are compared with is not installed")
from transformers import LlamaConfig, T5Config
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.models.t5.modeling_t5 import T5DenseGatedActDense

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
