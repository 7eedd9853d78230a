"""From a path to a model and back: what is read, what is written, what lies beside it, and what may be replaced."""
