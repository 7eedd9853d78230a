"""Decoding as every backend offers it: greedily, by beam search, by drawing, and with scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, ClassVar

import numpy as np

from ..call_checks import check_side, config_of
from ..config import TransformerConfig
from ..errors import ConfigError
from ..ownership import check_own
from .beam_search import LENGTH_PENALTY, ScoredIds, beam_search, check_search, greedy_search
from .coverage_penalty import Coverage, check_coverage_penalty
from .ensemble import Ensemble, as_models, shared_config
from .generate import generate_by_beam, generate_greedily
from .generation_config import GenerationConfig
from .inputs import DecodingInputs, decoding_inputs
from .prompts import alike, continued_apart
from .sampling import Sampling, Truncation
from .score_rules import score_rules
from .session import BeamSession


class Searches(ABC):
    """A backend's native searches (``run_greedy``, ``run_sample``, ``start_beam``), and the calls that are made of them.

    Where a search takes a model it takes a list of them too (but for ``sample``), which decode as one: see ``Ensemble``.
    """

    name: ClassVar[str]
    imitates_int8: ClassVar[bool] = False  # computes in floats what int8 would: to see what it loses, in more time than float32

    @abstractmethod
    def run_greedy(self, model: Any, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
        """Generated ids [B, steps], of equal logits the lowest id; everything from eos on is ignored by the caller."""

    @abstractmethod
    def run_sample(self, model: Any, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
        """Drawn ids [B, steps]; a row's draws depend only on its ``inputs.seeds`` and the number of the step."""

    @abstractmethod
    def start_beam(self, model: Any, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False) -> BeamSession:
        """A cached decoding of ``beam`` rows for each source or prompt; ``attend``: its ``attention`` will be asked for.

        It begins and steps inside ``_decoding``.
        """

    def _decoding(self, model: Any) -> AbstractContextManager[Any]:
        """Inside, the model drops nothing; afterwards it is in the mode that it was in."""
        return nullcontext()

    def quantized(self, model: Any) -> Any:
        """A copy for decoding alone, whose linear layers multiply whole numbers of eight bits (``translate --dtype int8``).

        Raises ConfigError where the framework has no such products, DtypeError for weights that are not float32 on a CPU.
        """
        return self._quantized(model)

    def _quantized(self, model: Any) -> Any:
        raise ConfigError(f"int8 must be decoded with backend torch or numpy, got {self.name}, which has no such products.")

    @continued_apart
    def greedy(
        self, model: Any, source: Any, source_valid_lens: Any = None, max_steps: Any = None, *, prefixes: Any = None
    ) -> list[list[int]]:
        """The most probable token at each step; lists of ids without bos and eos, at most ``max_steps`` long.

        Of tokens with equal logits that with the lowest id; never one of ``suppress_ids``, whatever ties.

        Args:
            source: [B, S] int, what the encoder reads. A decoder alone has none: for it this is the prompt, ids of its
                own vocabulary that it continues, as it was trained (so with bos, where training began with it).
                The lists hold what follows the prompt.
            source_valid_lens: [B] int, how many ids of each row there are; None means all. Rows of different lengths
                give what each of them gives alone.
            max_steps: from 1 to max_len, one number or one for each row; a prompt of n tokens leaves max_len + 1 - n. None
                means as many as there can be.
            prefixes: for each row a list of ids, perhaps empty, that its target begins with, without bos; shorter than
                ``max_steps``. The model continues them, and the lists begin with them. Not for a decoder alone.
        Raises:
            ConfigError: the model has no decoder, or max_steps is no whole number. ShapeError, TokenError: for ids, lengths,
            prefixes and steps.
        """
        inputs, limits = self._decoding_inputs(model, "greedy", source, source_valid_lens, max_steps, prefixes)
        models = as_models(model)
        if len(models) > 1:
            found = self._searched(models, inputs, limits, 1, LENGTH_PENALTY, 1, 0.0, most_probable=True)
            return [hypotheses[0].ids for hypotheses in found]
        (model,) = models
        return _ended(model.config, self.run_greedy(model, inputs, int(limits.max())), limits)

    @continued_apart
    def sample(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        max_steps: Any = None,
        sampling: Sampling | None = None,
        *,
        rows: Any = None,
        prefixes: Any = None,
    ) -> list[list[int]]:
        """Draw each token by its probability (see ``Sampling``); takes and returns what ``greedy`` does.

        Args:
            rows: [B] int, the number of each row, by which and by the seed its tokens are drawn; None: from 0 on.
        """
        sampling = Sampling() if sampling is None else sampling
        if not isinstance(sampling, Sampling):
            raise ConfigError(f"sampling must be a Sampling, got {sampling!r:.80}.")
        if len(models := as_models(model)) > 1:
            raise ConfigError(f"Tokens are drawn from one model, got an ensemble of {len(models)}.")
        (model,) = models
        inputs, limits = self._decoding_inputs(model, "sample", source, source_valid_lens, max_steps, prefixes)
        inputs = inputs._replace(seeds=sampling.seeds(rows, len(limits)))
        truncation = sampling.truncation(model.config.target_vocab_size)
        return _ended(model.config, self.run_sample(model, inputs, int(limits.max()), truncation), limits)

    @continued_apart
    def beam(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        max_steps: Any = None,
        beam: int = 4,
        length_penalty: float = LENGTH_PENALTY,
        *,
        coverage_penalty: float = 0.0,
        prefixes: Any = None,
    ) -> list[list[int]]:
        """Beam search (see ``beam_search``, also for ties) of what ``greedy`` takes; lists of ids without bos and eos.

        Args:
            beam: hypotheses followed at once, from 1 on. length_penalty: from 0 to 10; more favors longer ones.
            coverage_penalty: from 0 to 10; more favors those that attended to all of the source (see ``Coverage``).
        """
        check_search(beam, length_penalty, 1)
        given = self._decoding_inputs(model, "beam", source, source_valid_lens, max_steps, prefixes)
        found = self._searched(as_models(model), *given, beam, length_penalty, 1, coverage_penalty)
        return [hypotheses[0].ids for hypotheses in found]

    @continued_apart
    def hypotheses(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        max_steps: Any = None,
        beam: int = 4,
        length_penalty: float = LENGTH_PENALTY,
        n_best: int | None = None,
        *,
        coverage_penalty: float = 0.0,
        prefixes: Any = None,
    ) -> list[list[ScoredIds]]:
        """The best hypotheses of each source with their scores, the best first: that of ``beam``, or of ``greedy`` with beam=1.

        ``n_best`` are how many, at most ``beam``; None: all of them. Fewer where there are no more.
        """
        n_best = beam if n_best is None else n_best
        check_search(beam, length_penalty, n_best)
        given = self._decoding_inputs(model, "hypotheses", source, source_valid_lens, max_steps, prefixes)
        models = as_models(model)
        return self._searched(models, *given, beam, length_penalty, n_best, coverage_penalty, most_probable=beam == 1)

    def generate(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        generation: GenerationConfig | None = None,
    ) -> list[list[int]]:
        """Decode as transformers' ``generate`` does by a generation_config.json; takes and returns what ``greedy`` does.

        Each row gives what transformers gives for it alone. ``suppress_ids`` of the model are never generated either.

        Args:
            generation: None stands for a file without any field: greedily, 20 tokens.
        Raises:
            ConfigError: no GenerationConfig, ids or lengths that the model does not have, or several models.
        """
        generation = GenerationConfig() if generation is None else generation
        if not isinstance(generation, GenerationConfig):
            raise ConfigError(f"generation must be a GenerationConfig, got {generation!r:.80}.")
        if len(models := as_models(model)) > 1:
            raise ConfigError(f"By a generation configuration one model decodes, got an ensemble of {len(models)}.")
        config = self._config(model, "decoder", "generate")
        generation.check_ids(config)
        found: dict[int, list[int]] = {}
        for rows, ids, lens in alike(config, source, source_valid_lens):
            found.update(zip(rows, self._generated(models[0], ids, lens, generation), strict=True))
        return [found[row] for row in range(len(found))]

    def _generated(self, model: Any, source: np.ndarray, lens: np.ndarray, generation: GenerationConfig) -> list[list[int]]:
        """Decode rows whose prompts have one length."""
        config, beam = model.config, generation.num_beams
        prompt = np.full((len(source), 1), config.start_id) if config.has_encoder else source
        longest = generation.longest(prompt.shape[1], config.max_len)
        steps = longest - prompt.shape[1]
        inputs, limits = self._decoding_inputs(model, "generate", source, lens, steps)
        sources = [row[:length] for row, length in zip(np.asarray(source), lens, strict=True)]
        given = {"eos_id": config.eos_id, "never": config.suppress_ids, "prompt": prompt.shape[1], "longest": longest}
        rules = score_rules(generation, **given, sources=sources)
        with self._decoding(model):
            session = self.start_beam(model, inputs, steps, beam)
            if beam == 1:
                found = generate_greedily(session, rules, prompt, steps, config.eos_id)
            else:
                shape = beam, generation.length_penalty, generation.early_stopping
                found = generate_by_beam(session, rules, prompt, steps, config.eos_id, *shape)
        return [[token for token in row if token >= 0] for row in _ended(config, found, limits)]

    def _check_model(self, model: Any, side: str, call: str) -> None:
        """Refuse another backend's model, and one without the side that a call needs."""
        check_own(self, model)
        check_side(config_of(model), side, call)

    def _config(self, model: Any, side: str, call: str) -> TransformerConfig:
        """Return the configuration of a model, or the one that the models of an ensemble share."""
        models = as_models(model)
        for one in models:
            self._check_model(one, side, call)
        return shared_config([one.config for one in models])

    def _searched(
        self,
        models: tuple[Any, ...],
        inputs: DecodingInputs,
        limits: np.ndarray,
        beam: int,
        length_penalty: float,
        n_best: int,
        coverage_penalty: float,
        most_probable: bool = False,
    ) -> list[list[ScoredIds]]:
        config = shared_config([model.config for model in models])
        check_coverage_penalty(coverage_penalty, config)
        first_tokens, eos_id = inputs.tokens, config.eos_id
        steps, attend = int(limits.max()), bool(coverage_penalty)
        with ExitStack() as decoding:
            for model in models:
                decoding.enter_context(self._decoding(model))
            sessions = [self.start_beam(model, inputs, steps, beam, attend) for model in models]
            session = Ensemble(sessions) if len(sessions) > 1 else sessions[0]
            if coverage_penalty:
                session = Coverage(session, coverage_penalty, inputs.source, inputs.valid_lens, beam)
            if most_probable:
                return greedy_search(session, limits, length_penalty, first_tokens, eos_id, inputs.forced)
            return beam_search(session, limits, beam, length_penalty, first_tokens, eos_id, n_best, inputs.forced)

    def _decoding_inputs(
        self, model: Any, call: str, source: Any, valid_lens: Any, max_steps: Any, prefixes: Any = None
    ) -> tuple[DecodingInputs, np.ndarray]:
        config = self._config(model, "decoder", call)
        return decoding_inputs(config, source, valid_lens, max_steps, prefixes, call)


def _ended(config: TransformerConfig, rows: np.ndarray, limits: np.ndarray) -> list[list[int]]:
    """Cut each row at its eos, or at its limit."""
    cut = [row[:limit] for row, limit in zip(rows.tolist(), limits, strict=True)]
    return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in cut]
