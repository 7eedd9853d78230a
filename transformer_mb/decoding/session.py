"""The steps that a search asks of a backend, and their bookkeeping where a framework's operations run one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from .inputs import DecodingInputs
from .ranking import best_tokens


class BeamSession(Protocol):
    """A cached decoding of B * beam rows, those of one source next to each other."""

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Feed one token [rows]; returns the ``count`` best log-probabilities and their ids, [rows, count] each.

        The best come first, by their logits; of equal logits the lowest ids, inside the ``count`` and at its end.
        """
        ...

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """Take the step of ``step``; returns all log-probabilities, [rows, V], -inf where a token is suppressed."""
        ...

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Take the step of ``step``; returns the logits before any token is suppressed, [rows, V], in at least float32."""
        ...

    def reorder(self, rows: np.ndarray) -> None:
        """Row r continues from what was row ``rows[r]``."""
        ...

    def attention(self) -> np.ndarray:
        """[rows, S]: what the last step attended to, where the session was started for it.

        The last decoder block's cross-attention, its mean over the heads.
        """
        ...


class EagerSession(ABC):
    """The BeamSession of a framework whose operations run one by one, and the loop that takes one token at a time.

    The source is encoded once, or a prompt is fed at once. A step computes one token of each row, on ``steps`` where a backend
    has some that go past its layers, else by the decoder itself. A backend says how, by methods on its tensors.

    Args:
        model: an EncoderDecoder. inputs: tensors. max_steps: tokens to be produced at most. beam: rows of each source.
        attend: whether ``attention`` will be asked for; the steps are then the decoder's own.
    """

    _suppress: ClassVar[Callable[..., Any]]  # from logits and ``suppressed`` to logits that are -inf there
    steps: Any = None  # with ``logits(tokens)`` and ``reorder(rows)``

    def __init__(self, model: Any, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.model, self.attend = model, attend
        self.suppressed: Any = model.config.suppress_ids
        self._look(inputs, beam)
        with self._computing():
            self._begin(inputs, max_steps + inputs.prompt_steps, beam)

    def _begin(self, inputs: DecodingInputs, max_steps: int, beam: int) -> None:
        decoder, count = self.model.decoder, len(inputs.tokens)
        enc_outputs = None if self.model.encoder is None else self._encoded(inputs)
        self.state = decoder.init_state(None, None, max_steps, inputs.left_padding)
        if inputs.prompt is not None:
            _, self.state = decoder._hidden_states(inputs.prompt, self.state)
            self.reorder(np.arange(count).repeat(beam))
        if not self.attend:
            self.steps = self._prepared(enc_outputs, inputs, count * beam, max_steps)
        if self.steps is None and enc_outputs is not None:
            self.state[:2] = self._repeated(enc_outputs, beam), self._repeated(inputs.valid_lens, beam)

    @abstractmethod
    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        """Note what the computations depend on, before the first of them."""

    @abstractmethod
    def _computing(self) -> AbstractContextManager[Any]:
        """Inside, the framework keeps nothing for gradients."""

    @abstractmethod
    def _native(self, array: np.ndarray) -> Any:
        """A tensor of whole numbers beside the model."""

    @abstractmethod
    def _array(self, tensor: Any) -> np.ndarray: ...

    @abstractmethod
    def _repeated(self, tensor: Any, beam: int) -> Any:
        """Repeat each row ``beam`` times."""

    @abstractmethod
    def _encoded(self, inputs: DecodingInputs) -> Any:
        """Encode the source [B, S]: [B, S, D]."""

    def _prepared(self, enc_outputs: Any, inputs: DecodingInputs, rows: int, max_steps: int) -> Any:
        """Steps past the layers, for rows = B * beam; None where these are to be called."""
        return None

    @abstractmethod
    def _top(self, logits: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Answer the first question of ``best_tokens``."""

    @abstractmethod
    def _lowest(self, logits: Any, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        """Answer the question of ``best_tokens`` about rows in which tokens tie."""

    @abstractmethod
    def _log_softmax(self, logits: Any) -> Any:
        """[rows, V], in at least float32."""

    def _logits(self, tokens: np.ndarray) -> Any:
        return self._suppress(self._all_logits(tokens), self.suppressed)

    def _all_logits(self, tokens: np.ndarray) -> Any:
        given = self._native(tokens)
        if self.steps is not None:
            return self.steps.logits(given)
        logits, self.state = self.model.decoder(given[:, None], self.state, need_weights=self.attend)
        return logits[:, 0]

    def generated(self, inputs: DecodingInputs, max_steps: int, chosen: Callable[[Any], Any]) -> np.ndarray:
        """[B, steps]: each step's ``chosen(logits)``, or what is ``forced``, is fed to the next, until every row has ended."""
        tokens, forced = self._array(inputs.tokens), inputs.forced
        finished = np.zeros(tokens.shape, dtype=bool)
        generated = []
        with self._computing():
            for number in range(max_steps):
                tokens = self._array(chosen(self._logits(tokens)))
                if forced is not None:
                    tokens = np.where(forced[:, number] >= 0, forced[:, number], tokens)
                generated.append(tokens)
                finished |= tokens == self.model.config.eos_id
                if finished.all():
                    break
        return np.stack(generated, axis=1)

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        with self._computing():
            logits = self._logits(tokens)
            return best_tokens(logits.shape[-1], count, partial(self._top, logits), partial(self._lowest, logits))

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        with self._computing():
            return self._array(self._log_softmax(self._logits(tokens)))

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        with self._computing():
            found = self._array(self._all_logits(tokens))
        return found.astype(np.promote_types(found.dtype, np.float32), copy=False)

    def reorder(self, rows: np.ndarray) -> None:
        with self._computing():
            index = self._native(rows)
            if self.steps is not None:
                return self.steps.reorder(index)
            # Cross-attention stays: all rows of one source share it.
            self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]

    def attention(self) -> np.ndarray:
        weights = self._array(self.model.decoder.attention_weights[1][-1])
        return np.asarray(weights[:, :, 0].astype(np.float64).mean(axis=1))
