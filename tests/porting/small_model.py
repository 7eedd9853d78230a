"""Small models, where any will do, and how a folder of one is spoilt."""

import json
from pathlib import Path

import numpy as np

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.errors import PortError
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.model import PortedModel
from transformer_mb.porting.proof.probe import run_model

FEW = {"num_hiddens": 8, "ffn_num_hiddens": 12}
SIZES = {**FEW, "encoder_num_heads": 4, "decoder_num_heads": 4, "max_len": 20}
CONFIG = tmb.presets.d2l(11, 13, encoder_num_layers=1, decoder_num_layers=1, **SIZES)
BIASES = {"encoder_attention_bias": True, "decoder_attention_bias": True}  # which stacks always have
# What others' models are run on too: three sources, one of them full, and as many targets.
SOURCE = np.array([[4, 5, 6, 7, 3], [8, 3, 1, 1, 1], [10, 9, 4, 3, 1]])
LENS = np.array([5, 2, 4])
TARGET = np.array([[2, 5, 6, 7], [2, 8, 3, 1], [2, 9, 4, 12]])
BATCH = {"source": SOURCE, "target": TARGET, "source_valid_lens": LENS}


def single(weights):
    """The arrays in float32."""
    return {name: value.astype(np.float32) for name, value in weights.items()}


def weights_of(folder: Path) -> PortedModel:
    found = read_checkpoint(folder)
    return PortedModel(config=found.config, weights=found.weights)


def made(config) -> PortedModel:
    """With random weights, in float64, so that no two tensors of one shape are the same."""
    return PortedModel(config=config.replace(), weights=random_weights(parameter_shapes(config)))


def built(config, seed=0) -> PortedModel:
    """With the weights that a model begins with."""
    backend = tmb.get_backend("numpy")
    return PortedModel(config=config, weights=backend.get_weights(backend.build(config, seed=seed)))


def on_numpy(model, batch, dtype="float32", steps=0):
    """``encoder``, ``pooled`` and ``logits``, as far as the model has them, and ``tokens``, lists of at most so many ids."""
    backend = tmb.get_backend("numpy", dtype=dtype)
    native = backend.create_empty(model.config)
    backend.set_weights(native, model.weights)
    own = {name: array for name, array in batch.items() if model.config.has_encoder or name == "target"}
    outputs = run_model(backend, native, own, decoded=False)
    if steps:
        outputs["tokens"] = backend.greedy(native, batch["source"], batch["source_valid_lens"], steps)
    return outputs


def refused(words, function, *arguments, **options):
    """Call what must raise a PortError in these words."""
    import pytest

    with pytest.raises(PortError, match=words):
        function(*arguments, **options)


def spoil(path: Path, **changes) -> None:
    """Give fields of a JSON object other values; None removes one."""
    fields = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: value for name, value in fields.items() if value is not None}))
