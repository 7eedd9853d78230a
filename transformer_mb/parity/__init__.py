"""The parity matrix: every backend against a float64 reference, by a verdict that can fail."""
