"""Ways past the layers that take less time, each held to the layers by ``transformer_mb/conformance/test_shortcuts.py``."""
