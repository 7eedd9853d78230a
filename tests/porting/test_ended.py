"""A port that is ended from outside: nothing half, nothing hidden, no process that goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from porting.destinations import FILES, FOLDERS, model_at, source_for
from transformer_mb.files.own_names import PREFIX
from transformer_mb.porting.exports import EXPORTS

COMMAND = "import sys; from transformer_mb.cli.main import main; sys.exit(main())"


class Place:
    """Where a port writes to, with a folder of its own for temporary files."""

    def __init__(self, folder: Path):
        self.out, self.temporary = folder / "out", folder / "temporary"
        self.out.mkdir()
        self.temporary.mkdir()

    def start(self, *arguments: object) -> subprocess.Popen:
        command = [sys.executable, "-P", "-c", COMMAND, "port", *map(str, arguments)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env={**os.environ, "TMPDIR": str(self.temporary)}, **quiet)

    def port(self, *arguments: object) -> None:
        process = self.start(*arguments)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said

    def workers(self) -> list[str]:
        """Processes whose command line names the temporary folder."""
        found = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = place.read_bytes()
            except OSError:
                continue  # it has ended
            if os.fsencode(self.temporary) in words:
                found.append(words.decode(errors="replace"))
        return found

    def left(self) -> list[str]:
        return sorted([*os.listdir(self.out), *os.listdir(self.temporary)])

    def ours(self) -> list[str]:
        """What is hidden there; engines have files of their own among the temporary ones."""
        return [name for name in self.left() if name.startswith((PREFIX, ".model"))]


def wait_until(holds, seconds=60.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.01)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def model(trained_on):
    return trained_on("numpy") / "canonical"


def in_the_proof(place):
    """While a framework is asked what the result computes, there are a stage, a temporary folder and a worker."""
    return any(place.out.iterdir()) and any(place.temporary.iterdir()) and place.workers()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_port_that_is_asked_to_end_leaves_nothing(place, model, ending):
    process = place.start(model, place.out / "m.params", "--to", "mxnet")
    wait_until(lambda: in_the_proof(place))
    process.send_signal(ending)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + ending and said == b""
    assert place.left() == []
    wait_until(lambda: not place.workers(), 10)


@pytest.mark.long
def test_what_a_killed_port_leaves_the_next_one_removes(place, model):
    process = place.start(model, place.out / "m.params", "--to", "mxnet")
    wait_until(lambda: in_the_proof(place))
    process.kill()
    process.wait()
    wait_until(lambda: not place.workers(), 10)
    assert place.left()
    other = place.start(model, place.out / "other.params", "--to", "mxnet")  # whose own folders stay
    wait_until(lambda: in_the_proof(place))
    place.port(model, place.out / "m.params", "--to", "mxnet")
    assert other.wait(timeout=300) == 0
    assert [name for name in place.left() if not name.endswith(".config.json")] == ["m.params", "other.params"]


def made(target: str, folder: Path, numbers=(0, 1)) -> tuple[list[Path], list[str]]:
    """Sources, and what each of them is when ported to the target."""
    sources = [source_for(target, number, folder / f"source{number}") for number in numbers]
    place = Place(folder)
    for number, source in zip(numbers, sources, strict=True):
        place.port(source, place.out / f"whole{number}", "--to", target)
    return sources, [model_at(target, place.out / f"whole{number}") for number in numbers]


KILLED = ["canonical", "npz", "paddle", "onnx", "ctranslate2", "safetensors"]


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_port_ended_at_a_random_moment_leaves_the_old_or_the_new_whole(tmp_path, ending):
    """Thirty ports, to folders and files, half of them with --force: what lies there is the old model or the new, whole."""
    moments = random.Random(7)
    counts = {"old": 0, "new": 0, "nothing": 0}
    statuses = []
    for target in KILLED:
        folder = tmp_path / target
        folder.mkdir()
        sources, (old, new) = made(target, folder)
        for force in (False, True):
            for attempt in range(3 if force else 2):
                (folder / f"{force}{attempt}").mkdir()
                place = Place(folder / f"{force}{attempt}")
                destination = place.out / "model.weights.h5"
                before = time.monotonic()
                if force:
                    place.port(sources[0], destination, "--to", target)
                else:
                    place.port(sources[0], place.out / "aside", "--to", target)
                usual = time.monotonic() - before
                process = place.start(sources[1], destination, "--to", target, *(["--force"] if force else []))
                time.sleep(moments.uniform(0.3, 1.05) * usual)
                process.send_signal(ending)
                process.communicate(timeout=60)
                statuses.append(process.returncode)
                wait_until(lambda place=place: not place.workers(), 10)
                found = model_at(target, destination) if destination.exists() else "nothing"
                which = {old: "old", new: "new", "nothing": "nothing"}.get(found, "broken or mixed")
                assert which in (("old", "new") if force else ("nothing", "new")), (target, attempt)
                counts[which] += 1
                assert ending == signal.SIGKILL or not place.ours()
                place.port(sources[1], destination, "--to", target, "--force")
                assert model_at(target, destination) == new
                assert not place.ours()
    assert sum(counts.values()) == 30 and counts["old"] and counts["new"] + counts["nothing"]
    print(
        f"{signal.Signals(ending).name}: 30 ports ended, found {counts}, exit statuses {sorted(statuses)}; none broken or mixed"
    )


def end_at(number: int, ending: int, source: Path, destination: Path, target: str) -> int:
    """A port with --force that ends itself so before its call number ``number`` that changes a name or flushes one."""
    program = f"""
