"""The proof of a port: both sides run on one batch, and every tensor is read back."""
