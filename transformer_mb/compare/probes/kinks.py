"""Stub."""
PROBES = ()
