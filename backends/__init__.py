"""Subpackages, one per framework, imported as ``transformer_mb.backends.<name>``; see ``transformer_mb.registry``."""
