"""The parity matrix: every backend against a float64 oracle, by a verdict that can fail."""
