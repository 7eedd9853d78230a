"""Which tests run in which process.

Two frameworks in one process can crash, so a backend's tests run in a pytest process of their own: with
``--backend NAME`` only ``conformance/`` and ``native/test_NAME.py`` are collected, for that backend; without it
everything else is, and one such process runs for each backend beside it, for ``test_backends.py``.
"""

import signal
import subprocess
from pathlib import Path

import pytest

from backend_processes import BackendProcesses

TESTS = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption("--backend", help="run the conformance suite and the native tests of this backend only")


def pytest_ignore_collect(collection_path, config):
    name = config.getoption("--backend")
    folder = collection_path.relative_to(TESTS).parts[:1] if collection_path.is_relative_to(TESTS) else ()
    if collection_path.is_dir() and not folder:
        return None
    if folder == ("conformance",):
        return None if name else True
    if folder == ("native",) and collection_path.is_file():
        return None if collection_path.name == f"test_{name}.py" else True
    return True if name and folder and folder != ("native",) else None


PROCESSES = pytest.StashKey[BackendProcesses]()


def pytest_collection_finish(session):
    """Start the backends' processes that the collected tests ask for, the slowest first."""
    items = [item for item in session.items if item.originalname in ("test_backend", "test_long_tests_of_a_backend")]
    wanted = [(item.callspec.params["name"], "long" if item.get_closest_marker("long") else "not long") for item in items]
    if wanted and not session.config.option.collectonly:
        session.config.stash[PROCESSES] = BackendProcesses(wanted[::-1])


def pytest_sessionfinish(session):
    if PROCESSES in session.config.stash:
        session.config.stash[PROCESSES].close()


@pytest.fixture(scope="session")
def backend_processes(request):
    return request.config.stash[PROCESSES]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_works():
    """A shell that starts us in the background has us ignore Ctrl-C, and every process that we start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


COUNTS = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def counts(request):
    """What each backend's process ran, printed at the end."""
    return request.config.stash.setdefault(COUNTS, {})


def pytest_terminal_summary(terminalreporter, config):
    for name, text in config.stash.get(COUNTS, {}).items():
        terminalreporter.write_line(f"backend {name}: {text}")
