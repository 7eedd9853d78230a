"""The numbers that a backend's trainers drop by their own random numbers."""

from __future__ import annotations

import numpy as np

from ...backend import Backend
from ...config import TransformerConfig
from .making import Spec, batch_of, model_of, trainer_for
from .mask_reading import read_masks
from .messages import Arrays, named, under


def masks(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return by site ``kept`` [seeds, steps, parts, rows, ...], which ``mask_reading`` reads off steps of plain SGD.

    Steps are counted by ``counts``, each from the same weights. ``copied``: two sites of a negative control, the second of
    which has the masks of the first.
    """
    config = TransformerConfig.from_dict(spec["config"])
    batches = [batch_of(under(f"batches.{number}", arrays)) for number in range(spec["parts"])]
    weights = under("weights", arrays)
    found = []
    for seed in spec["seeds"]:
        native = model_of(backend, spec["config"], arrays)
        trainer = trainer_for(backend, native, {"options": {**spec["options"], "seed": seed}})
        for count in spec["counts"]:
            backend.set_weights(native, weights)
            trainer.load_state_dict({**trainer.state_dict(), "step": np.asarray(count, np.int64)})
            trainer.accumulated_step(batches)
            after, rate = backend.get_weights(native), spec["options"]["learning_rate"]
            gradient = {name: (value - after[name]) / rate for name, value in weights.items()}
            found.append(read_masks(config, weights, gradient, batches))
    shape = len(spec["seeds"]), len(spec["counts"])
    kept = {site: np.array([each[site] for each in found]) for site in found[0]}
    if "copied" in spec:
        first, second = spec["copied"]
        kept[second] = kept[first]
    return named("kept", {site: each.reshape(*shape, *each.shape[1:]) for site, each in kept.items()})
