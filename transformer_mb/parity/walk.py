"""A model's forward pass taken apart: which sublayers run, in which order, on which inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..columns.messages import Arrays
from ..config import RATES, TransformerConfig
from .computing.messages import Request, with_arrays, without_arrays

# path, method, inputs, keyword arguments -> the sublayer's output
Runner = Callable[..., np.ndarray]


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
    bias = _bias("encoder", config, run, X)
    for i in range(config.encoder_num_layers):
        block, start = f"encoder.blks.block{i}", X
        Y = _read(config, run, f"{block}.addnorm1", X)
        X = run(f"{block}.addnorm1", None, [X, run(f"{block}.attention", None, [Y, Y, Y, lens], bias=bias)])
        X = run(f"{block}.addnorm2", None, [X, run(f"{block}.ffn", None, [_read(config, run, f"{block}.addnorm2", X)])])
        X = run(block, None, [start, lens], bias=bias)
    return run("encoder.norm", None, [X]) if config.final_norm else X


def _decoder(config: TransformerConfig, batch: Arrays, states: np.ndarray | None, run: Runner) -> None:
    lens = batch.get("source_valid_lens")
    X = run("decoder", "embed", [batch["target_in"]])
    bias = _bias("decoder", config, run, X)
    for i in range(config.decoder_num_layers):
        block, start = f"decoder.blks.block{i}", X
        Y = _read(config, run, f"{block}.addnorm1", X)
        X = run(f"{block}.addnorm1", None, [X, run(f"{block}.attention1", None, [Y, Y, Y], causal=True, bias=bias)])
        if states is not None:
            Y = _read(config, run, f"{block}.addnorm2", X)
            X = run(f"{block}.addnorm2", None, [X, run(f"{block}.attention2", None, [Y, states, states, lens])])
        X = run(f"{block}.addnorm3", None, [X, run(f"{block}.ffn", None, [_read(config, run, f"{block}.addnorm3", X)])])
        X = run(block, None, [start, [states, lens, [None] * config.decoder_num_layers]], bias=bias)
    X = run("decoder.norm", None, [X]) if config.final_norm else X
    if not config.tie_output:
        run("decoder.dense", None, [X])


def _bias(side: str, config: TransformerConfig, run: Runner, X: np.ndarray) -> np.ndarray | None:
    """Return what relative positions add to the scores of self-attention, where there are such."""
    return run(f"{side}.relative_bias", "scores", [X.shape[1]] * 2) if config.position == "relative" else None


def drawn(path: str, failed: bool, words: str, first: bool) -> str:
    """Return the line of a sublayer; those of a block are indented, and the block itself follows them."""
    indent = "    " if re.search(r"block\d+\.", path) else ""
    return f"{indent}{'x' if failed else '.'} {words}{'  <-- first to differ' if first else ''}"


def _read(config: TransformerConfig, run: Runner, addnorm: str, X: np.ndarray) -> np.ndarray:
    return run(addnorm, "sublayer_input", [X]) if config.norm_position == "pre" else X


def part_request(request: Request, path: str, method: str | None, inputs: list[Any], call: Mapping[str, Any]) -> Request:
    """The sublayer's request holds the whole model: it is built as the model was, then this part of it is run."""
    arrays = {name: value for name, value in request.arrays.items() if name.startswith("weights.")}
    inputs = [inputs[0] * output_scale(request), *inputs[1:]] if path == "decoder.dense" else inputs
    spec = {
        # A method of a layer runs in whatever mode the model is in: without dropout both are the same.
        "config": {**request.spec["config"], **dict.fromkeys(RATES, 0.0)},
        "path": path,
        "method": method,
        "inputs": without_arrays(inputs, "inputs", arrays),
        "call": {name: without_arrays(value, f"call.{name}", arrays) for name, value in call.items() if value is not None},
    }
    return Request("part", request.dtype, spec, arrays)


def output_scale(request: Request) -> float:
    """Return what the output projection's input is multiplied by."""
    config = request.spec["config"]
    return float(config["num_hiddens"] ** -0.5) if config.get("output_scale") else 1.0


ATTENTION = (".attention", ".attention1", ".attention2")


def other_ways(failed: Request, part: Request) -> Iterator[tuple[str, Request]]:
    """Say, in words and as requests, how else the failed request has run this part of its model."""
    if not part.spec["path"].endswith(ATTENTION) or part.spec["method"]:
        return
    if failed.computation == "model" and "attention" in failed.spec["wanted"]:
        yield "weights asked for", _again(part, part.spec["inputs"], need_weights=True)
    if failed.computation == "cached" and not part.spec["path"].startswith("encoder."):
        for start, stop, weights in _pieces(failed.spec["pieces"]):
            queries, keys, values, *lens = with_arrays(part.spec["inputs"], part.arrays)
            own = part.spec["path"].endswith(".attention1")
            if own:
                keys, values = keys[:, :stop], values[:, :stop]
            words = f"steps {start + 1} to {stop}{', weights asked for' if weights else ''}"
            inputs = [queries[:, start:stop], keys, values, *lens]
            yield words, _again(part, inputs, need_weights=weights, offset=start if own else 0)


def not_run(failed: Request) -> list[str]:
    """Name what of a failed request no sublayer by itself shows."""
    found = ["the caches' own buffers"] if failed.computation == "cached" else []
    found += ["left padding"] if "left_padding" in failed.arrays else []
    found += ["the steps of a search"] if failed.computation == "decode" else []
    masked = failed.computation == "step" or any(name.startswith("masks.") for name in failed.arrays)
    return found + (["dropout's masks"] if masked else [])


def _pieces(counts: list[int]) -> Iterator[tuple[int, int, bool]]:
    """The first, the last, and the one before it, at which weights are asked for: where each begins and ends."""
    ends = np.cumsum(counts).tolist()
    for number in sorted({0, len(ends) - 2, len(ends) - 1} - {-1}):
        yield ends[number] - counts[number], ends[number], number == len(ends) - 2


def _again(part: Request, inputs: Any, **call: Any) -> Request:
    given = with_arrays(part.spec["inputs"], part.arrays) if inputs is part.spec["inputs"] else inputs
    kept = {name: with_arrays(value, part.arrays) for name, value in part.spec["call"].items()}
    asked = {name: value for name, value in call.items() if value}
    again = part_request(part, part.spec["path"], None, given, {**kept, **asked})
    return replace(again, spec={**again.spec, "config": part.spec["config"]})
