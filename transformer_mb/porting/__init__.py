"""Models between frameworks: read, map to canonical names, write, and prove that nothing changed.

A *format* (``formats``) is a container: a file that holds named arrays. A *family* (``families``) knows what the arrays
are called and how they lie, and the configuration behind them; some families are folders of their own. An *export*
(``exports``) is written and never read. The three tables ``FORMATS``, ``FAMILIES`` and ``EXPORTS`` name all of them.
"""
