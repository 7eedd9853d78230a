"""Models that are right forward, with one mistake each in the backward pass of one sublayer."""

import torch

from transformer_mb.backends.numpy import NumPyBackend
from transformer_mb.backends.torch import TorchBackend


class Doubled(torch.autograd.Function):
    """The identity, with twice its gradient."""

    @staticmethod
    def forward(context, X):
        return X.clone()

    @staticmethod
    def backward(context, gradient):
        return 2.0 * gradient


class FaultyTorch(TorchBackend):
    """``path`` names the sublayer, ``spoil`` changes one of its inputs (the last) or its output."""

    path: str
    changes_output = False

    @staticmethod
    def spoil(X):
        raise NotImplementedError

    def create_empty(self, config):
        model = super().create_empty(config)
        owner = model.get_submodule(self.path)
        forward = owner.forward

        def faulty(*inputs, **options):
            if self.changes_output:
                return self.spoil(forward(*inputs, **options))
            return forward(*inputs[:-1], self.spoil(inputs[-1]), **options)

        owner.forward = faulty
        return model


class Detached(FaultyTorch):
    """The residual connection around the second cross-attention loses its sublayer."""

    name = "detached"
    path = "decoder.blks.block1.addnorm2"
    spoil = staticmethod(torch.detach)


class DoubledKeys(FaultyTorch):
    """The cross-attention of the first block gives its keys twice their gradient, and the encoder with them."""

    name = "doubled_keys"
    path = "decoder.blks.block0.attention2.W_k"
    spoil = staticmethod(Doubled.apply)


class DoubledNorm(FaultyTorch):
    name = "doubled_norm"
    path = "encoder.blks.block0.addnorm2.ln"
    changes_output = True
    spoil = staticmethod(Doubled.apply)


class WithoutBias(NumPyBackend):
    """The feed-forward network of the encoder's second block forgets the gradient of its first bias."""

    name = "without_bias"

    def create_empty(self, config):
        model = super().create_empty(config)
        ffn = list(model.encoder.blks)[1].ffn
        backward = ffn.backward

        def faulty(gradient):
            result = backward(gradient)
            ffn.dense1.bias.gradient[...] = 0.0
            return result

        ffn.backward = faulty
        return model


class WrongLoss(NumPyBackend):
    """A loss whose gradient forgets that it is smoothed."""

    name = "wrong_loss"

    class MaskedSoftmaxCELoss(NumPyBackend.MaskedSoftmaxCELoss):
        def backward(self, gradient):
            before, self.label_smoothing = self.label_smoothing, 0.0
            try:
                return super().backward(gradient)
            finally:
                self.label_smoothing = before
