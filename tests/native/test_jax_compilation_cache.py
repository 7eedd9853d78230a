"""Programs that one process compiled and the next one loads."""

import json
import os
import subprocess
import sys

import pytest

from transformer_mb.machine.compilation_cache import VARIABLE

PROGRAM = """
import json
from collections import Counter
import jax
import numpy as np
import transformer_mb as tmb
from transformer_mb.trainer import Batch

events = Counter()
jax.monitoring.register_event_listener(lambda name, **_: events.update([name.rpartition("/")[2]]))
before = jax.config.jax_compilation_cache_dir
from transformer_mb.backends.jax import LayerNorm
assert jax.config.jax_compilation_cache_dir == before
backend = tmb.get_backend("jax")
model = backend.build(tmb.presets.d2l(7, 8, num_hiddens=8, ffn_num_hiddens=8, encoder_num_layers=1, decoder_num_layers=1))
ids, lengths = np.array([[4, 5]]), np.array([2])
trainer = backend.trainer(model)
loss = float(trainer.step(Batch(ids, lengths, ids, ids, lengths)))
found = [loss, backend.greedy(model, ids, lengths, 3), backend.beam(model, ids, lengths, 3, beam=2)]
print(json.dumps([found, events["cache_hits"], events["cache_misses"], jax.config.jax_compilation_cache_dir]))
"""


def run(**variables):
    """What it computed, the numbers of programs loaded and kept, and the folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_") and name != VARIABLE}
    environment |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return *json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A cache folder, and what the process that filled it found."""
    home = tmp_path_factory.mktemp("home")
    found, loaded, compiled, folder, _ = run(XDG_CACHE_HOME=home)
    assert loaded == 0 and compiled > 3 and folder.startswith(str(home / "transformer_mb" / "jax"))
    return home, found, compiled


def test_the_second_process_compiles_nothing(kept):
    home, found, compiled = kept
    again, loaded, compiled_again, *_ = run(XDG_CACHE_HOME=home)
    assert (again, loaded, compiled_again) == (found, compiled, 0)


@pytest.mark.long
def test_the_switch(kept):
    home, found, _ = kept
    assert run(XDG_CACHE_HOME=home, TRANSFORMER_MB_COMPILATION_CACHE="off")[:4] == (found, 0, 0, None)


@pytest.mark.long
def test_the_users_own_folder_wins(kept, tmp_path):
    home, found, _ = kept
    again, loaded, _, folder, _ = run(XDG_CACHE_HOME=home, JAX_COMPILATION_CACHE_DIR=tmp_path)
    assert (again, loaded, folder) == (found, 0, str(tmp_path))


@pytest.mark.long
def test_damaged_programs_are_compiled_anew(kept):
    home, found, compiled = kept
    files = list(home.rglob("*-cache"))
    assert len(files) == compiled
    for number, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if number % 2 else b"")
    again, loaded, _, _, said = run(XDG_CACHE_HOME=home)
    assert (again, loaded) == (found, 0) and "Error reading persistent compilation cache entry" in said
