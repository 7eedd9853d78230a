"""Files of a port, from a path to a model and back: what is read, written, lies beside it, and may be replaced."""
