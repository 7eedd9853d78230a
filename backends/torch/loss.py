"""Cross-entropy masked by valid length."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate
from transformer_mb.layer_calls import Called

from .given import floats, lengths, token_ids


class _CrossEntropy(torch.autograd.Function):
    """F.cross_entropy of each row; its gradient is made in place of a softmax, in one array of the logits' size."""

    generate_vmap_rule = True  # so that torch.func takes it

    @staticmethod
    def forward(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        log_probs = logits.log_softmax(-1)
        losses = -log_probs.gather(-1, labels[:, None])[:, 0]
        if smoothing:
            losses = (1.0 - smoothing) * losses - smoothing * log_probs.mean(-1)
        return losses

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
        logits, labels, ctx.smoothing = inputs
        ctx.save_for_backward(logits, labels)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        logits, labels = ctx.saved_tensors
        result = logits.softmax(-1)
        # In one pass, where what is scattered to would be written and read again; and torch.func's jacrev maps over gradients
        # alone, of which nothing else can be written into.
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            chosen = torch.arange(logits.shape[-1], device=logits.device) == labels[:, None]
            result = result - ctx.smoothing / logits.shape[-1]
            return torch.where(chosen, result + (ctx.smoothing - 1.0), result) * gradient[:, None], None, None
        if torch.is_grad_enabled():  # a gradient of gradients needs what softmax gave
            result = result.clone()
        if ctx.smoothing:
            result.sub_(ctx.smoothing / logits.shape[-1])
        result.scatter_add_(-1, labels[:, None], torch.full_like(labels[:, None], ctx.smoothing - 1.0, dtype=result.dtype))
        return result.mul_(gradient[:, None]), None, None


class MaskedSoftmaxCELoss(Called, nn.Module):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        super().__init__()
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: Tensor, label: Tensor, valid_len: Tensor) -> Tensor:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        if pred.dtype in (torch.bfloat16, torch.float16):
            pred = pred.float()
        # Dynamo takes no Function that could be differentiated forwards: what its forward computes is differentiated instead.
        entropy = _CrossEntropy.forward if forward_ad._current_level >= 0 else _CrossEntropy.apply
        step_losses = entropy(pred.flatten(0, 1), label.flatten().long(), self.label_smoothing)
        valid = torch.arange(T, device=pred.device) < valid_len[:, None]
        sums = torch.where(valid, step_losses.unflatten(0, (B, T)), 0.0).sum(dim=1)
        return sums / (T if self.normalization == "steps" else valid_len.sum().clamp(min=1))
