"""Every backend offers what ``interface`` says, by names, order and defaults; beyond it, all offer the same."""

import ast
import re

import pytest
from meta.backend_sources import BACKENDS, ROOT, differences, public

from transformer_mb.built_in import BUILT_IN
from transformer_mb.config import CHOICES
from transformer_mb.conformance.test_errors import CHOSEN
from transformer_mb.interface import FUNCTIONS, LAYERS

MODEL = "torch"  # what others are compared with where the interface is silent: caches, trainers, weights

# Files that one backend needs and no other has, with the reason; what makes one fast beside its layers is in its shortcuts/.
EXTRA_FILES = {
    ("numpy", "framework.py"): "parameters, modules and linear layers, which the others' frameworks bring",
    ("numpy", "projection.py"): "one product for several linear layers of one array, and its gradients, which autograd derives",
    ("numpy", "activations.py"): "activations with their derivatives, and an erf, which the others' frameworks bring",
    ("numpy", "running.py"): "whether layers remember, and whether they train, of which the others' frameworks have switches",
    ("numpy", "rounding.py"): "what lower precision loses, measured on NumPy, which has none itself",
    ("numpy", "int8.py"): "likewise of products of whole numbers",
    ("torch", "settings.py"): "what PyTorch can be told of how a GPU computes: kernels of attention, CUDA graphs, TF32",
    ("jax", "settings.py"): "likewise, of TF32",
    ("torch", "sharding.py"): "weights in parts, which two frameworks of the six can keep",
    ("jax", "sharding.py"): "likewise, and the mesh of devices over which XLA lays all arrays",
    ("jax", "linear.py"): "nnx.Linear with gradients that XLA computes fast on a CPU, which it does not by itself",
    ("paddle", "linear.py"): "nn.Linear likewise, and a projection by a table, which Paddle would have to turn",
    ("tensorflow", "dense.py"): "products of matrices, whose precision Keras has as a policy of each layer",
    ("mxnet", "shim.py"): "what MXNet 1.9.1 needs before it can be imported at all",
}
# Likewise functions and classes.
EXTRA_NAMES = {
    ("torch", "Embedding"): "a table whose gradients are added up in float32, which nn.Embedding does not do in two bytes",
    ("torch", "Float32Copies"): "torch.optim gives moments the dtype of the weights",
    ("tensorflow", "Embedding"): "likewise; JAX has a private one, whose name in Keras would be none that TensorFlow takes",
    ("tensorflow", "named_layers"): "layers by path, which torch and Paddle name themselves",
    ("mxnet", "named_layers"): "likewise",
    ("jax", "named_layers"): "likewise",
    ("tensorflow", "named_variables"): "variables one by one, of which Keras may have added some to a layer (LoRA)",
    ("torch", "matched"): "a table that is made outside of a trace, which torch.jit.trace would take for a part of it",
    ("tensorflow", "check_room"): "positions that are a tensor in a graph",
    ("jax", "check_room"): "likewise",
    ("jax", "rows_at"): "rows of a table from a position on that is a tensor in a compiled loop",
    ("jax", "array_like"): "a copy where another array lies: JAX may share memory that a donated buffer overwrites",
    ("jax", "Recipe"): "the numbers of an update as inputs, which jax.jit would hold as constants of what it compiles",
    ("mxnet", "to_device"): "an array on a device, seven times faster than mxnet.np.array",
    ("mxnet", "as_int64"): "counts and places in a dtype in which sums do not wrap, which MXNet does not choose by itself",
    ("mxnet", "TiedDense"): "a projection by a table, of which a shortcut asks whether it is one",
    ("paddle", "gradients"): "zeros where paddle.grad gives None",
    ("paddle", "known_sizes"): "a program's inputs may leave sizes open, of which masks are made",
    ("paddle", "kept_random_state"): "paddle.seed seeds all devices",
    ("paddle", "log_sum_exp"): "Paddle's own sum loses a digit over thousands of words",
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
    expected, offered = (
        {key: value for key, value in offered_by(one)[0].items() if (one, key.split(".")[0]) not in EXTRA_NAMES}
        for one in (MODEL, name)
    )
    # A backend may have a method more on a class of its own.
    assert not differences({key: value for key, value in offered.items() if "." not in key or key in expected}, expected)


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_one_backend_alone_has_is_there(name):
    offered, _ = offered_by(name)
    assert not [key for backend, key in EXTRA_NAMES if backend == name and key not in offered]


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_shortcut_has_its_gain(name):
    """A row of docs/SPEED.md, by backend and module: what is worth nothing goes."""
    rows = [
        line.split(" | ") for line in (ROOT / "docs" / "SPEED.md").read_text().splitlines() if line.startswith("| `shortcuts/")
    ]
    told = {
        file
        for files, backends, *_ in rows
        if name in backends.split(", ")
        for file in re.findall(r"shortcuts/(\w+\.py)", files)
    }
    there = {path.name for path in (BACKENDS / name / "shortcuts").glob("*.py")} - {"__init__.py"}
    assert there and told == there, "name the measured gain of each in docs/SPEED.md"


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_module_takes_the_private_name_of_another(name):
    taken = []
    for path in sorted((BACKENDS / name).rglob("*.py")):
        tree = ast.parse(path.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        ours = [node for node in imports if node.level or str(node.module).startswith("transformer_mb")]
        names = {alias.asname or alias.name for node in ours for alias in node.names}
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        modules = {name for name in names if name.islower()}
        taken += [f"{path}: {one}" for one in names if one.startswith("_")]
        taken += [f"{path}: {n.value.id}.{n.attr}" for n in used if n.value.id in modules and n.attr[0] == "_" != n.attr[1]]
    assert not taken


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
