"""The rows of the matrix and their cases."""
