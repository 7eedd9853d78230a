"""The probes by topic: the modules of this package, which have the names of the files in ``compare/frameworks/*``."""

from __future__ import annotations

from importlib import import_module

from ..facts import Probe

TOPICS = (
    *("attention", "softmax", "norms", "batch_norms", "activations", "kinks", "embeddings", "indices"),
    *("cross_entropy", "losses", "optimizers", "random_numbers", "numbers", "special_numbers", "compilation"),
)


def probes(topic: str) -> tuple[Probe, ...]:
    return tuple(import_module(f"{__name__}.{topic}").PROBES)


def every_probe() -> dict[str, tuple[str, Probe]]:
    """Topic and probe by the probe's name."""
    return {probe.name: (topic, probe) for topic in TOPICS for probe in probes(topic)}
