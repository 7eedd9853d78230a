"""The files of a new backend's package: which classes stand in which, and the words between them."""

from __future__ import annotations

from typing import Any

from .. import interface
from ..decoding.session import EagerSession
from ..native_backend import NativeBackend
from ..native_parameters import NativeParameter
from ..trainer import Trainer
from .stubs import methods, stub

# In the order in which they are best filled in: each needs those before it.
LAYERS = {
    "normalization": ("Layer normalization, and the residual connection around a sublayer.", "LayerNorm AddNorm"),
    "feed_forward": ("The position-wise feed-forward network.", "PositionWiseFFN"),
    "attention": (
        "Masks, scaled dot-product attention and multi-head attention.",
        "sequence_mask masked_softmax transpose_qkv transpose_output DotProductAttention MultiHeadAttention",
    ),
    "embedding": ("Positions.", "PositionalEncoding"),
    "encoder": ("The encoder block and the encoder.", "EncoderBlock TransformerEncoder"),
    "decoder": ("The decoder block and the decoder.", "DecoderBlock TransformerDecoder"),
    "model": ("Encoder and decoder as one model.", "EncoderDecoder"),
    "loss": ("Cross-entropy masked by valid length.", "MaskedSoftmaxCELoss"),
}
# Bases of ours that a class has before the framework's own.
BASES = {
    "MultiHeadAttention": "WeightsOfHeads",
    "TransformerEncoder": "WeightsOfEncoder",
    "TransformerDecoder": "WeightsOfDecoder",
}
DONE_BY_OTHER_FILES = {"_named_parameters", "_injected_dropout", "_greedy", "_sample", "_beam_decoder"}

INIT = '''"""The {name} backend of transformer_mb."""

from .backend import BACKEND as BACKEND
'''
FRAMEWORK = '''"""What the framework brings, or what stands in its place: the class of all layers, parameters, linear layers."""


class Layer:
    """The framework's own class of layers, such as torch.nn.Module: import it here under this name."""
'''
WEIGHTS = '''"""Canonical names of parameters, and their values as NumPy arrays."""

from transformer_mb.native_parameters import NativeParameter


class Parameter(NativeParameter):
{methods}


def named_parameters(module):
    # Every parameter of a layer by canonical name, such as encoder.blks.block0.attention.W_q.weight, each once: shared ones
    # under the first. A plain function has none. transformer_mb.parameters.parameter_shapes(config) lists a model's names.
    raise NotImplementedError("fill in named_parameters of weights.py")
'''
DROPOUT = '''"""Dropout whose mask can be injected."""

from transformer_mb.dropout_masks import injected

from .framework import Layer


class Dropout(Layer):
    # Inverted dropout. Where ``keep`` is set, it is the mask (True: kept), and nothing is drawn.
    keep = None

    def __init__(self, rate):
        raise NotImplementedError("fill in Dropout.__init__")


def dropouts(module):
    # Every Dropout within a layer that drops something, by path: {{"blks.block0.addnorm1.dropout": ...}}.
    raise NotImplementedError("fill in dropouts of dropout.py")


def injected_dropout(module, masks):
    # The last argument makes a mask of NumPy the framework's own.
    return injected(dropouts, module, masks, lambda mask: mask)
'''
DECODING = '''"""Cached decoding: what a search asks of each step."""

from transformer_mb.decoding.session import EagerSession


def greedy(model, inputs, max_steps):
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: logits.argmax(-1))


def sample(model, inputs, max_steps, truncation):
    # Ids [B, steps], drawn by inputs.seeds [B, 2]: see transformer_mb.decoding.sampling.
    raise NotImplementedError("fill in sample of decoding.py")


class BeamDecoder(EagerSession):
    # A prompt is fed by the decoder's ``_hidden_states(X, state)``, which is its call without the output layer.
    @staticmethod
    def _suppress(logits, token_ids):
        # The logits with -inf at these ids.
        raise NotImplementedError("fill in BeamDecoder._suppress")

{methods}
'''
TRAINER = '''"""A training step: forward, backward, clip, update."""

from transformer_mb.trainer import Trainer

from .weights import named_parameters


class {title}Trainer(Trainer):
    def __init__(self, model, options):
        # options.optimizer is adam, adamw or sgd: transformer_mb.trainer.TrainerOptions has their formulas.
        super().__init__(model, named_parameters(model), options)

{methods}
'''
BACKEND = '''"""NumPy in, NumPy out, on {name}."""

from transformer_mb.divergences import Divergence
from transformer_mb.native_backend import NativeBackend

from .trainer import {title}Trainer


class {title}Backend(NativeBackend, package=__package__):
    name = "{name}"
    dtypes = ("float32", "float64")
    trainer_class = {title}Trainer
    # What the framework cannot do, each a strict expected failure of the suite and of the matrix.
    divergences: tuple[Divergence, ...] = ()

{methods}


BACKEND = {title}Backend
'''
PROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "transformer-mb-{dashed}"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["transformer_mb[parity]"]

