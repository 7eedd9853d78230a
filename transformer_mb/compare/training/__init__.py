"""A small training, asked two questions over seeds.

``runs``: is it the same on every backend, by verdicts that know the seeds' noise? ``effects``: what does a framework's other
default do to it, one default swapped at a time?
"""
