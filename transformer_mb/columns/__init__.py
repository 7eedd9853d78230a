"""Questions to processes of their own, since two frameworks in one can crash it.

A column is one of them: a backend, an interpreter, a host and a device. It is opened with a module whose ``begin`` runs
there, says what it is, and answers one request after the other. ``one_shot`` is a single call in such a process.
"""
