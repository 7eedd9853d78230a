"""What each written file is for, and the lines that load it there, as data: the report prints them and the proof runs them.

In the lines of a row ``{path}`` is what was written, ``{config}`` the configuration beside it, and a field of the configuration
stands by its name; the last of them has made ``model`` (of an export: the sessions or the engine).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..config import TransformerConfig
from .families import DEFAULT, d2l
from .files.config_beside import beside
from .files.targets import Target
from .formats import FORMATS
from .loading_stacks import stack_lines, what_is_left
from .model import PortedModel


@dataclass(frozen=True, kw_only=True)
class Loading:
    """``into`` is the class that loads it; ``lines`` are complete Python; ``optimizer`` follow where its state is there too."""

    into: str
    lines: tuple[str, ...]
    optimizer: tuple[str, ...] = ()


def _row(into: str, lines: str, optimizer: str = "") -> Loading:
    return Loading(into=into, lines=tuple(lines.strip().splitlines()), optimizer=tuple(optimizer.strip().splitlines()))


ROWS = {
    "canonical": _row(
        "the EncoderDecoder of every backend",
        """
import transformer_mb as tmb
model = tmb.load({path}, backend='numpy')  # or another backend
""",
    ),
    "torch": _row(
        "transformer_mb.backends.torch.EncoderDecoder",
        """
import torch
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.torch import EncoderDecoder
model = EncoderDecoder.from_config(read_config({config}))
model.load_state_dict(torch.load({path}))
model.eval()
""",
        """
optimizer = torch.optim.Adam(model.parameters())
optimizer.load_state_dict(torch.load({companion}))
""",
    ),
    "paddle": _row(
        "transformer_mb.backends.paddle.EncoderDecoder",
        """
import paddle
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.paddle import EncoderDecoder
model = EncoderDecoder.from_config(read_config({config}))
model.set_state_dict({paddle_tensors})
model.eval()
""",
    ),
    "mxnet": _row(
        "transformer_mb.backends.mxnet.EncoderDecoder",
        """
from transformer_mb.backends.mxnet import EncoderDecoder  # before mxnet itself, which fails on NumPy 1.24 or later without it
from transformer_mb.checkpoint import read_config
model = EncoderDecoder.from_config(read_config({config}))
model.load_parameters({path}, cast_dtype=True)
""",
    ),
    "keras": _row(
        "transformer_mb.backends.tensorflow.EncoderDecoder",
        """
import h5py
from transformer_mb import TransformerConfig
from transformer_mb.backends.tensorflow import EncoderDecoder
text = h5py.File({path}).attrs['transformer_mb.config']
model = EncoderDecoder.from_config(TransformerConfig.from_json(text))
model.load_weights({path})
""",
    ),
    "flax": _row(
        "transformer_mb.backends.jax.EncoderDecoder",
        """
from flax import nnx, serialization
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.jax import EncoderDecoder
model = EncoderDecoder.from_config(read_config({config}))
params = nnx.state(model, nnx.Param)
nnx.replace_by_pure_dict(params, serialization.msgpack_restore(open({path}, 'rb').read())['params'])
nnx.update(model, params)
model.eval()
""",
    ),
    "npz": _row(
        "transformer_mb.backends.numpy.EncoderDecoder",
        """
import numpy as np
import transformer_mb as tmb
from transformer_mb.checkpoint import read_config
backend = tmb.get_backend('numpy')
model = backend.create_empty(read_config({config}))
backend.set_weights(model, {{name: array for name, array in np.load({path}).items() if not name.startswith('optimizer.')}})
model.eval()
""",
    ),
    "safetensors": _row(
        "transformer_mb.backends.torch.EncoderDecoder",
        """
from safetensors import safe_open
from safetensors.torch import load_model
from transformer_mb import TransformerConfig
from transformer_mb.backends.torch import EncoderDecoder
text = safe_open({path}, 'pt').metadata()['transformer_mb.config']
model = EncoderDecoder.from_config(TransformerConfig.from_json(text))
load_model(model, {path})
model.eval()
""",
    ),
    "marian": _row(
        "transformers.MarianMTModel",
        """
import transformers
model = transformers.MarianMTModel.from_pretrained({path})
""",
    ),
    "bert": _row(
        "transformers.BertModel",
        """
import transformers
model = transformers.BertModel.from_pretrained({path}, add_pooling_layer={pooler})
""",
    ),
}
# Paddle takes no array of another dtype than the parameter's.
PADDLE_TENSORS = "paddle.load({path})"
PADDLE_CAST = "{{name: array.astype('float32') for name, array in paddle.load({path}).items()}}"
# Of exports, by architecture.
EXPORT_ROWS = {
    ("onnx", "encoder_decoder"): _row(
        "onnxruntime",
        """
import onnxruntime
encoder = onnxruntime.InferenceSession({path} + '/encoder.onnx')
decoder = onnxruntime.InferenceSession({path} + '/decoder.onnx')
model = encoder, decoder
""",
    ),
    ("onnx", "encoder"): _row(
        "onnxruntime",
        """
import onnxruntime
model = onnxruntime.InferenceSession({path} + '/encoder.onnx')
""",
    ),
    ("onnx", "decoder"): _row(
        "onnxruntime",
        """
import onnxruntime
model = onnxruntime.InferenceSession({path} + '/decoder.onnx')
""",
    ),
    ("ctranslate2", "encoder_decoder"): _row(
        "ctranslate2.Translator",
        """
import ctranslate2
model = ctranslate2.Translator({path})
# model.translate_batch([tokens], beam_size=1, min_decoding_length=0, max_input_length=0) decodes as greedy does
""",
    ),
    ("ctranslate2", "encoder"): _row(
        "ctranslate2.Encoder",
        """
import ctranslate2
model = ctranslate2.Encoder({path})
""",
    ),
    ("ctranslate2", "decoder"): _row(
        "ctranslate2.Generator",
        """
import ctranslate2
model = ctranslate2.Generator({path})
""",
    ),
}


def loading_of(model: PortedModel, target: Target, settings: Mapping[str, Any], place: Any, optimizer: bool) -> Loading:
    """What ``place`` is for, with its lines filled in; no lines where ``settings`` ask for names that are not ours."""
    row = _row_of(model, target, settings)
    place = Path(place)
    fields = {
        **{name: repr(value) for name, value in model.config.to_dict().items()},
        "path": repr(str(place)),
        "config": repr(str(beside(place))),
        "companion": repr(str(place.with_suffix((FORMATS[target.format].companion if target.format else None) or ".none"))),
    }
    same = all(array.dtype == np.float32 for array in model.weights.values())
    fields["paddle_tensors"] = (PADDLE_TENSORS if same else PADDLE_CAST).format(**fields)
    lines = (*row.lines, *(row.optimizer if optimizer else ()))
    return Loading(into=row.into, lines=tuple(line.format(**fields) for line in lines))


def _row_of(model: PortedModel, target: Target, settings: Mapping[str, Any]) -> Loading:
    config: TransformerConfig = model.config
    if target.family.kind == "export":
        return EXPORT_ROWS[target.name, config.architecture]
    if target.format is not None and target.family is not DEFAULT:
        into = f"{target.family.title}{what_is_left(model)}"
        return Loading(into=into, lines=stack_lines(model, target.format))
    if target.format is not None and not d2l.is_ours(target.format, settings):
        return Loading(into="a model whose tensors are called so, as the settings ask; ours are not", lines=())
    return ROWS[target.name]
