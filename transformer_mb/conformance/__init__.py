"""The suite that every backend is held to: ``pytest --pyargs transformer_mb.conformance --backend NAME``.

Each test runs on the backend of that name, built in or of another package, and compares it with the NumPy backend in float64,
whose gradients are derived by hand, or with what is said in ``transformer_mb.interface``. What the framework cannot do stands
in the backend's ``divergences``: an expected failure with its reason, which fails the suite once it works.

The tests need ``pytest`` and the extra ``parity``; with ``-m "not long"`` they take a minute or so.
"""

import os

from transformer_mb.columns.environment import SETTINGS

for _name, _value in SETTINGS.items():  # before NumPy or a framework is imported; who starts the tests may say otherwise
    os.environ.setdefault(_name, _value)
