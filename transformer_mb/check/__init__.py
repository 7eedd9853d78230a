"""The verdict on other people's layers, models and ports: it tells whether a difference is all right.

    report = check.check(
        check.torch("mylib:Block", 64, heads=4),
        check.flax("mylib_jax:Block", 64, heads=4),
        weights={"attn.in_proj_weight": check.stack("attn.q.kernel.T", "attn.k.kernel.T", "attn.v.kernel.T"), ...},
        inputs={"x": check.floats("B", "T", 64)},
        sizes={"B": 3, "T": 7},
    )

Each subject is built in a process of its own. In float64 both must be the same mathematics; in float32 the candidate may lose a
few times what the reference itself loses on the same numbers. ``docs/CHECK.md`` works a port through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from .bisection import bisect
    from .cases import Case
    from .checking import check
    from .inputs import Input, floats, ids, lengths, masks
    from .judging import Judge, judge
    from .limits import Figure
    from .matching import Proposal
    from .matching_answers import match
    from .optimizers import Optimizer, adam, adamw, own_optimizers, sgd
    from .report import Disagreement, Plant, Report
    from .session import Session, opened
    from .shrinking import Replayed, Shrunk, replay, shrink
    from .side import Answer, Side
    from .subjects import Subject, flax, function, gluon, keras, linen, numpy, onnx, paddle, torch
    from .tree import Node, Tree
    from .weight_map import KEPT, WeightMapError, stack, through, weight

_HOMES = {
    **dict.fromkeys(
        ("Subject", "flax", "function", "gluon", "keras", "linen", "numpy", "onnx", "paddle", "torch"), ".subjects"
    ),
    **dict.fromkeys(("Input", "floats", "ids", "lengths", "masks"), ".inputs"),
    **dict.fromkeys(("KEPT", "WeightMapError", "stack", "through", "weight"), ".weight_map"),
    **dict.fromkeys(("Disagreement", "Plant", "Report"), ".report"),
    **dict.fromkeys(("Session", "opened"), ".session"),
    **dict.fromkeys(("Node", "Tree"), ".tree"),
    "bisect": ".bisection",
    **dict.fromkeys(("Optimizer", "adam", "adamw", "own_optimizers", "sgd"), ".optimizers"),
    **dict.fromkeys(("Replayed", "Shrunk", "replay", "shrink"), ".shrinking"),
    "Case": ".cases",
    "Proposal": ".matching",
    "match": ".matching_answers",
    "Figure": ".limits",
    "check": ".checking",
    **dict.fromkeys(("Judge", "judge"), ".judging"),
    **dict.fromkeys(("Answer", "Side"), ".side"),
}
__all__ = [
    "KEPT",
    "Answer",
    "Case",
    "Disagreement",
    "Figure",
    "Input",
    "Judge",
    "Node",
    "Optimizer",
    "Plant",
    "Proposal",
    "Replayed",
    "Report",
    "Session",
    "Shrunk",
    "Side",
    "Subject",
    "Tree",
    "WeightMapError",
    "adam",
    "adamw",
    "bisect",
    "check",
    "flax",
    "floats",
    "function",
    "gluon",
    "ids",
    "judge",
    "keras",
    "lengths",
    "linen",
    "masks",
    "match",
    "numpy",
    "onnx",
    "opened",
    "own_optimizers",
    "paddle",
    "replay",
    "sgd",
    "shrink",
    "stack",
    "through",
    "torch",
    "weight",
]


# A subject's process imports its own framework alone.
__getattr__ = lazy_names(__name__, _HOMES)
