"""The wheel holds every backend, importable from a folder that is not the checkout."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from transformer_mb.registry import BUILT_IN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_backend_imports_from_the_wheel(name, unpacked, tmp_path):
    # -S keeps the editable installation's finder out; the environment's packages are added back by hand.
    code = f"""
import sys
sys.path[:0] = [{str(unpacked)!r}]
sys.path.append({sysconfig.get_path("purelib")!r})
import transformer_mb.backends.{name} as module
assert module.__file__.startswith({str(unpacked)!r}), module.__file__
assert module.BACKEND.name == {name!r}
"""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_wheel_holds_every_source_file(unpacked):
    sources = {p.relative_to(ROOT) for p in (ROOT / "transformer_mb").rglob("*.py")}
    sources |= {Path("transformer_mb") / p.relative_to(ROOT) for p in (ROOT / "backends").rglob("*.py")}
    missing = [str(source) for source in sorted(sources) if not (unpacked / source).is_file()]
    assert not missing and (unpacked / "transformer_mb" / "py.typed").is_file()
