"""A model's forward pass taken apart: which sublayers run, in which order, on which inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..config import RATES, TransformerConfig
from .computing.messages import Arrays, Request, without_arrays

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


def part_request(request: Request, path: str, method: str | None, inputs: list[Any], call: Mapping[str, Any]) -> Request:
    """The sublayer's request holds the whole model: it is built as the model was, then this part of it is run."""
    arrays = {name: value for name, value in request.arrays.items() if name.startswith("weights.")}
    spec = {
        # A method of a layer runs in whatever mode the model is in: without dropout both are the same.
        "config": {**request.spec["config"], **dict.fromkeys(RATES, 0.0)},
        "path": path,
        "method": method,
        "inputs": without_arrays(inputs, "inputs", arrays),
        "call": {name: without_arrays(value, f"call.{name}", arrays) for name, value in call.items() if value is not None},
    }
    return Request("part", request.dtype, spec, arrays)
