"""Families of ``transformers`` on every framework: published configurations, cut in width, with random weights.

``python -m tools.families`` makes a folder of each with the library, runs its own class in float64, ports the folder, and runs
the port on every backend in float64. It writes what differs into benchmarks/results/families.json and the table of
docs/PORTING.md.
"""
