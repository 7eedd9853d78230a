"""Negative controls: known mistakes that the verdict must catch."""
