"""Searches for tokens: their inputs, greedy search, beam search, drawing, and the penalties of hypotheses."""
