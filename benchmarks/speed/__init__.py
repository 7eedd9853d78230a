"""What is timed (``jobs``), who takes part (``contestants``), how they take turns; ``bench.py`` runs the rows of rows.toml."""

from transformer_mb.machine.processor import tell_openblas

tell_openblas()  # as the commands do, before NumPy is imported here
