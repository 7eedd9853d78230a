"""Jobs that are timed (``jobs``), who takes part (``contestants``), how they take turns; ``bench.py`` runs rows.toml."""

from transformer_mb.machine.processor import tell_openblas

tell_openblas()  # as the commands do, before NumPy is imported here
