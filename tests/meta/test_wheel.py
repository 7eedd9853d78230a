"""Every way to have the package holds every backend: the wheel, the source distribution, and a checkout alone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from transformer_mb import __version__
from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what git holds of the package, its link included."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("transformer_mb", "backends"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(*words, place, cwd, **options):
    environment = {**os.environ, "PYTHONPATH": str(place)}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=environment, **options)


def check_import(name, place, cwd):
    code = f"""
import transformer_mb.backends.{name} as module
print(module.__file__)
assert module.BACKEND.name == {name!r}
"""
    done = run("-c", code, place=place, cwd=cwd)
    assert done.returncode == 0, done.stderr[-2000:]
    return Path(done.stdout.splitlines()[-1])


@pytest.mark.long(but=2)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_backend_imports_from_the_wheel(name, places, tmp_path):
    assert check_import(name, places["wheel"], tmp_path).is_relative_to(places["wheel"])


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_backend_imports_from_a_checkout_that_is_not_installed(name, checkout):
    assert (checkout / check_import(name, ".", checkout)).is_relative_to(checkout / "transformer_mb" / "backends")


def test_a_checkout_alone_knows_its_version_and_runs(checkout, tmp_path):
    """Without any installed package, and from another folder."""
    done = run("-S", "-c", "import transformer_mb; print(transformer_mb.__version__)", place=".", cwd=checkout)
    assert done.stdout == f"{__version__}\n", done.stderr
    done = run("-m", "transformer_mb", "--version", place=checkout, cwd=tmp_path)
    assert done.stdout == f"transformer_mb {__version__}\n", done.stderr


@pytest.mark.parametrize("way", ["wheel", "source distribution"])
def test_every_source_file_is_held(way, places):
    sources = {path.relative_to(ROOT) for path in (ROOT / "transformer_mb").rglob("*.py")}
    sources |= {Path("transformer_mb") / path.relative_to(ROOT) for path in (ROOT / "backends").rglob("*.py")}
    package = places[way] / "transformer_mb"
    assert {path.relative_to(places[way]) for path in package.rglob("*.py")} == sources
    assert (package / "py.typed").is_file()
    assets = [path for path in (ROOT / "transformer_mb").rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert len(assets) > 5 and all((places[way] / path.relative_to(ROOT)).is_file() for path in assets)


PROGRAM = """
import transformer_mb as tmb

backend = tmb.get_backend("torch", dtype="float64")
model = backend.build(tmb.presets.d2l(source_vocab_size=20, target_vocab_size=22), seed=0)
attention = backend.MultiHeadAttention(64, 64, 64, num_hiddens=64, num_heads=8, dropout=0.1)
tmb.save(model, "model")
"""
WRONG = {
    'tmb.get_backend("torch", dtype="float64")': 'tmb.get_backend("torch", type="float64")',
    "num_heads=8": "heads=8",
    "backend.build(": "backend.bild(",
    'tmb.save(model, "model")': "tmb.save(model)",
}


@pytest.fixture(scope="module")
def strictly_checked(places, tmp_path_factory):
    """A strict mypy for which the wheel is an installed package."""
    folder = tmp_path_factory.mktemp("typed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    # What the wheel needs comes after it, from this environment.
    (packages / "here.pth").write_text(f"{places['wheel']}\n{sysconfig.get_path('purelib')}\n")

    def check(program):
        (folder / "program.py").write_text(program)
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", folder / "venv/bin/python", "program.py"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    return check


def test_a_program_that_uses_the_wheel_type_checks_strictly(strictly_checked):
    done = strictly_checked(PROGRAM)
    assert done.returncode == 0, done.stdout


def test_type_checkers_read_an_editable_install(tmp_path):
    """It is a path, where setuptools may make a hook that Python alone obeys."""
    code = f"from setuptools import build_meta; print(build_meta.build_editable({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    with zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]) as wheel:
        (path,) = [name for name in wheel.namelist() if name.endswith(".pth")]
        assert wheel.read(path).decode().strip() == str(ROOT)


@pytest.mark.parametrize("right", WRONG)
def test_a_wrong_call_does_not_type_check(right, strictly_checked):
    done = strictly_checked(PROGRAM.replace(right, WRONG[right]))
    assert done.returncode == 1 and "program.py" in done.stdout
