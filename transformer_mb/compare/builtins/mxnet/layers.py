"""gluon's layers, and npx' softmax and activations: ``npx.leaky_relu`` is the function of a whole family."""

from __future__ import annotations

from typing import Any

import mxnet as mx
from mxnet import autograd, npx
from mxnet.gluon import nn

from ..calls import Table
from .arrays import called

NO_ATTENTION = "MXNet 1.9 has matrix products for packed heads, but no attention: its users write it."
NO_PADDING = "gluon's nn.Embedding has no padding row."


def begun(layer: Any) -> Any:
    """Initialize a layer or a parameter with its own initializers, and return it."""
    layer.initialize()
    return layer


def layer_norm_cast(X: Any) -> Any:
    layer = nn.LayerNorm()
    layer.cast(X.dtype)
    return begun(layer)(X)


def batch_norm(X: Any) -> Any:
    with autograd.record():
        return begun(nn.BatchNorm())(X)


def batch_norm_state(X: Any, **momentum: float) -> tuple[Any, Any]:
    layer = begun(nn.BatchNorm(**momentum))
    with autograd.record():
        output = layer(X)
    output.backward()  # which is what moves the running statistics
    return layer.running_mean.data(), layer.running_var.data()


def batch_norm_forward(X: Any) -> Any:
    layer = begun(nn.BatchNorm())
    with autograd.record():
        layer(X).wait_to_read()
    return layer.running_mean.data()


def embed(ids: Any, table: Any) -> Any:
    layer = begun(nn.Embedding(*table.shape))
    layer.weight.set_data(table)
    return layer(ids)


TABLES: dict[str, Table] = {
    "attention": {
        "attention": NO_ATTENTION,
        "attention_gradients": NO_ATTENTION,
        "attention_with_dropout": NO_ATTENTION,
        "multi_head_attention": NO_ATTENTION,
        "fresh_multi_head_attention": NO_ATTENTION,
        "encoder": "MXNet has no layer for a whole encoder; GluonNLP has one.",
    },
    "softmax": called(
        softmax=npx.softmax,
        masked_softmax=lambda scores, lengths: npx.softmax(scores, lengths.astype("int32"), use_length=True),
        linear=lambda X, weight: npx.fully_connected(X, weight.T, num_hidden=weight.shape[1], no_bias=True, flatten=False),
    ),
    "norms": called(
        layer_norm=lambda X: begun(nn.LayerNorm())(X),
        layer_norm_cast=layer_norm_cast,
        layer_norm_of=lambda X, number: begun(nn.LayerNorm(number))(X),
        rms_norm="MXNet 1.9.1 has no RMS normalization.",
        variance=lambda X: X.var(),
        deviation=lambda X: X.std(),
    ),
    "batch_norms": called(
        batch_norm=batch_norm,
        batch_norm_called=lambda X: begun(nn.BatchNorm())(X),
        batch_norm_state=batch_norm_state,
        batch_norm_forward=batch_norm_forward,
    ),
    "activations": called(
        gelu=lambda X: npx.leaky_relu(X, act_type="gelu"),
        gelu_layer=lambda X: nn.GELU()(X),
        leaky_relu=npx.leaky_relu,
        leaky_relu_layer="gluon's LeakyReLU has no default slope.",
        prelu_layer=lambda X: begun(nn.PReLU())(X),
        hard_sigmoid=lambda X: mx.nd.hard_sigmoid(X.as_nd_ndarray()),
        elu=lambda X: npx.leaky_relu(X, act_type="elu"),
        softplus=lambda X: npx.activation(X, act_type="softrelu"),
        relu=npx.relu,
    ),
    "embeddings": called(
        embed=embed,
        embed_with_padding=NO_PADDING,
        fresh_padding_row=NO_PADDING,
    ),
}
