"""Every backend offers what ``interface`` says, by names, order and defaults; beyond it, all offer the same."""

import ast
import re

import pytest
from meta.backend_sources import BACKENDS, ROOT, differences, public

from conformance.test_errors import CHOSEN
from transformer_mb.built_in import BUILT_IN
from transformer_mb.config import CHOICES
from transformer_mb.interface import FUNCTIONS, LAYERS

MODEL = "torch"  # what others are compared with where the interface is silent: caches, trainers, weights

# Where layers are called one by one, their calls take Python longer than a few rows take the processor; what is compiled as a
# whole calls none.
PAST_THE_LAYERS = {
    "decoding_steps.py": "a step of decoding past the layers",
    "encoding.py": "likewise of a short source",
    "prepared_layers.py": "what both of these compute of a layer",
}
# Files that one backend needs and no other has, with the reason.
EXTRA_FILES = {
    ("numpy", "framework.py"): "parameters, modules and linear layers, which the others' frameworks bring",
    ("numpy", "activations.py"): "activations with their derivatives, and an erf, which the others' frameworks bring",
    ("numpy", "rounding.py"): "what lower precision loses, measured on NumPy, which has none itself",
    ("torch", "compiled_loss.py"): "torch.compile is an option of the trainer; JAX and TensorFlow compile every step",
    ("torch", "without_setuptools.py"): "likewise, where an image has left out what its module of paths imports",
    **{(name, file): reason for name in ("numpy", "torch", "paddle") for file, reason in PAST_THE_LAYERS.items()},
    ("tensorflow", "decoding_steps.py"): "a step in few operations and without copies, which the layers' own are not",
    ("torch", "composed_attention.py"): "attention as one node of the graph, which PyTorch's CPU kernel is not with dropout",
    ("torch", "watched.py"): "hooks, which the ways past a layer would not see",
    ("torch", "threads.py"): "one thread for small arrays, which PyTorch does not see by itself",
    ("torch", "one_row.py"): "which of PyTorch's libraries reads a weight faster, and how to have it do so",
    ("torch", "int8.py"): "products of whole numbers, which PyTorch alone has on the CPU",
    ("numpy", "int8.py"): "what they lose, measured on NumPy, which has none itself",
    ("torch", "settings.py"): "what PyTorch can be told of how a GPU computes: kernels of attention, CUDA graphs, TF32",
    ("jax", "settings.py"): "likewise, of TF32",
    ("torch", "two_bytes.py"): "float32 copies for an update, because torch.optim gives moments the dtype of the weights",
    ("torch", "sharding.py"): "weights in parts, which two frameworks of the six can keep",
    ("jax", "sharding.py"): "likewise, and the mesh of devices over which XLA lays all arrays",
    ("jax", "linear.py"): "nnx.Linear with gradients that XLA computes fast on a CPU, which it does not by itself",
    ("jax", "recipe.py"): "the numbers of an update as inputs, which jax.jit would hold as constants of what it compiles",
    ("jax", "compilation.py"): "how much XLA optimizes: the others' compilers, where they have one, are not asked",
    ("jax", "compiled.py"): "functions compiled once for all modules built alike, which jax.jit cannot see by itself",
    ("tensorflow", "dense.py"): "products of matrices, whose precision Keras has as a policy of each layer",
    ("mxnet", "inputs.py"): "where a compiled step finds its batch, which MXNet prepares for arrays that stay where they are",
    ("mxnet", "threads.py"): "one thread for small arrays, which MXNet does not see by itself",
    ("mxnet", "watched.py"): "settings and hooks, which what is compiled would not see",
    ("mxnet", "shim.py"): "what MXNet 1.9.1 needs before it can be imported at all",
}
# Likewise functions.
EXTRA_NAMES = {
    ("tensorflow", "named_layers"): "layers by path, which torch and Paddle name themselves",
    ("mxnet", "named_layers"): "likewise",
    ("jax", "named_layers"): "likewise",
    ("jax", "array_like"): "a copy where another array lies: JAX may share memory that a donated buffer overwrites",
    ("mxnet", "to_device"): "an array on a device, seven times faster than mxnet.np.array",
    ("mxnet", "as_int64"): "counts and places in a dtype in which sums do not wrap, which MXNet does not choose by itself",
    ("mxnet", "suit"): "how many threads work of a size is worth, which MXNet does not see by itself",
    (
        "tensorflow",
        "Embedding",
    ): "a table; torch and JAX have a private one, whose name in Keras would be none that TensorFlow takes",
    ("tensorflow", "plus"): "a sum whose gradients are added up in float32, which TensorFlow does not do in float16",
    ("jax", "broadcast"): "likewise, which JAX does in no format of two bytes",
    ("paddle", "gradients"): "zeros where paddle.grad gives None",
}


