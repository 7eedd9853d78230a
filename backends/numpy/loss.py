"""Cross-entropy masked by valid length."""

from __future__ import annotations

import numpy as np

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate

from .framework import Layer, row_sums, softmax_shift
from .given import floats, lengths, token_ids
from .rounding import format_of, in_float32, rounded_array


class MaskedSoftmaxCELoss(Layer):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: np.ndarray, label: np.ndarray, valid_len: np.ndarray) -> np.ndarray:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        rows = in_float32(pred).reshape(B * T, -1)
        shift = softmax_shift(rows)
        if shift is not None:
            rows = rows - shift
        powers = np.exp(rows)
        totals = row_sums(powers)
        places = np.arange(B * T), label.reshape(-1)
        # sum(q log p) = log-total times 1, less the rows' part: (1 - smoothing) at the label, smoothing over all.
        step_losses = np.log(totals)[:, 0] - (1.0 - self.label_smoothing) * rows[places]
        if self.label_smoothing:
            step_losses -= self.label_smoothing / rows.shape[1] * row_sums(rows)[:, 0]
        valid = np.arange(T) < valid_len[:, None]
        divisor = T if self.normalization == "steps" else max(int(valid_len.sum()), 1)
        self.remember(pred.shape, format_of(pred), powers, totals, places, valid, divisor)
        return np.where(valid, step_losses.reshape(B, T), 0.0).sum(axis=1) / divisor

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        """Return softmax less q for each valid step; nothing for the others."""
        shape, rounded_to, result, totals, places, valid, divisor = self.recall()
        weights = np.where(valid, in_float32(gradient)[:, None] / divisor, 0.0).reshape(-1, 1)
        result *= weights / totals
        result[places] -= (1.0 - self.label_smoothing) * weights[:, 0]
        if self.label_smoothing:
            result -= self.label_smoothing / shape[-1] * weights
        return rounded_array(result.reshape(shape), rounded_to)
