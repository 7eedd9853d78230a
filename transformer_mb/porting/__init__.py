"""Models between frameworks: read, map to canonical names, write, and prove that nothing changed.

A *format* (``formats``) is a container: a file that holds named arrays. A *family* (``families``) knows what the arrays
are called and how they lie, and the configuration behind them; some families are folders of their own. An *export*
(``exports``) is a family that is written and never read. The three tables ``FORMATS``, ``FAMILIES`` and ``EXPORTS`` name them.

From below: ``safety`` reads bytes that may lie, ``formats`` makes a ``NativeFile`` of them, ``families`` a ``PortedModel`` of
that (both in ``model``), ``files`` finds out which of them a path holds and puts new ones in place, ``loading`` says what a
written file is for and the lines that load it there, ``proof`` runs both sides by them;
``port`` and ``inspection`` are the two commands.
"""
