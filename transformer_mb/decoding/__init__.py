"""Decoding that every backend shares: beam search over a backend's cached session."""
