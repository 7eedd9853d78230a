"""``compat_decode="d2l"`` against the d2l package's own predictor: the same translations from the same weights."""

import importlib.util
import json
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.long,  # the package trains for seconds
    pytest.mark.skipif(
        importlib.util.find_spec("d2l") is None, reason="the d2l package is not installed (`make test` installs it)"
    ),
]


@pytest.fixture(scope="module")
def published(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("d2l")
    python(HERE / "d2l_worker.py", folder)
    return folder


@pytest.fixture
def shares(python, published):
    def run(backend):
        done = python(HERE / "compatible_translations.py", published, backend=backend)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_the_peer_has_learned_something(published):
    content = json.loads((published / "d2l.json").read_text())
    assert content["losses"][-1] < 0.6 * content["losses"][0]
    assert len(content["translations"]) == 300 and len(set(content["translations"].values())) > 100


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_every_translation_is_d2ls(shares, backend):
    found = shares(backend)
    assert found["d2l"] == 1.0
    assert found["correct"] < 0.9  # at its true positions this model answers otherwise: the switch is what makes them equal


@pytest.mark.long
@pytest.mark.parametrize("backend", [name for name in BUILT_IN if name not in ("numpy", "torch")])
def test_every_translation_is_d2ls_on_the_other_backends(shares, backend):
    assert shares(backend)["d2l"] == 1.0
