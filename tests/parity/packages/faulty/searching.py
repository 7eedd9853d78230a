"""Beam searches with one mistake each."""

from transformer_mb.backends.numpy import NumPyBackend


class WithoutPenalty(NumPyBackend):
    name = "without_penalty"

    def beam(self, model, source, source_valid_lens, max_steps, beam=4, length_penalty=0.6):
        return super().beam(model, source, source_valid_lens, max_steps, beam, 0.0)


class WithoutReordering(NumPyBackend):
    name = "without_reordering"

    def start_beam(self, *arguments):
        session = super().start_beam(*arguments)
        session.reorder = lambda rows: None
        return session


class Wider(NumPyBackend):
    """Finds hypotheses that score better than the reference's: not the same search either."""

    name = "wider"

    def beam(self, model, source, source_valid_lens, max_steps, beam=4, length_penalty=0.6):
        return super().beam(model, source, source_valid_lens, max_steps, 3 * beam, length_penalty)