[project.entry-points."transformer_mb.backends"]
{name} = "transformer_mb_{name}"

[tool.setuptools]
packages = ["transformer_mb_{name}"]
"""
README = """# transformer_mb on {name}

Each `raise NotImplementedError("fill in ...")` is a place to fill in, best in this order: `framework.py`, `weights.py`,
`dropout.py`, {order},
`backend.py`, `decoding.py`, `trainer.py`. Above each stands where its contract is, which
`python -c "import transformer_mb.interface as i; help(i.MultiHeadAttention)"` prints. What is given wrongly is refused by
`transformer_mb.checks` and `transformer_mb.config`, in the words that every backend has.

    pip install --editable . pytest
    pytest --pyargs transformer_mb.conformance --backend {name} -m "not long" -x
    transformer-mb parity --backends {name} --controls

The first test that fails says what to fill in next. What {name} cannot do goes into `divergences` in `backend.py`, with the
measured figure and a link: it is then expected to fail, and fails the suite once it works. A switch of models that it has not
got goes into `lacks`, as `lacks = {{"ffn_gated": "not written yet"}}`: a model that needs it is refused in one sentence.
"""


def files(name: str) -> dict[str, str]:
    """Return the text of each file by its path."""
    title = "".join(word.capitalize() for word in name.split("_"))
    words: dict[str, Any] = {"name": name, "title": title, "dashed": name.replace("_", "-")}
    package = f"transformer_mb_{name}"
    made = {
        "pyproject.toml": PROJECT.format(**words),
        "README.md": README.format(**words, order=", ".join(f"`{file}.py`" for file in LAYERS)),
        f"{package}/__init__.py": INIT.format(**words),
        f"{package}/framework.py": FRAMEWORK,
        f"{package}/dropout.py": DROPOUT.format(),
    }
    made |= {f"{package}/{file}.py": layers(*content) for file, content in LAYERS.items()}
    for file, text, owner, of in (
        ("weights", WEIGHTS, NativeParameter, "Parameter"),
        ("decoding", DECODING, EagerSession, "BeamDecoder"),
        ("trainer", TRAINER, Trainer, f"{title}Trainer"),
        ("backend", BACKEND, NativeBackend, f"{title}Backend"),
    ):
        names = sorted(set(getattr(owner, "__abstractmethods__", ())) - DONE_BY_OTHER_FILES)
        made[f"{package}/{file}.py"] = text.format(**words, methods=methods(owner, names, of))
    return made


def layers(says: str, names: str) -> str:
    """Return a file of layers and functions."""
    contracts: dict[str, Any] = {**interface.LAYERS, **interface.FUNCTIONS}
    parts = [stub(name, contracts[name], ", ".join([*filter(None, [BASES.get(name)]), "Layer"])) for name in names.split()]
    ours = [f"from transformer_mb.attention_weights import {BASES[name]}\n" for name in names.split() if name in BASES]
    return "\n".join([f'"""{says}"""\n', *ours, "from .framework import Layer\n\n", "\n\n".join(parts)])
