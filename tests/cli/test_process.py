"""The command line as a process: what it makes with a framework stays until it ends, and Python looks for no garbage in it."""

import subprocess
import sys

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
