"""Computations that are asked of a backend: here for the reference, in a worker's process for the others."""
