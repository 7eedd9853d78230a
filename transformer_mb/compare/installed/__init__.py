"""Installed versions of one framework beside each other: what their built-ins do, their speed, and the matrix's cells."""
