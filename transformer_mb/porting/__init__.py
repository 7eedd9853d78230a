"""Models between frameworks: read, map to canonical names, write, and prove that nothing changed.

A *format* (``formats``) is a container: a file that holds named arrays. A *family* (``families``) knows what the arrays
are called and how they lie, and the configuration behind them; some families are folders of their own. An *export*
(``exports``) is a family that is written and never read. The three tables ``FORMATS``, ``FAMILIES`` and ``EXPORTS`` name them.

From below: ``safety`` reads bytes that may lie, ``formats`` makes a ``NativeFile`` of them, ``families`` a ``PortedModel`` of
that (both in ``model``), ``files`` finds out which of them a path holds and puts new ones in place, ``proof`` runs both sides;
``port`` and ``inspection`` are the two commands. ``kinds`` says what a row of the tables holds.
"""
