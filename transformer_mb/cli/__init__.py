"""The command line ``transformer-mb``: the commands in ``commands/``, and beside them what several share.

``--help`` imports the module of every command, and answers at once: at its head such a module imports typer, the standard
library and small modules of ours (words, defaults, the names of presets). What does the work, and with it NumPy and the
frameworks, is imported inside a command's functions.
"""
