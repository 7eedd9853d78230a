"""A judge of ports that the port cannot reach: what is compared, how it is kept apart, and a certificate of what was found.

``port_file`` reads which two things are compared, and runs nothing of it. ``sources`` finds the files that each is made
of; ``rules`` and ``confine`` begin each in a process that reads its own alone. ``judging`` draws cases and judges them by the
limits of ``transformer_mb.check``, and ``certificate`` writes what was found, and runs it again.

What the barriers hold up to is in ``tests/judge/cheats.py``. Both processes are of the same user: on a system without Landlock
(Linux 5.13) nothing is certified. A candidate computes by itself, with the weights and inputs that it is given; that it is
good code is for its reader to say.
"""
