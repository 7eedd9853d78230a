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

READ_CONFIG = "from transformer_mb.checkpoint import read_config"
FROM_CONFIG = "model = EncoderDecoder.from_config(read_config({config}))"
FROM_TEXT = "model = EncoderDecoder.from_config(TransformerConfig.from_json(text))"


@dataclass(frozen=True, kw_only=True)
class Loading:
    """``into`` is the class that loads it; ``lines`` are Python, complete; ``optimizer`` follow where its state is there too."""

    into: str
    lines: tuple[str, ...]
    optimizer: tuple[str, ...] = ()


def _ours(framework: str) -> str:
    return f"transformer_mb.backends.{framework}.EncoderDecoder"


def _import(framework: str, why: str = "") -> str:
    return f"from transformer_mb.backends.{framework} import EncoderDecoder{why}"


ROWS: dict[str, Loading] = {
    "canonical": Loading(
        into="the EncoderDecoder of every backend",
        lines=("import transformer_mb as tmb", "model = tmb.load({path}, backend='numpy')  # or another backend"),
    ),
    "torch": Loading(
        into=_ours("torch"),
        lines=("import torch", READ_CONFIG, _import("torch"), FROM_CONFIG, "model.load_state_dict(torch.load({path}))")
        + ("model.eval()",),
        optimizer=("optimizer = torch.optim.Adam(model.parameters())", "optimizer.load_state_dict(torch.load({companion}))"),
    ),
    "paddle": Loading(
        into=_ours("paddle"),
        lines=("import paddle", READ_CONFIG, _import("paddle"), FROM_CONFIG, "model.set_state_dict({paddle_tensors})")
        + ("model.eval()",),
    ),
    "mxnet": Loading(
        into=_ours("mxnet"),
        lines=(_import("mxnet", "  # before mxnet itself, which fails on NumPy 1.24 or later without it"),)
        + (READ_CONFIG, FROM_CONFIG, "model.load_parameters({path}, cast_dtype=True)"),
    ),
    "keras": Loading(
        into=_ours("tensorflow"),
        lines=("import h5py", "from transformer_mb import TransformerConfig", _import("tensorflow"))
        + ("text = h5py.File({path}).attrs['transformer_mb.config']", FROM_TEXT, "model.load_weights({path})"),
    ),
    "flax": Loading(
        into=_ours("jax"),
        lines=("from flax import nnx, serialization", READ_CONFIG, _import("jax"), FROM_CONFIG)
        + ("params = nnx.state(model, nnx.Param)",)
        + ("nnx.replace_by_pure_dict(params, serialization.msgpack_restore(open({path}, 'rb').read())['params'])",)
        + ("nnx.update(model, params)", "model.eval()"),
    ),
    "npz": Loading(
        into=_ours("numpy"),
        lines=("import numpy as np", "import transformer_mb as tmb", READ_CONFIG)
        + ("backend = tmb.get_backend('numpy')  # or another backend", "model = backend.create_empty(read_config({config}))")
        + ("weights = {{name: array for name, array in np.load({path}).items() if not name.startswith('optimizer.')}}",)
        + ("backend.set_weights(model, weights)",),
    ),
    "safetensors": Loading(
        into=_ours("torch"),
        lines=("from safetensors import safe_open", "from safetensors.torch import load_model")
        + ("from transformer_mb import TransformerConfig", _import("torch"))
        + ("text = safe_open({path}, 'pt').metadata()['transformer_mb.config']", FROM_TEXT)
        + ("load_model(model, {path})", "model.eval()"),
    ),
    "marian": Loading(
        into="transformers.MarianMTModel",
        lines=("import transformers", "model = transformers.MarianMTModel.from_pretrained({path})"),
    ),
    "bert": Loading(
        into="transformers.BertModel",
        lines=("import transformers", "model = transformers.BertModel.from_pretrained({path}, add_pooling_layer={pooler})"),
    ),
}
# Paddle takes no array of another dtype than the parameter's.
PADDLE_TENSORS = "paddle.load({path})"
PADDLE_CAST = "{{name: array.astype('float32') for name, array in paddle.load({path}).items()}}"
# Of exports, by architecture.
ONNX_SIDE = "{side} = onnxruntime.InferenceSession({{path}} + '/{side}.onnx')"
ENCODER, DECODER = (ONNX_SIDE.format(side=side) for side in ("encoder", "decoder"))
TRANSLATE = "# model.translate_batch([tokens], beam_size=1, min_decoding_length=0, max_input_length=0) decodes as our greedy does"
EXPORT_ROWS: dict[tuple[str, str], Loading] = {
    ("onnx", "encoder_decoder"): Loading(
        into="onnxruntime", lines=("import onnxruntime", ENCODER, DECODER, "model = encoder, decoder")
    ),
    ("onnx", "encoder"): Loading(into="onnxruntime", lines=("import onnxruntime", ENCODER, "model = encoder")),
    ("onnx", "decoder"): Loading(into="onnxruntime", lines=("import onnxruntime", DECODER, "model = decoder")),
    ("ctranslate2", "encoder_decoder"): Loading(
        into="ctranslate2.Translator", lines=("import ctranslate2", "model = ctranslate2.Translator({path})", TRANSLATE)
    ),
    ("ctranslate2", "encoder"): Loading(
        into="ctranslate2.Encoder", lines=("import ctranslate2", "model = ctranslate2.Encoder({path})")
    ),
    ("ctranslate2", "decoder"): Loading(
        into="ctranslate2.Generator", lines=("import ctranslate2", "model = ctranslate2.Generator({path})")
    ),
}


def loading_of(model: PortedModel, target: Target, settings: Mapping[str, Any], place: Any, optimizer: bool) -> Loading:
    """What ``place`` is for, with its lines filled in; no lines where ``settings`` ask for names that are not ours."""
    row = _row(model, target, settings)
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


def _row(model: PortedModel, target: Target, settings: Mapping[str, Any]) -> Loading:
    config: TransformerConfig = model.config
    if target.family.kind == "export":
        return EXPORT_ROWS[target.name, config.architecture]
    if target.format is not None and target.family is not DEFAULT:
        into = f"{target.family.title}{what_is_left(model)}"
        return Loading(into=into, lines=stack_lines(model, target.format))
    if target.format is not None and not d2l.is_ours(target.format, settings):
        return Loading(into="a model whose tensors are called so, as the settings ask; ours are not", lines=())
    return ROWS[target.name]
