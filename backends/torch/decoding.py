"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from transformer_mb.decoding.greedy import greedy_loop
from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.ranking import best_tokens
from transformer_mb.decoding.sampling import Truncation

from .decoding_steps import DecodingSteps
from .encoding import encode
from .model import EncoderDecoder
from .prepared_layers import is_plain
from .sampling import drawn, uniforms
from .threads import suited


def suppress(logits: Tensor, token_ids: Tensor) -> Tensor:
    return logits.index_fill(-1, token_ids, -torch.inf) if len(token_ids) else logits


@torch.inference_mode()
def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)

    def step(tokens: np.ndarray) -> np.ndarray:
        return decoder._logits(tokens).argmax(dim=-1).cpu().numpy()

    with decoder.suited():
        return greedy_loop(step, inputs.tokens.cpu().numpy(), max_steps, model.config.eos_id, inputs.forced)


@torch.inference_mode()
def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    numbers = iter(uniforms(inputs.seeds, model.config.max_len, inputs.tokens.device).T)

    def step(tokens: np.ndarray) -> np.ndarray:
        return drawn(decoder._logits(tokens), next(numbers), truncation).cpu().numpy()

    with decoder.suited():
        return greedy_loop(step, inputs.tokens.cpu().numpy(), max_steps, model.config.eos_id, inputs.forced)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.decoding.session``."""

    @torch.inference_mode()
    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.model, self.attend = model, attend
        self.device = inputs.tokens.device
        # Once, and not at each step: a copy to a GPU waits until all that was begun there is done.
        self.suppressed = torch.tensor(model.config.suppress_ids, dtype=torch.int64, device=self.device)
        read = next(given for given in (inputs.source, inputs.prompt, inputs.tokens) if given is not None)
        self.suited = partial(suited, self.device, model.config, beam * read.numel())
        with self.suited():
            self._begin(inputs, max_steps, beam)

    def _begin(self, inputs: DecodingInputs, max_steps: int, beam: int) -> None:
        model = self.model
        rows, max_steps = beam * len(inputs.tokens), max_steps + inputs.prompt_steps
        enc_outputs, valid_lens = None, inputs.valid_lens
        if model.encoder is not None:
            enc_outputs = encode(model.encoder, inputs.source, valid_lens)
        self.steps: DecodingSteps | None = None
        self.state = model.decoder.init_state(None, None, max_steps, inputs.left_padding)
        if inputs.prompt is not None:
            _, self.state = model.decoder._hidden_states(inputs.prompt, self.state)
            self.reorder(np.arange(len(inputs.tokens)).repeat(beam))
        if not self.attend and is_plain(model.decoder):
            self.steps = DecodingSteps(model.decoder, enc_outputs, valid_lens, self.state[2], rows, max_steps)
        elif enc_outputs is not None:
            self.state[:2] = enc_outputs.repeat_interleave(beam, dim=0), valid_lens.repeat_interleave(beam)

    def _logits(self, tokens: np.ndarray) -> Tensor:
        given = torch.as_tensor(tokens, device=self.device)
        if self.steps is not None:
            logits = self.steps.logits(given)
        else:
            stepped, self.state = self.model.decoder(given[:, None], self.state, need_weights=self.attend)
            logits = stepped[:, 0]
        return suppress(logits, self.suppressed)

    @torch.inference_mode()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        with self.suited():
            return self._best(tokens, count)

    def _best(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        logits = self._logits(tokens)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        log_probs = torch.log_softmax(logits, dim=-1)

        def top(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            best, ids = logits.topk(k)
            return best.cpu().numpy(), ids.cpu().numpy(), log_probs.gather(-1, ids).cpu().numpy()

        def lowest(rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
            ids = torch.arange(logits.shape[-1], dtype=torch.int32, device=self.device)
            tied = logits[torch.as_tensor(rows, device=self.device)] == torch.as_tensor(last, device=self.device)[:, None]
            return torch.where(tied, -ids, -len(ids)).topk(k).indices.cpu().numpy()

        return best_tokens(logits.shape[-1], count, top, lowest)

    @torch.inference_mode()
    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        with self.suited():
            logits = self._logits(tokens)
            return torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), dim=-1).cpu().numpy()

    @torch.inference_mode()
    def reorder(self, rows: np.ndarray) -> None:
        index = torch.as_tensor(rows, device=self.device)
        if self.steps is not None:
            return self.steps.reorder(index)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]

    def attention(self) -> np.ndarray:
        return self.model.decoder.attention_weights[1][-1][:, :, 0].double().mean(dim=1).cpu().numpy()
