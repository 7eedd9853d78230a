"""The command line ``transformer-mb``: one module per command.

A command's module imports no more than typer before the command runs, so that ``--help`` answers at once.
"""
