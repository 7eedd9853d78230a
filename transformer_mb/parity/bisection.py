"""Where a failed model first differs: every sublayer by itself, fed what the reference fed its own, and as it inherits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..config import TransformerConfig
from ..errors import WorkerError
from ..files.tensors import write_tensors
from ..registry import PLAIN_DTYPES
from .cells import FAILED, Ask
from .computing import reference
from .computing.messages import Arrays, Request, under, without_arrays
from .verdict.answers import judged
from .verdict.comparison import Comparison
from .verdict.measure import error, gradient_floor

BISECTED = ("model", "step", "decode", "cached")
# path, method, inputs, keyword arguments -> the sublayer's output
Runner = Callable[..., np.ndarray]


def can_bisect(experiment: Any) -> bool:
    """Whether an experiment runs a whole model on one batch."""
    return (
        experiment.dtype in PLAIN_DTYPES
        and getattr(experiment, "request", None) is not None
        and (experiment.request.computation in BISECTED)
    )


@dataclass
class Node:
    """One part of the model: the verdict on the reference's input, and the error of its output from its own."""

    path: str
    failed: bool
    reason: str
    inherited: float


def walk(config: TransformerConfig, batch: Arrays, run: Runner) -> None:
    """A model's forward pass as a sequence of its sublayers, whole blocks after what is inside them."""
    states = None
    if config.has_encoder:
        states = _encoder(config, batch, run)
    if config.has_decoder:
        _decoder(config, batch, states, run)


def _encoder(config: TransformerConfig, batch: Arrays, run: Runner) -> np.ndarray:
    lens = batch.get("source_valid_lens")
    X = run("encoder", "embed", [batch["source"]], token_types=batch.get("token_types"))
    for i in range(config.encoder_num_layers):
        block, start = f"encoder.blks.block{i}", X
        Y = _read(config, run, f"{block}.addnorm1", X)
        X = run(f"{block}.addnorm1", None, [X, run(f"{block}.attention", None, [Y, Y, Y, lens])])
        X = run(f"{block}.addnorm2", None, [X, run(f"{block}.ffn", None, [_read(config, run, f"{block}.addnorm2", X)])])
        X = run(block, None, [start, lens])
    return run("encoder.norm", None, [X]) if config.final_norm else X


def _decoder(config: TransformerConfig, batch: Arrays, states: np.ndarray | None, run: Runner) -> None:
    lens = batch.get("source_valid_lens")
    X = run("decoder", "embed", [batch["target_in"]])
    for i in range(config.decoder_num_layers):
        block, start = f"decoder.blks.block{i}", X
        Y = _read(config, run, f"{block}.addnorm1", X)
        X = run(f"{block}.addnorm1", None, [X, run(f"{block}.attention1", None, [Y, Y, Y], causal=True)])
        if states is not None:
            Y = _read(config, run, f"{block}.addnorm2", X)
            X = run(f"{block}.addnorm2", None, [X, run(f"{block}.attention2", None, [Y, states, states, lens])])
        X = run(f"{block}.addnorm3", None, [X, run(f"{block}.ffn", None, [_read(config, run, f"{block}.addnorm3", X)])])
        X = run(block, None, [start, [states, lens, [None] * config.decoder_num_layers]])
    X = run("decoder.norm", None, [X]) if config.final_norm else X
    if not config.tie_output:
        run("decoder.dense", None, [X])


def _read(config: TransformerConfig, run: Runner, addnorm: str, X: np.ndarray) -> np.ndarray:
    return run(addnorm, "sublayer_input", [X]) if config.norm_position == "pre" else X


def bisect(experiment: Any, ask: Ask, dump: Path | None = None) -> tuple[str, str]:
    """What differs first in a failed model, in a few words, and all its sublayers as text.

    ``dump``: inputs and outputs of every sublayer go there as safetensors.
    """
    request = _forward(experiment.request)
    nodes = examine(request, ask, dump)
    first = next((node.path for node in nodes if node.failed), None)
    lines = _drawn(nodes, first)
    if first is None:
        lines.append("every sublayer is right by itself: the difference is in how they are joined, or in the backward pass")
        lines += _worst_gradients(experiment, ask)
    # Without a sublayer the same gradients are off.
    return first or "; ".join(line.partition(":")[0] for line in lines[len(nodes) :]), "\n".join(lines)


