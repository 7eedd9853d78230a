"""Attention, losses and training curves, drawn with matplotlib, which the extra ``report`` brings, and written to files.

matplotlib is imported when something is drawn, not before.
"""
