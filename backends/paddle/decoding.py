"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import paddle
from paddle import Tensor

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .dropout import kept_random_state
from .loss import log_sum_exp
from .model import EncoderDecoder
from .shortcuts.decoding_steps import DecodingSteps
from .shortcuts.prepared_layers import encode, hidden_keys, is_plain
from .shortcuts.threads import suit


def suppress(logits: Tensor, token_ids: tuple[int, ...]) -> Tensor:
    if not token_ids:
        return logits
    return logits + _suppression(token_ids, logits.shape[-1], logits.dtype, logits.place)


@lru_cache(maxsize=16)
def _suppression(token_ids: tuple[int, ...], vocab_size: int, dtype: paddle.dtype, place: Any) -> Tensor:
    """[V]: minus infinity at these tokens. Made once, since index_fill makes three tensors at each step."""
    return paddle.to_tensor(np.where(np.isin(np.arange(vocab_size), token_ids), -np.inf, 0.0), dtype, place)


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    # Paddle does not say which of equal ones it is: the first, by Eigen on a CPU and by CUB on a GPU.
    return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=-1))


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: drawn(logits, next(numbers), truncation))


class BeamDecoder(EagerSession):
    _computing = staticmethod(paddle.no_grad)
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        suit(sum(parameter.size for parameter in self.model.decoder.dense.parameters()))
        self.place, self.hidden = inputs.tokens.place, None
        if self.model.encoder is not None:
            self.hidden = hidden_keys(inputs.valid_lens, inputs.source.shape[1], self.model.decoder.parameters()[0])

    def _native(self, array: np.ndarray) -> Tensor:
        return paddle.to_tensor(array, place=self.place)

    def _array(self, tensor: Tensor) -> np.ndarray:
        return tensor.numpy()

    def _repeated(self, tensor: Tensor, beam: int) -> Tensor:
        return tensor.repeat_interleave(beam, axis=0)

    def _encoded(self, inputs: DecodingInputs) -> Tensor:
        encoder = self.model.encoder
        if is_plain(encoder):
            return encode(encoder, inputs.source, self.hidden)
        return encoder(inputs.source, inputs.valid_lens)

    def _prepared(self, enc_outputs: Tensor | None, inputs: DecodingInputs, rows: int, max_steps: int) -> DecodingSteps | None:
        decoder = self.model.decoder
        return DecodingSteps(decoder, enc_outputs, self.hidden, self.state[2], max_steps) if is_plain(decoder) else None

    def _log_softmax(self, logits: Tensor) -> Tensor:
        logits = logits if logits.dtype == paddle.float64 else logits.astype("float32")
        logits -= logits.max(axis=-1, keepdim=True)
        return logits - log_sum_exp(logits).unsqueeze(1)

    def _top(self, logits: Tensor, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        best, ids = logits.topk(k)
        # Composed, because Paddle's own log_softmax on the CPU never falls below -64.
        total = log_sum_exp(logits - best[:, :1]).unsqueeze(1)
        return best.numpy(), ids.numpy(), (best - best[:, :1] - total).numpy()

    def _lowest(self, logits: Tensor, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        ids = paddle.arange(logits.shape[-1])
        tied = logits.index_select(self._native(rows)) == self._native(last).unsqueeze(1)
        return paddle.where(tied, -ids, paddle.full_like(ids, -len(ids))).topk(k)[1].numpy()


def uniforms(seeds: np.ndarray, steps: int) -> Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]; the caller's random numbers stay as they were."""
    rows = []
    with kept_random_state():
        for high, low in seeds.tolist():
            paddle.seed(high << 31 | low)
            rows.append(paddle.rand([steps], "float32"))
    return paddle.stack(rows)


def drawn(logits: Tensor, uniform: Tensor, truncation: Truncation) -> Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits if logits.dtype == paddle.float64 else logits.astype("float32")
    ids = paddle.argsort(logits, axis=-1, descending=True, stable=True)  # of equal logits the lowest id first
    falling = paddle.take_along_axis(logits, ids, -1)
    weights = paddle.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = paddle.where(paddle.arange(weights.shape[-1]) < truncation.top_k, weights, paddle.zeros_like(weights))
    before = weights.cumsum(axis=-1) - weights
    kept = before < truncation.top_p * weights.sum(axis=-1, keepdim=True)
    weights = paddle.where(kept, weights, paddle.zeros_like(weights))
    total = weights.cumsum(axis=-1)
    place = (total <= uniform.astype(total.dtype)[:, None] * total[:, -1:]).astype("int64").sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = paddle.minimum(place, (weights > 0.0).astype("int64").sum(axis=-1) - 1)
    return paddle.take_along_axis(ids, place[:, None], -1)[:, 0]
