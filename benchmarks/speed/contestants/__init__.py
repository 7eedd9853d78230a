"""The contestants: a module each, with a class Contestant(inputs, **options).

It has ``version``; ``check()``, what all contestants of a job must agree on: a loss without dropout, or tokens; and
``round()``, one round of the job as its users run it, which returns the units of work done: tokens. Ours also has
``margins(parted)``, for tokens that differ.
"""
