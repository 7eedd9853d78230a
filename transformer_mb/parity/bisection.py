"""Finds where a failed model first differs: each sublayer is fed what the reference fed its own, and what it inherits.

Forward first; where that is right, backward: see backward.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..built_in import PLAIN_DTYPES
from ..columns.messages import Arrays
from ..config import TransformerConfig
from ..errors import WorkerError
from ..files.tensors import write_tensors
from .backward import Backward, examine_backward
from .cells import FAILED, Ask
from .computing import reference
from .computing.messages import Request, under
from .ladder import LADDER
from .verdict.answers import judged
from .verdict.comparison import Comparison
from .verdict.limits import error, gradient_errors
from .walk import drawn, not_run, other_ways, part_request, walk

BISECTED = ("model", "step", "decode", "cached")


def can_bisect(experiment: Any) -> bool:
    """Tell whether an experiment runs a whole model on one batch."""
    return (
        experiment.dtype in PLAIN_DTYPES
        and getattr(experiment, "request", None) is not None
        and (experiment.request.computation in BISECTED)
    )


@dataclass
class Node:
    """A part of the model: the verdict on the reference's input, and the error of its output from its own.

    That is None for a part that was run once more, in another way of the failed model.
    """

    path: str
    failed: bool
    reason: str
    inherited: float | None


def bisect(experiment: Any, ask: Ask, dump: Path | None = None, rows: Iterable[str] | None = None) -> tuple[str, str]:
    """Name what differs first in a failed model, and show all its sublayers as text.

    Args:
        dump: inputs and outputs of every sublayer go there as safetensors.
        rows: those of the experiment that failed; where none of them is of gradients, none is looked at.
    """
    if setting := experiment.request.spec.get("setting"):
        ask = partial(_in_setting, setting, ask)
    request = _forward(experiment.request)
    nodes = examine(request, ask, dump, experiment.request)
    first = next((node.path for node in nodes if node.failed), None)
    lines = _drawn(nodes, first)
    if first is not None:
        return first, "\n".join(lines)
    unseen = " or ".join(["in how they are joined", *(f"in {one}" for one in not_run(experiment.request))])
    backward_failed = rows is None or any(LADDER[row].measured != "outputs" for row in rows)
    differentiated = backward_failed and under("gradient", getattr(experiment, "expected", {}))
    passes = Backward.of(experiment.request, request) if differentiated else None
    if passes is None:
        return "", "\n".join([*lines, f"every sublayer is right by itself: the difference is {unseen}"])
    cause, backward = examine_backward(passes, ask)
    lines += backward
    if cause is not None:
        return cause, "\n".join(lines)
    worst = _worst_gradients(experiment, ask)
    lines.append(f"every sublayer is right by itself, backward too: the difference is {unseen}, or in the embeddings")
    # Without a sublayer the same gradients are off.
    return "; ".join(line.partition(":")[0] for line in worst), "\n".join([*lines, *worst])


def _in_setting(setting: str, ask: Ask, request: Request) -> Arrays:
    return ask(request.in_setting(setting))


def _forward(request: Request) -> Request:
    """A model request for the weights and the batch of any computation on a whole model."""
    batch = under("batch", request.arrays)
    if request.computation == "decode":
        batch = {name: request.arrays[name] for name in ("source", "source_valid_lens")}
        batch["target_in"] = request.arrays["target"]
    arrays = {name: value for name, value in request.arrays.items() if name.startswith("weights.")}
    arrays |= {f"batch.{name}": value for name, value in batch.items()}
    return Request("model", request.dtype, {"config": request.spec["config"]}, arrays)


def examine(request: Request, ask: Ask, dump: Path | None, failed: Request) -> list[Node]:
    """Examine all sublayers in the order of the forward pass, each also in the other ways of the ``failed`` request."""
    config, batch = TransformerConfig.from_dict(dict(request.spec["config"])), under("batch", request.arrays)
    asked: list[Request] = []
    outputs: list[np.ndarray] = []

    def expected(path: str, method: str | None, inputs: list[Any], **call: Any) -> np.ndarray:
        asked.append(part_request(request, path, method, inputs, call))
        outputs.append(reference.answer(asked[-1])["output"])
        return outputs[-1]

    walk(config, batch, expected)
    inherited = iter(_inherited(request, config, batch, ask, outputs))
    nodes: list[Node] = []
    for number, (part, output) in enumerate(zip(asked, outputs, strict=True), 1):
        name = part.spec["path"] + (f".{part.spec['method']}" if part.spec["method"] else "")
        nodes.append(_node(name, part, ask, next(inherited)))
        if dump is not None:
            _dump(dump / f"{number:02d} {name}.safetensors", part, output, ask)
        nodes += [_node(f"{name} ({words})", other, ask, None) for words, other in other_ways(failed, part)]
    return nodes


def _node(name: str, part: Request, ask: Ask, inherited: float | None) -> Node:
    result = judged(Comparison(name, part.dtype, ("layer forward",), partial(replace, part)), "", ask)[0]
    return Node(name, result.status == FAILED, result.reason, inherited)


def _inherited(request: Request, config: TransformerConfig, batch: Arrays, ask: Ask, outputs: list[np.ndarray]) -> list[float]:
    """The errors of the backend's own chain; what comes after one that gives no array is not known."""
    errors: list[float] = []

    def own(path: str, method: str | None, inputs: list[Any], **call: Any) -> np.ndarray:
        output = ask(part_request(request, path, method, inputs, call))["output"]
        errors.append(error(output, outputs[len(errors)]))
        return output

    try:
        walk(config, batch, own)
    except (WorkerError, AssertionError):
        errors += [float("nan")] * (len(outputs) - len(errors))
    return errors


def _drawn(nodes: list[Node], first: str | None) -> list[str]:
    """Return a line per sublayer, those of a block indented; the block itself follows them."""
    lines = []
    for node in nodes:
        inherited = "" if node.inherited is None else f"; inherited {node.inherited:.1e}"
        lines.append(drawn(node.path, node.failed, f"{node.path}: own {node.reason}{inherited}", node.path == first))
    return lines


def _worst_gradients(experiment: Any, ask: Ask) -> list[str]:
    expected = under("gradient", getattr(experiment, "expected", {}))
    if not expected:
        return []
    got = under("gradient", ask(experiment.request))
    errors = {name: one.norm for name, one in gradient_errors({name: got[name] for name in expected}, expected).items()}
    off = [name for name, value in errors.items() if value != 0.0]
    worst = sorted(off, key=lambda name: errors[name] if np.isfinite(errors[name]) else np.inf, reverse=True)
    return [f"gradient of {name}: {errors[name]:.1e}" for name in worst[:5]]


def _dump(path: Path, part: Request, output: np.ndarray, ask: Ask) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: value for name, value in part.arrays.items() if not name.startswith("weights.")}
    arrays |= {"expected": output, "output": ask(part)["output"]}
    write_tensors(path, arrays)
