"""The command line as a process: how it ends, its standard streams, and results that a full disk keeps back."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_mb.reports.output import Output, each_written

PROGRAM = """
import gc, sys
from transformer_mb import __main__, registry
{before}
sys.argv = ["transformer-mb", *sys.argv[1:]]
status = __main__.run()
print(status, gc.isenabled(), gc.get_freeze_count() > 10_000, file=sys.stderr)
"""


def run(*arguments, before=""):
    program = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return done.stderr.split()[-3:]


def test_the_process_ends_without_looking_for_garbage():
    assert run("presets") == ["0", "True", "True"]


def test_what_triton_made_is_freed_since_nanobind_reports_what_is_not():
    assert run("presets", before="import types; sys.modules['triton'] = types.ModuleType('triton')") == ["0", "True", "False"]


def test_the_status_is_the_commands():
    assert run("translate", "nowhere") == ["2", "True", "True"]


def test_no_command_waits_for_a_library_that_it_does_not_need():
    program = "import sys; from transformer_mb.cli.main import main; main(['presets']); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


LIBRARY = """
import gc, sys
{before}
import transformer_mb as tmb
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "transformer_mb.backends.numpy.backend":
            seen.append(gc.isenabled())
sys.meta_path.insert(0, Watch())
tmb.get_backend("numpy")
tmb.get_backend("numpy")
print(seen, gc.isenabled(), gc.get_freeze_count())
"""


def used(before):
    program = LIBRARY.format(before=before)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_program_that_uses_the_library_collects_as_before_and_nothing_is_frozen():
    assert used("") == "[False] True 0"
    assert used("gc.disable()") == "[False] False 0"


def test_garbage_is_collected_again_where_the_import_fails():
    program = """
import gc, sys
import transformer_mb as tmb
sys.modules["transformer_mb.backends.numpy.attention"] = None
try:
    tmb.get_backend("numpy")
except tmb.errors.BackendError:
    print(gc.isenabled())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# Standard streams: closed, full or read by nobody, and what frameworks write to them.

LINE = "go .\n"
TALKS = """
import logging, os, sys, warnings
from transformer_mb.cli import main
from transformer_mb.cli.commands import presets
def talkative():
    os.write(2, b"native\\n")
    warnings.warn("warned", UserWarning)
    logging.getLogger("framework").error("logged")
    print("ours", file=sys.stderr)
    if "crash" in sys.argv:
        os.abort()
    return []
presets.names = talkative
sys.exit(main.main(sys.argv[1:2] + ["presets"] if sys.argv[1:2] == ["--debug"] else ["presets"]))
"""


def shell(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["sh", "-c", command.replace("transformer-mb", f"{sys.executable} -m transformer_mb")], capture_output=True, text=True
    )


def test_closed_standard_output_is_one_paragraph():
    done = shell("transformer-mb --version >&-")
    assert (
        done.returncode == 2 and done.stderr.startswith("Error: Standard output must be open") and done.stderr.count("\n") == 1
    )


def test_other_closed_streams_do_no_harm():
    done = shell("transformer-mb --version <&- 2>&-")
    assert done.returncode == 0 and done.stdout.startswith("transformer_mb ")


def test_training_goes_on_where_nobody_reads(data, tmp_path):
    line = f"{sys.executable} -m transformer_mb train --data {data} --num-examples 4 --epochs 1 --out {tmp_path}/model | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr and (tmp_path / "model" / "config.json").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["translate MODEL", "presets", "evaluate MODEL --data DATA", "--version", "train --help"])
def test_a_full_standard_output_is_named(trained, data, command, unbuffered):
    words = command.replace("MODEL", str(trained)).replace("DATA", str(data)).split()
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "transformer_mb", *words], input=LINE, stdout=full,
                              stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "Error: Standard output: No space left on device.\n")


def test_closed_standard_input_is_one_paragraph(trained):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m transformer_mb translate {trained} <&-"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("Error: Standard input must be open, got it closed")
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_what_frameworks_say_is_kept_away_and_shown_for_debugging():
    def said(*words):
        return subprocess.run([sys.executable, "-c", TALKS, *words], capture_output=True, text=True)

    assert said().stderr == "ours\n"
    assert all(word in said("--debug").stderr for word in ("native\n", "warned", "logged", "ours\n"))
    assert "Fatal Python error: Aborted" in said("crash").stderr


# A result that cannot be written, for a disk is full, keeps none of the others back, and hides nothing that was found.

FULL = "No space left on device"


@pytest.fixture
def full_disk(small_disk):
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_bsize))
    return small_disk


def test_scores_are_told_and_kept_where_the_translations_are_not(cli, trained, data, tmp_path):
    done = cli("evaluate", trained, "--data", data, "--output", "/dev/full", "--json", tmp_path / "scores.json")
    assert done.status == 2 and done.err.endswith(f"Error: /dev/full: {FULL}.\n")
    assert "BLEU" in done.out and "exact match" in done.out
    assert json.loads((tmp_path / "scores.json").read_text())["bleu"]


def test_each_file_that_is_not_written_is_named(cli, trained, data, full_disk):
    files = full_disk / "texts", full_disk / "scores.json"
    done = cli("evaluate", trained, "--data", data, "--output", files[0], "--json", files[1])
    assert done.status == 2 and "BLEU" in done.out
    assert [line for line in done.err.splitlines() if "Error" in line] == [f"Error: {file}: {FULL}." for file in files]


def test_a_training_whose_curve_is_not_drawn_says_what_came_of_it(cli, settings_file, tmp_path, full_disk):
    curve, results = full_disk / "curve.svg", tmp_path / "results.json"
    files = ("--out", tmp_path / "model", "--loss-curve", curve, "--json", results)
    done = cli("train", settings_file, "--epochs", 2, *files)
    assert done.status == 2 and f"Error: {curve}: {FULL}." in done.err
    assert f"saved in {tmp_path / 'model'}" in done.out
    assert json.loads(results.read_text())["epoch"] == 2 and os.listdir(full_disk) == ["ballast"]


def test_an_interrupted_training_whose_curve_is_not_drawn_says_how_it_goes_on(settings_file, tmp_path, full_disk):
    folder, curve = tmp_path / "model", full_disk / "curve.svg"
    options = ["--epochs", "100000", "--out", folder, "--loss-curve", curve]
    command = [sys.executable, "-m", "transformer_mb", "train", settings_file, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr.readline().startswith("epoch 1/100000")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert f"Error: {curve}: {FULL}.\n" in err
    assert err.endswith(f"Continue with: transformer-mb train --out {folder} --resume\n")


def test_the_page_for_people_is_written_where_that_for_programs_is_not(tmp_path):
    with pytest.raises(OSError, match=FULL) as error:
        Output(Path("/dev/full"), tmp_path / "page.md").write({"found": 1}, lambda: "found 1")
    assert str(error.value.filename) == "/dev/full" and (tmp_path / "page.md").read_text() == "found 1"


def test_what_ends_the_work_itself_comes_before_what_was_not_written(capfd):
    with pytest.raises(KeyboardInterrupt), each_written() as attempt:
        attempt(Path("/no/such/folder/file").read_text)
        raise KeyboardInterrupt
    assert capfd.readouterr().err == "Error: /no/such/folder/file: No such file or directory.\n"
