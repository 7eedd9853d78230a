"""Cached decoding: the source is encoded once, and each step computes one token."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .model import EncoderDecoder


def suppress(logits: Tensor, token_ids: tuple[int, ...]) -> Tensor:
    return logits.index_fill(-1, torch.tensor(token_ids, device=logits.device), -torch.inf) if token_ids else logits


@torch.inference_mode()
def greedy(model: EncoderDecoder, source: Tensor, valid_lens: Tensor, max_steps: int) -> Tensor:
    config = model.config
    state = model.decoder.init_state(model.encoder(source, valid_lens), valid_lens, max_steps)
    tokens = torch.full((source.shape[0], 1), config.start_id, device=source.device)
    finished = torch.zeros_like(tokens, dtype=torch.bool)
    generated = []
    for _ in range(max_steps):
        logits, state = model.decoder(tokens, state)
        tokens = suppress(logits, config.suppress_ids).argmax(dim=-1)
        generated.append(tokens)
        finished |= tokens == config.eos_id
        if finished.all():
            break
    return torch.cat(generated, dim=1)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    @torch.inference_mode()
    def __init__(self, model: EncoderDecoder, source: Tensor, valid_lens: Tensor, max_steps: int, beam: int):
        model.eval()
        enc_outputs = model.encoder(source, valid_lens).repeat_interleave(beam, dim=0)
        self.model = model
        self.state = model.decoder.init_state(enc_outputs, valid_lens.repeat_interleave(beam), max_steps)

    @torch.inference_mode()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        column = torch.as_tensor(tokens, device=self.state[0].device)[:, None]
        logits, self.state = self.model.decoder(column, self.state)
        log_probs = torch.log_softmax(suppress(logits[:, 0].float(), self.model.config.suppress_ids), dim=-1)
        best, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1)
        return best.double().cpu().numpy(), ids.cpu().numpy()

    @torch.inference_mode()
    def reorder(self, rows: np.ndarray) -> None:
        index = torch.as_tensor(rows, device=self.state[0].device)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]
