"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

import math

import numpy as np
import paddle
from paddle import Tensor

from transformer_mb.decoding.greedy import greedy_loop
from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.ranking import best_tokens
from transformer_mb.decoding.sampling import Truncation

from .decoding_steps import DecodingSteps
from .encoding import encode
from .loss import _log_sum_exp
from .model import EncoderDecoder
from .prepared_layers import hidden_keys, is_plain
from .sampling import drawn, uniforms
from .weights import _take_threads


def suppress(logits: Tensor, token_ids: tuple[int, ...]) -> Tensor:
    if not token_ids:
        return logits
    return paddle.index_fill(logits, paddle.to_tensor(token_ids, place=logits.place), -1, -math.inf)


@paddle.no_grad()
def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)

    def step(tokens: np.ndarray) -> np.ndarray:
        # Paddle does not say which of equal ones it is: the first, by Eigen on a CPU and by CUB on a GPU.
        return decoder._logits(tokens).argmax(axis=-1).numpy()

    return greedy_loop(step, inputs.tokens.numpy(), max_steps, model.config.eos_id, inputs.forced)


@paddle.no_grad()
def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)

    def step(tokens: np.ndarray) -> np.ndarray:
        return drawn(decoder._logits(tokens), next(numbers), truncation).numpy()

    return greedy_loop(step, inputs.tokens.numpy(), max_steps, model.config.eos_id, inputs.forced)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.decoding.session``."""

    @paddle.no_grad()
    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        _take_threads(sum(parameter.size for parameter in model.decoder.dense.parameters()))
        self.model, self.attend = model, attend
        self.place = inputs.tokens.place
        max_steps += inputs.prompt_steps
        enc_outputs, hidden = None, None
        if model.encoder is not None:
            hidden = hidden_keys(inputs.valid_lens, inputs.source.shape[1], model.decoder.parameters()[0])
            if is_plain(model.encoder):
                enc_outputs = encode(model.encoder, inputs.source, hidden)
            else:
                enc_outputs = model.encoder(inputs.source, inputs.valid_lens)
        self.steps: DecodingSteps | None = None
        self.state = model.decoder.init_state(None, None, max_steps, inputs.left_padding)
        if inputs.prompt is not None:
            _, self.state = model.decoder._hidden_states(inputs.prompt, self.state)
            self.reorder(np.arange(len(inputs.tokens)).repeat(beam))
        if not attend and is_plain(model.decoder):
            self.steps = DecodingSteps(model.decoder, enc_outputs, hidden, self.state[2], max_steps)
        elif enc_outputs is not None:
            self.state[:2] = enc_outputs.repeat_interleave(beam, axis=0), inputs.valid_lens.repeat_interleave(beam)

    def _logits(self, tokens: np.ndarray) -> Tensor:
        given = paddle.to_tensor(tokens, place=self.place)
        if self.steps is not None:
            logits = self.steps.logits(given)
        else:
            stepped, self.state = self.model.decoder(given.unsqueeze(1), self.state, need_weights=self.attend)
            logits = stepped[:, 0]
        return suppress(logits, self.model.config.suppress_ids)

    @paddle.no_grad()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        logits = self._logits(tokens)

        def top(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            best, ids = logits.topk(k)
            # Composed, because Paddle's own log_softmax on the CPU never falls below -64.
            total = _log_sum_exp(logits - best[:, :1]).unsqueeze(1)
            return best.numpy(), ids.numpy(), (best - best[:, :1] - total).numpy()

        def lowest(rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
            ids = paddle.arange(logits.shape[-1])
            crowded = logits.index_select(paddle.to_tensor(rows, place=self.place))
            tied = crowded == paddle.to_tensor(last, place=self.place).unsqueeze(1)
            return paddle.where(tied, -ids, paddle.full_like(ids, -len(ids))).topk(k)[1].numpy()

        return best_tokens(logits.shape[-1], count, top, lowest)

    @paddle.no_grad()
    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        logits = self._logits(tokens)
        logits = logits if logits.dtype == paddle.float64 else logits.astype("float32")
        logits -= logits.max(axis=-1, keepdim=True)
        return (logits - _log_sum_exp(logits).unsqueeze(1)).numpy()

    @paddle.no_grad()
    def reorder(self, rows: np.ndarray) -> None:
        index = paddle.to_tensor(rows, place=self.place)
        if self.steps is not None:
            return self.steps.reorder(index)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]

    @paddle.no_grad()
    def attention(self) -> np.ndarray:
        return self.model.decoder.attention_weights[1][-1][:, :, 0].astype("float64").mean(axis=1).numpy()
