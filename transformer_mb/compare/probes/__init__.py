"""The probes: a module per topic, which has the name of the topic's tables in ``compare/builtins``."""

from __future__ import annotations

from dataclasses import replace

from ..facts import Probe
from . import (
    activations,
    attention,
    batch_norms,
    compilation,
    cross_entropy,
    embeddings,
    indices,
    kinks,
    losses,
    norms,
    numbers,
    optimizers,
    random_numbers,
    softmax,
    special_numbers,
)

# In the order of the document.
TOPICS = (
    *(attention, softmax, norms, batch_norms, activations, kinks, embeddings, indices),
    *(cross_entropy, losses, optimizers, random_numbers, numbers, special_numbers, compilation),
)
PROBES: dict[str, Probe] = {
    probe.name: replace(probe, topic=topic.__name__.rpartition(".")[2]) for topic in TOPICS for probe in topic.PROBES
}
