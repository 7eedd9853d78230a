"""Several frameworks in one process, each way in a process of its own: where they crash, nothing else may be lost."""

import importlib.util
import subprocess
import sys

import pytest


def needs(*packages):
    there = all(map(importlib.util.find_spec, packages))
    return pytest.mark.skipif(not there, reason=f"needs all of {', '.join(packages)}, which are not installed here")


def ended(*lines):
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)


@needs("paddle", "tensorflow", "keras")
@pytest.mark.parametrize("first", ["import tensorflow", "tmb.get_backend('tensorflow')"])
@pytest.mark.parametrize("then", ["tmb.get_backend('paddle')", "import transformer_mb.backends.paddle"])
def test_paddle_after_tensorflow_is_refused_instead_of_a_segmentation_fault(first, then):
    done = ended(
        "import transformer_mb as tmb",
        first,
        "try:",
        f"    {then}",
        "except tmb.errors.BackendError as error:",
        "    print(error)",
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert "'paddle' cannot be loaded after TensorFlow: in this order the two crash" in done.stdout
    assert done.stdout.count("\n") == 1 and "Reinstall" not in done.stdout


@needs("paddle", "tensorflow", "keras")
def test_paddle_before_tensorflow_works():
    done = ended(
        "import transformer_mb as tmb",
        "backends = [tmb.get_backend(name) for name in ('paddle', 'tensorflow', 'paddle')]",
        "print(*(backend.encode(backend.build(tmb.presets.d2l(9, 9)), [[4, 5]]).shape for backend in backends))",
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout == "(1, 2, 32) (1, 2, 32) (1, 2, 32)\n"


OWN = """
import torch
import transformer_mb as tmb
from transformer_mb.backends.torch import EncoderDecoder

config = tmb.presets.d2l(9, 9)
here, there = tmb.get_backend("torch"), tmb.get_backend("numpy")


class Mine(EncoderDecoder):
    pass


class Wrapped(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.config = inner, inner.config

    def forward(self, *inputs):
        return self.inner(*inputs)


model = here.build(config)
for one in (model, Mine.from_config(config), Wrapped(model)):
    print(here.logits(one, [[4]], [[1]]).shape)
for backend, one in ((there, model), (there, Mine.from_config(config)), (here, there.build(config))):
    try:
        backend.logits(one, [[4]], [[1]])
    except tmb.errors.BackendError as error:
        print(error)
"""


@needs("torch")
def test_a_model_goes_to_its_own_backend_and_what_derives_from_it_or_wraps_it_too():
    done = ended(OWN)
    assert done.returncode == 0, done.stderr[-1000:]
    refused = [f"The model must be of backend {a}, got one of backend {b}." for a, b in 2 * [("numpy", "torch")]]
    refused.append("The model must be of backend torch, got one of backend numpy.")
    assert done.stdout.splitlines() == [*["(1, 1, 9)"] * 3, *refused]
