"""Ways past the layers that take less time, each held to the layers by ``tests/conformance/test_shortcuts.py``."""