def _forward(request: Request) -> Request:
    """A model request for the weights and the batch of any computation on a whole model."""
    batch = under("batch", request.arrays)
    if request.computation == "decode":
        batch = {name: request.arrays[name] for name in ("source", "source_valid_lens")}
        batch["target_in"] = request.arrays["target"]
    arrays = {name: value for name, value in request.arrays.items() if name.startswith("weights.")}
    arrays |= {f"batch.{name}": value for name, value in batch.items()}
    return Request("model", request.dtype, {"config": request.spec["config"]}, arrays)


def examine(request: Request, ask: Ask, dump: Path | None = None) -> list[Node]:
    """Every sublayer in the order of the forward pass."""
    config, batch = TransformerConfig.from_dict(dict(request.spec["config"])), under("batch", request.arrays)
    asked: list[Request] = []
    outputs: list[np.ndarray] = []

    def expected(path: str, method: str | None, inputs: list[Any], **call: Any) -> np.ndarray:
        asked.append(_part(request, path, method, inputs, call))
        outputs.append(reference.answer(asked[-1])["output"])
        return outputs[-1]

    walk(config, batch, expected)
    inherited = iter(_inherited(request, config, batch, ask, outputs))
    nodes = []
    for part, output in zip(asked, outputs, strict=True):
        name = part.spec["path"] + (f".{part.spec['method']}" if part.spec["method"] else "")
        comparison = Comparison(name, request.dtype, ("layer forward",), partial(replace, part))
        result = judged(comparison, "", ask)[0]
        nodes.append(Node(name, result.status == FAILED, result.reason, next(inherited)))
        if dump is not None:
            _dump(dump / f"{len(nodes):02d} {name}.safetensors", part, output, ask)
    return nodes


def _inherited(request: Request, config: TransformerConfig, batch: Arrays, ask: Ask, outputs: list[np.ndarray]) -> list[float]:
    """The errors of the backend's own chain; what comes after one that gives no array is not known."""
    errors: list[float] = []

    def own(path: str, method: str | None, inputs: list[Any], **call: Any) -> np.ndarray:
        output = ask(_part(request, path, method, inputs, call))["output"]
        errors.append(error(output, outputs[len(errors)]))
        return output

    try:
        walk(config, batch, own)
    except (WorkerError, AssertionError):
        errors += [float("nan")] * (len(outputs) - len(errors))
    return errors


def _part(request: Request, path: str, method: str | None, inputs: list[Any], call: Mapping[str, Any]) -> Request:
    """The sublayer's request holds the whole model: it is built as the model was, then this part of it is run."""
    arrays = {name: value for name, value in request.arrays.items() if name.startswith("weights.")}
    spec = {
        # A method of a layer runs in whatever mode the model is in: without dropout both are the same.
        "config": {**request.spec["config"], "dropout": 0.0, "attention_dropout": 0.0, "ffn_dropout": 0.0},
        "path": path,
        "method": method,
        "inputs": without_arrays(inputs, "inputs", arrays),
        "call": {name: without_arrays(value, f"call.{name}", arrays) for name, value in call.items() if value is not None},
    }
    return Request("part", request.dtype, spec, arrays)


def _drawn(nodes: list[Node], first: str | None) -> list[str]:
    """One line per sublayer, those of a block indented; the block itself follows them."""
    lines = []
    for node in nodes:
        indent = "    " if re.search(r"block\d+\.", node.path) else ""
        arrow = "  <-- first to differ" if node.path == first else ""
        lines.append(
            f"{indent}{'x' if node.failed else '.'} {node.path}: own {node.reason}; inherited {node.inherited:.1e}{arrow}"
        )
    return lines


def _worst_gradients(experiment: Any, ask: Ask) -> list[str]:
    expected = under("gradient", getattr(experiment, "expected", {}))
    if not expected:
        return []
    got, floor = under("gradient", ask(experiment.request)), gradient_floor(expected)
    errors = {name: error(got[name], expected[name], floor) for name in expected}
    worst = sorted(errors, key=lambda name: errors[name] if np.isfinite(errors[name]) else np.inf, reverse=True)
    return [f"gradient of {name}: {errors[name]:.1e}" for name in worst[:5]]


def _dump(path: Path, part: Request, output: np.ndarray, ask: Ask) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: value for name, value in part.arrays.items() if not name.startswith("weights.")}
    arrays |= {"expected": output, "output": ask(part)["output"]}
    write_tensors(path, arrays)
