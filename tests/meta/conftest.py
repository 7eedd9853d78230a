"""The package as it is installed: built once for all tests that look at it."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from transformer_mb import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    """Where ``transformer_mb`` lies, by the way to have it; the wheel is built from the source distribution."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    name = f"transformer_mb-{__version__}"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl") as wheel:
        wheel.extractall(folder / "wheel")
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        assert not [member.name for member in archive if member.issym() or member.islnk()]
        archive.extractall(folder, filter="data")
    return {"wheel": folder / "wheel", "source distribution": folder / name}
