"""Cross-entropy masked by valid length."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate

from .given import floats, lengths, token_ids


class MaskedSoftmaxCELoss(nn.Module):
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
        step_losses = F.cross_entropy(
            pred.flatten(0, 1), label.flatten().long(), reduction="none", label_smoothing=self.label_smoothing
        )
        valid = torch.arange(T, device=pred.device) < valid_len[:, None]
        sums = torch.where(valid, step_losses.unflatten(0, (B, T)), 0.0).sum(dim=1)
        return sums / (T if self.normalization == "steps" else valid_len.sum().clamp(min=1))