import itertools, os, signal, sys
from transformer_mb.files import renames
from transformer_mb.porting import port as port_module
from transformer_mb.porting.files.destination import Output
calls = itertools.count()
def deadly(real):
    def call(*arguments, **options):
        if next(calls) == {number}:
            os.kill(os.getpid(), {int(ending)})
        return real(*arguments, **options)
    return call
true = Output.put_in_place
def placing(*arguments, **options):
    for name in ("rename", "replace", "link", "unlink", "rmdir", "chmod", "fsync"):
        setattr(os, name, deadly(getattr(os, name)))
    for name in ("exchange", "rename_new"):
        setattr(renames, name, deadly(getattr(renames, name)))
    return true(*arguments, **options)
Output.put_in_place = placing
from transformer_mb.cli.reporting import ended_cleanly
with ended_cleanly():
    port_module.port(sys.argv[1], sys.argv[2], sys.argv[3], force=True)
"""
    return subprocess.run([sys.executable, "-P", "-c", program, source, destination, target], capture_output=True).returncode


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("target", ["canonical", "npz", "paddle"])
def test_a_port_ended_at_any_of_its_last_steps_leaves_the_old_or_the_new_whole(tmp_path, target, ending):
    """Random moments seldom hit them."""
    sources, (old, new) = made(target, tmp_path)
    weights_of_old, weights_of_new = (whole.split()[0] for whole in (old, new))
    (tmp_path / "last").mkdir()
    place = Place(tmp_path / "last")
    found, kills = [], 0
    for number in range(100):
        place.port(sources[0], place.out / "model.weights.h5", "--to", target, "--force")
        status = end_at(number, ending, sources[1], place.out / "model.weights.h5", target)
        found.append(model_at(target, place.out / "model.weights.h5"))
        if status == 0:
            break
        assert status == (-ending if ending == signal.SIGKILL else 128 + ending)
        assert ending == signal.SIGKILL or not place.ours()
        kills += 1
        # Weights without moments are what is left out rather than mixed.
        assert found[-1] in (old, new, f"{weights_of_old} none", f"{weights_of_new} none"), number
    assert found[-1] == new and kills >= 4 and not place.ours()
    name, left_out = signal.Signals(ending).name, sum(one.endswith("none") for one in found)
    print(f"{target}: {name} at each of {kills} steps: {found.count(old)} old, {found.count(new) - 1} new, ", end="")
    print(f"{left_out} weights whose moments were left out, none mixed")


def test_every_target_can_be_tried(tmp_path):
    assert set(KILLED) <= {*FILES, *FOLDERS} and set(EXPORTS) <= set(KILLED)
