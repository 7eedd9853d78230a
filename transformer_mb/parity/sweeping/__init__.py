"""Sweeps: the matrix for many seeds, one file per run of it, here or on a cluster, and what all of them together show."""
