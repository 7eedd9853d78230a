"""NumPy has no optimizers."""

from __future__ import annotations

ABSENT = dict.fromkeys(
    (
        "adam",
        "adam_by_default",
        "sgd_by_default",
        "adam_with_weight_decay",
        "adamw",
        "rmsprop",
        "adagrad",
        "sgd_with_momentum",
        "clip_by_norm",
        "clip_by_global_norm",
    ),
    "NumPy has no optimizers.",
)
