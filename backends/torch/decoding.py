"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .model import EncoderDecoder
from .shortcuts.decoding_steps import DecodingSteps
from .shortcuts.prepared_layers import encode, is_plain
from .shortcuts.recorded_steps import RecordedSteps
from .shortcuts.threads import suit


def suppress(logits: Tensor, token_ids: Tensor) -> Tensor:
    return logits.index_fill(-1, token_ids, -torch.inf) if token_ids.numel() else logits


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(dim=-1))


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    numbers = iter(uniforms(inputs.seeds, model.config.max_len, inputs.tokens.device).T)
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: drawn(logits, next(numbers), truncation))


class BeamDecoder(EagerSession):
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        self.device = inputs.tokens.device
        # Once, and not at each step: a copy to a GPU waits until all that was begun there is done.
        self.suppressed = torch.tensor(self.model.config.suppress_ids, dtype=torch.int64, device=self.device)
        read = next(given for given in (inputs.source, inputs.prompt, inputs.tokens) if given is not None)
        self.positions = beam * read.numel()

    @contextmanager
    def _computing(self) -> Iterator[None]:
        with torch.inference_mode(), suit(self.device, self.model.config, self.positions):
            yield

    def _native(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(array, device=self.device)

    def _array(self, tensor: Tensor) -> np.ndarray:
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()

    def _repeated(self, tensor: Tensor, beam: int) -> Tensor:
        return tensor.repeat_interleave(beam, dim=0)

    def _encoded(self, inputs: DecodingInputs) -> Tensor:
        return encode(self.model.encoder, inputs.source, inputs.valid_lens)

    def _prepared(
        self, enc_outputs: Tensor | None, inputs: DecodingInputs, rows: int, max_steps: int
    ) -> DecodingSteps | RecordedSteps | None:
        decoder = self.model.decoder
        if not is_plain(decoder):
            return None
        steps = DecodingSteps(decoder, enc_outputs, inputs.valid_lens, self.state[2], rows, max_steps)
        return RecordedSteps(steps, decoder) if self.device.type == "cuda" else steps

    def _log_softmax(self, logits: Tensor) -> Tensor:
        return torch.log_softmax(_wide(logits), dim=-1)

    def _top(self, logits: Tensor, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        logits = _wide(logits)
        best, ids = logits.topk(k)
        return best.cpu().numpy(), ids.cpu().numpy(), self._log_softmax(logits).gather(-1, ids).cpu().numpy()

    def _lowest(self, logits: Tensor, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        ids = torch.arange(logits.shape[-1], dtype=torch.int32, device=self.device)
        tied = logits[self._native(rows)] == self._native(last)[:, None]
        return torch.where(tied, -ids, -len(ids)).topk(k).indices.cpu().numpy()


def _wide(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def uniforms(seeds: np.ndarray, steps: int, device: torch.device) -> Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""
    rows = torch.empty(len(seeds), steps, device=device)
    for row, (high, low) in zip(rows, seeds.tolist(), strict=True):
        row.uniform_(generator=torch.Generator(device).manual_seed(high << 31 | low))
    return rows


def drawn(logits: Tensor, uniform: Tensor, truncation: Truncation) -> Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    falling, ids = logits.sort(dim=-1, descending=True, stable=True)  # of equal logits the lowest id first
    weights = torch.exp((falling - falling[:, :1]) / truncation.temperature)
    weights[:, truncation.top_k :] = 0.0
    before = weights.cumsum(dim=-1) - weights
    weights = weights.masked_fill(before >= truncation.top_p * weights.sum(dim=-1, keepdim=True), 0.0)
    total = weights.cumsum(dim=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(dim=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = torch.minimum(place, (weights > 0.0).sum(dim=-1) - 1)
    return ids.gather(-1, place[:, None])[:, 0]
