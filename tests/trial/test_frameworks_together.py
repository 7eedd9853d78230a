"""Several frameworks in one process, each way in a process of its own: where they crash, nothing else may be lost."""

import importlib.util
import subprocess
import sys

import pytest

NEEDED = ("paddle", "tensorflow", "keras")
pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, NEEDED)), reason=f"needs all of {', '.join(NEEDED)}, which are not installed here"
)


def ended(*lines):
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)


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


def test_paddle_before_tensorflow_works():
    done = ended(
        "import transformer_mb as tmb",
        "backends = [tmb.get_backend(name) for name in ('paddle', 'tensorflow', 'paddle')]",
        "print(*(backend.encode(backend.build(tmb.presets.d2l(9, 9)), [[4, 5]]).shape for backend in backends))",
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout == "(1, 2, 32) (1, 2, 32) (1, 2, 32)\n"
