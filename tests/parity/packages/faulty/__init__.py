"""NumPy's backend with one fault each, as a worker could meet it."""