def files(name):
    return {path.name for path in (BACKENDS / name).glob("*.py") if (name, path.name) not in EXTRA_FILES}


def prefix(name):
    """What a backend's own classes begin with, such as NumPy of NumPyBackend."""
    (found,) = re.findall(r"^class (\w+)Backend\(", (BACKENDS / name / "backend.py").read_text(), re.M)
    return found


def offered_by(name):
    """Everything public of a backend's layer files, and of it what the interface speaks of."""
    everything = {}
    for file in sorted(files(name) - {"__init__.py"}):
        everything |= public((BACKENDS / name / file).read_text(), prefix(name))
    return everything, {key: value for key, value in everything.items() if key.split(".")[0] in {**LAYERS, **FUNCTIONS}}


def contract():
    parsed = {}
    for path in sorted((ROOT / "transformer_mb" / "interface").glob("*.py")):
        parsed |= public(path.read_text())
    expected = {key: value for key, value in parsed.items() if key.split(".")[0] in LAYERS}
    return {**expected, **{name: parsed[f"{protocol.__name__}.__call__"] for name, protocol in FUNCTIONS.items()}}


def test_every_exception_is_a_file():
    assert all((BACKENDS / name / file).is_file() for name, file in EXTRA_FILES if name in BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_backend_offers_the_contract(name):
    expected, (_, offered) = contract(), offered_by(name)
    assert len(expected) >= 40 and not differences(offered, expected)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != MODEL])
def test_beyond_the_contract_all_backends_offer_the_same(name):
    assert files(name) == files(MODEL) and len(files(MODEL)) >= 15
    (expected, _), (offered, _) = offered_by(MODEL), offered_by(name)
    # A backend may have a method more on a class of its own.
    offered = {key: value for key, value in offered.items() if "." not in key or key in expected}
    offered = {key: value for key, value in offered.items() if (name, key) not in EXTRA_NAMES}
    assert not differences(offered, expected)


CHANGES = {
    "a default": ("use_bias: bool = False", "use_bias: bool = True", "MultiHeadAttention.__init__ must take"),
    "an argument's name": ("num_heads: int,\n        dropout", "heads: int,\n        dropout", "MultiHeadAttention.__init__"),
    "the order": (
        "key_size: int,\n        query_size: int",
        "query_size: int,\n        key_size: int",
        "MultiHeadAttention.__init__",
    ),
    "a method's name": ("def attend(", "def attend_to(", "MultiHeadAttention.attend is missing"),
    "a public method": ("def attend(", "def project(self, X):\n        ...\n\n    def attend(", "project is not expected"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_is_named(change):
    before, after, sentence = CHANGES[change]
    source = (BACKENDS / MODEL / "attention.py").read_text()
    assert before in source
    changed = source.replace(before, after, 1)
    ast.parse(changed)
    expected = {key: value for key, value in contract().items() if key.split(".")[0] == "MultiHeadAttention"}
    offered = {key: value for key, value in public(changed, "Torch").items() if key.split(".")[0] == "MultiHeadAttention"}
    assert any(sentence in named for named in differences(offered, expected))


def test_every_choice_of_a_layer_is_refused_somewhere():
    """The architecture is the configuration's alone, the precision a trainer's."""
    assert {named for *_, named in CHOSEN} == CHOICES.keys() - {"architecture", "precision"}
