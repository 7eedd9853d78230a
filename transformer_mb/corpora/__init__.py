"""Corpora of any length translated in shards: ranges of lines, each a unit of work with a file of its own."""
