"""Modules, one per command, or a package where a command has several parts.

Each has ``NAME``, its word on the command line, and ``command``; those with commands of their own, compare and tokenizer,
have ``app`` in its place.
"""
