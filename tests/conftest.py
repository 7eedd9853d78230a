"""Which tests run in which process, and what tests of several folders use.

Two frameworks in one process can crash, so a backend's tests run in a pytest process of their own: with
``--backend NAME`` only the package's ``conformance/`` and ``native/test_NAME*.py`` are collected, for that backend; without it
everything else is, and ``test_backends.py`` runs one such process for each backend.
"""

import errno
import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from transformer_mb.machine.processor import tell_openblas

tell_openblas()  # as every command does that a test starts: the same kernels in both, and so the same bits

TESTS = Path(__file__).parent
ROOT = TESTS.parent


# --backend, and the mark long(but=n); and one browser, of which a process can start no second one.
pytest_plugins = ["transformer_mb.conformance.options", "browser"]


def pytest_ignore_collect(collection_path, config):
    name = config.getoption("--backend")
    folder = collection_path.relative_to(TESTS).parts[:1] if collection_path.is_relative_to(TESTS) else ()
    if collection_path.is_dir() and not folder:
        return None
    if folder == ("native",) and collection_path.is_file():
        return None if collection_path.name.startswith(f"test_{name}") else True
    return True if name and folder and folder != ("native",) else None


# Small arrays: a second thread costs more than it brings, and two of them wait for each other on a busy machine. Whoever
# starts the tests may say otherwise. Set before NumPy is imported, here and in every process that a test starts.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, os.environ.get("OMP_NUM_THREADS", "1"))

# And nothing that an earlier process compiled.
os.environ["TRANSFORMER_MB_COMPILATION_CACHE"] = "off"

# What runs for minutes starts first, so that no process of `make test` is left alone with it at the end.
LONGEST_FIRST = ("test_backends.py", "parity", "porting", "meta", "errata", "examples")
OF_A_BACKEND = ("test_backend", "test_long_tests_of_a_backend")
# Fixtures that take long to make: one process makes each, and runs all tests that need it.
MADE_ONCE = ("references", "demo", "places")


PRODUCT = "import tensorflow as tf; X = tf.ones((8, 8), tf.bfloat16); tf.linalg.matmul(X, X)"


def skip_what_ends_tensorflow(items):
    """Under a ceiling on oneDNN a product in bfloat16 may be a segmentation fault, in three lines without us too.

    TensorFlow registers its oneDNN kernels by what the processor can do, and oneDNN has none of two bytes below the ceiling.
    """
    done = subprocess.run([sys.executable, "-c", PRODUCT], capture_output=True)
    if done.returncode == -signal.SIGSEGV:
        reason = "TensorFlow itself ends with a segmentation fault at a product in bfloat16 under ONEDNN_MAX_CPU_ISA"
        for item in items:
            if item.get_closest_marker("two_bytes"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)  # before xdist looks for the groups, or there are none
def pytest_collection_modifyitems(config, items):
    """Which tests run in one process of several: those of a file, but each backend by itself."""
    if config.getoption("--backend") == "tensorflow" and "ONEDNN_MAX_CPU_ISA" in os.environ:
        skip_what_ends_tensorflow(items)
    places = [item.path.relative_to(TESTS if item.path.is_relative_to(TESTS) else ROOT) for item in items]
    for item, place in zip(items, places, strict=True):
        shared = [fixture for fixture in MADE_ONCE if fixture in item.fixturenames]
        backend = item.callspec.params["name"] if item.originalname in OF_A_BACKEND else None
        item.add_marker(pytest.mark.xdist_group(backend or (*shared, place.as_posix())[0]))
    order = {first: rank for rank, first in enumerate(LONGEST_FIRST)}
    ranks = {item: order.get(place.parts[0], len(order)) for item, place in zip(items, places, strict=True)}
    items.sort(key=ranks.__getitem__)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_works():
    """Who starts us in the background may have us ignore Ctrl-C or the end of a terminal, and every process that we start."""
    before = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in before.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module", autouse=True)
def leaves_the_signals_alone(ctrl_c_works):
    """Ray, for one, answers SIGTERM from its start on: the tests of a later file would end with its status."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real sentence pairs beside the project."""
    folder = TESTS.parent.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data folder is not beside the project")
    return folder


@pytest.fixture
def small_disk(tmp_path):
    """A file system of four megabytes, which is soon full."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {mount.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.fixture
def disk_full(monkeypatch):
    """Whatever is to be on the disk finds no space left on it."""

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)


@pytest.fixture
def terminal(monkeypatch):
    """A function that makes standard error a terminal, and returns what it shows."""

    def made():
        shown = io.StringIO()
        shown.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", shown)
        monkeypatch.setenv("TERM", "xterm")
        return shown

    return made


@pytest.fixture
def interpreter(tmp_path):
    """A function: the path of a shell script that stands for a Python which a framework, or an installation, ruins."""

    def made(script: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return made


# A small trained checkpoint, and ways to run the command line. What they take is imported after the lines above.


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def cli(capfd, monkeypatch):
    """Run a command line in this process; ``stdin`` is what it reads."""
    from transformer_mb.cli.main import main

    def run(*arguments: object, stdin: str | bytes = "") -> Outcome:
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capfd.readouterr())

    return run


@pytest.fixture
def fails(cli):
    """Run a command line that must end in one readable paragraph on standard error; returns it."""

    def run(*arguments: object, stdin: str | bytes = "", status: int = 2) -> str:
        outcome = cli(*arguments, stdin=stdin)
        assert outcome.status == status, outcome
        lines = [line for line in outcome.err.splitlines() if not line.startswith("epoch ")]  # progress may come before
        assert len(lines) == 1 and lines[0].startswith("Error: ") and lines[0].endswith("."), outcome.err
        assert "--debug" not in lines[0], "an error that nobody thought of"
        return lines[0]

    return run


TRAINING = """
[model]
num_hiddens = 32
ffn_num_hiddens = 64
encoder_num_layers = 1
decoder_num_layers = 1
tie_output = true
dropout = 0.0
max_len = 30

[training]
epochs = 60
batch_size = 16
learning_rate = 0.01

[data]
source = "{data}"
"""


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    from transformer_mb.data import demo_pairs

    return demo_pairs()[0][:40]


@pytest.fixture(scope="session")
def data(tmp_path_factory, pairs) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture
def own_data(tmp_path, data) -> Path:
    return Path(shutil.copy(data, tmp_path / "own.tsv"))


@pytest.fixture(scope="session")
def settings_file(tmp_path_factory, data) -> Path:
    path = tmp_path_factory.mktemp("settings") / "train.toml"
    path.write_text(TRAINING.format(data=data), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, settings_file) -> Path:
    """A checkpoint that knows the forty sentences by heart, as with each of eight seeds, made by the command itself."""
    from transformer_mb.cli.main import main

    folder = tmp_path_factory.mktemp("trained") / "model"
    assert main(["train", str(settings_file), "--out", str(folder), "--backend", "numpy"]) == 0
    return folder


@pytest.fixture(scope="session")
def translator(trained):
    from transformer_mb import Translator

    return Translator.load(trained)


@pytest.fixture
def lines(pairs) -> list[str]:
    return [source for source, _ in pairs[:6]]


@pytest.fixture
def checkpoint(trained, tmp_path) -> Path:
    """A copy to damage or to train on."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def pytest_terminal_summary(terminalreporter):
    """What each backend's process ran."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name.startswith("backend "):
                terminalreporter.write_line(f"{name}: {value}")
