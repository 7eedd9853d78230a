"""The machine: what libraries hear of a processor, memory that is not to be had or is kept, and programs compiled once."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from transformer_mb.cli.reporting import guarded
from transformer_mb.columns.environment import SETTINGS
from transformer_mb.machine.compilation_cache import VARIABLE, compilation_cache
from transformer_mb.machine.out_of_memory import without_memory
from transformer_mb.machine.processor import described, is_of_another_maker, slowed_down
from transformer_mb.reports.output import describe

TELL = """
import sys
from pathlib import Path
from transformer_mb.machine.processor import tell_mkl, tell_openblas
tell_mkl(Path(sys.argv[1]))
tell_openblas(Path(sys.argv[1]))
import os
print(os.environ.get("OPENBLAS_CORETYPE"), os.environ.get("MKL_DEBUG_CPU_TYPE"))
"""
VARIABLES = ("OPENBLAS_CORETYPE", "MKL_DEBUG_CPU_TYPE")
KNOWN = "processor : 0\nflags\t\t: fpu avx2 avx512f avx512dq avx512cd avx512bw avx512vl\nbugs : none\n"
AMD = f"vendor_id\t: AuthenticAMD\n{KNOWN}".replace("fpu", "fpu fma")


def told(program, path, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**kept, **environment})
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("description", "environment", "expected"),
    [
        (KNOWN, {}, "SkylakeX None"),
        (KNOWN, {"OPENBLAS_CORETYPE": "Haswell"}, "Haswell None"),
        (KNOWN.replace(" avx512bw", ""), {}, "None None"),
        (AMD, {}, "SkylakeX 7"),
        (AMD, {"MKL_DEBUG_CPU_TYPE": "4"}, "SkylakeX 4"),
        (AMD.replace(" avx512bw", ""), {}, "None 5"),
        (AMD.replace(" avx2", ""), {}, "SkylakeX None"),
        (AMD.replace("AMD", "Intel"), {}, "SkylakeX None"),
        ("no flags at all", {}, "None None"),
        (None, {}, "None None"),
    ],
)
def test_the_kernels_are_named_where_the_processor_has_them(tmp_path, description, environment, expected):
    path = tmp_path / "cpuinfo"
    if description is not None:
        path.write_text(description)
    assert told(TELL, path, **environment) == expected


def test_what_a_run_says_of_its_processor(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(f"model name\t: A 9 CPU @ 2.0GHz\n{KNOWN}")
    assert described(path) == {
        "model": "A 9 CPU @ 2.0GHz",
        "instructions": "avx2 avx512bw avx512cd avx512dq avx512f avx512vl",
    }
    assert described(tmp_path / "none") == {"model": "", "instructions": ""}


def test_it_is_too_late_once_numpy_is_imported(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(KNOWN)
    assert told(f"import numpy\n{TELL}", path) == "None None"


@pytest.mark.parametrize(
    ("maker", "another"), [("AuthenticAMD", True), ("HygonGenuine", True), ("GenuineIntel", False), (None, False)]
)
def test_who_made_the_processor(tmp_path, maker, another):
    path = tmp_path / "cpuinfo"
    if maker is not None:
        path.write_text(f"processor : 0\nvendor_id\t: {maker}\n{KNOWN}")
    assert is_of_another_maker(path) == another


ZEN3, GENOA, SAPPHIRE = "fpu avx2 fma f16c", "fpu avx2 avx512f avx512_bf16", "fpu avx512f avx512_bf16 amx_bf16 avx512_fp16"


@pytest.mark.parametrize(
    ("flags", "formats", "told"),
    [
        (ZEN3, ("bf16", "float32"), "bf16"),
        (ZEN3, ("full", "bfloat16"), "bfloat16"),
        (ZEN3, ("full", "float32"), None),
        (ZEN3, ("full", "float64"), None),
        (GENOA, ("bf16", "float32"), None),
        (GENOA, ("full", "float16"), "float16"),
        (SAPPHIRE, ("bf16", "float16"), None),
        ("", ("bf16", "float32"), None),
    ],
)
def test_who_asks_for_a_format_that_the_processor_does_not_multiply_is_told(flags, formats, told, tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor : 0\nflags\t\t: {flags}\n" if flags else "processor : 0\n")
    missing = "amx_fp16, asimdhp, avx512_fp16" if told == "float16" else "amx_bf16, avx512_bf16, bf16"
    expected = told and f"{told} may take longer than float32 here, most of all in batches: {path} lists none of {missing}"
    assert slowed_down(*formats, description=path) == expected


# Memory that cannot be had is told in one sentence, whatever a framework makes of it.

# What each raised when it was asked for more than there was; the second is PyTorch's on a GPU.
RAISED = {
    "torch": (
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        "70368744177664 bytes. Error code 12 (Cannot allocate memory)",
        "tried to allocate 70368744177664 bytes",
    ),
    "torch on a GPU": (
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.19 GiB of which 12.56 MiB is free. "
        "Including non-PyTorch memory, this process has 79.17 GiB memory in use. If reserved but unallocated memory is large "
        "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "(CUDA out of memory. Tried to allocate 20.00 MiB)",
    ),
    "jax": ("RESOURCE_EXHAUSTED: Out of memory allocating 17592186044416 bytes.", "allocating 17592186044416 bytes"),
    "tensorflow": (
        "{{function_node __wrapped__Fill_device_/job:localhost/replica:0/task:0/device:CPU:0}} OOM when allocating tensor with "
        "shape[1073741824,4096] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu [Op:Fill]",
        "OOM when allocating tensor with shape[1073741824,4096]",
    ),
    "paddle": (
        "(ResourceExhausted) Fail to alloc memory of 17592186044416 size, error code is 12.\n  [Hint: Expected error == 0, but "
        "received error:12 != 0:0.] (at /paddle/paddle/phi/core/memory/allocation/cpu_allocator.cc:44)\n",
        "Fail to alloc memory of 17592186044416 size",
    ),
}


@pytest.mark.parametrize("framework", RAISED)
def test_frameworks_words_become_one_sentence(framework, capsys):
    words, kept = RAISED[framework]

    @guarded
    def command():
        raise RuntimeError(words)

    with pytest.raises(typer.Exit) as end:
        command()
    told = capsys.readouterr().err
    assert end.value.exit_code == 1
    assert told.startswith("Error: Memory must hold the model and one batch, but no more could be had (")
    assert told.endswith("); smaller batches take less.\n")
    assert kept in told and "CONF" not in told and "Hint" not in told and "Error code" not in told


def test_a_files_name_is_no_want_of_memory(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        (tmp_path / "out of memory.txt").read_text()
    assert describe(raised.value) == f"{tmp_path / 'out of memory.txt'}: No such file or directory."


def test_numpys_own_error_too():
    with pytest.raises(MemoryError) as raised:
        import numpy as np

        np.ones(2**57)
    assert "smaller batches take less" in without_memory(raised.value)
    assert "had; smaller" in without_memory(MemoryError())


def test_any_other_error_is_none_of_memory():
    assert without_memory(RuntimeError("shapes [3, 4] and [5] do not fit")) is None


@pytest.mark.parametrize("width", [10**8, 10**12])
def test_a_model_that_cannot_fit_is_refused_with_its_size(fails, data, tmp_path, width):
    message = fails("train", "--data", data, "--out", tmp_path / "model", "--num-hiddens", width, "--num-heads", 1)
    assert "The model must fit into memory, but its " in message and " parameters take " in message and " GiB " in message
    assert list(tmp_path.iterdir()) == []


# What a training step frees is there for the next one.

# Blocks of 8 MB, as steps have them; how many pages the system had to make for the fourth time that all are wanted.
PROGRAM = """
import resource
import numpy as np
import transformer_mb as tmb
backend = tmb.get_backend("numpy")
{trainer}

def wanted():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**20) for _ in range(20)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print([wanted() for _ in range(4)][-1])
"""
TRAINER = "backend.trainer(backend.build(tmb.TransformerConfig(source_vocab_size=9, target_vocab_size=9)))"


def pages(trainer, **said):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))} | said
    command = [sys.executable, "-c", PROGRAM.format(trainer=trainer)]
    return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def test_a_process_with_a_trainer_keeps_what_it_frees():
    # 160 MB are 80 pages at least, of 2 MB each, or 40,000 of 4 kB.
    assert pages("") >= 60 and pages(TRAINER) < 20
    assert pages(TRAINER, MALLOC_TRIM_THRESHOLD_="16777216") >= 60


# Where compiled programs are kept, and where none are.


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """A user's cache folder, without a word about the programs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches"


def test_it_is_in_the_users_cache_folder_and_for_nobody_else(caches):
    before = os.umask(0)
    folder = compilation_cache("jax")
    os.umask(before)
    assert folder.parent == caches / "transformer_mb" / "jax" and compilation_cache("jax") == folder
    made = [caches / "transformer_mb", folder.parent, folder]
    assert [stat.S_IMODE(place.stat().st_mode) for place in made] == [0o700] * 3


def test_without_xdg_it_is_in_the_home(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "caches"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert compilation_cache("jax").is_relative_to(tmp_path / ".cache" / "transformer_mb")


def test_the_variable_names_another_folder_or_none(caches, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "programs"))
    assert compilation_cache("jax").parent == tmp_path / "programs" / "jax"
    monkeypatch.setenv(VARIABLE, "off")
    assert compilation_cache("jax") is None and not caches.exists()


def test_a_folder_that_cannot_be_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert compilation_cache("jax") is None
    monkeypatch.setenv(VARIABLE, "/proc/nowhere/programs")
    assert compilation_cache("jax") is None


@pytest.mark.parametrize("which", ["transformer_mb", "transformer_mb/jax", "PROCESSOR"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_programs_that_others_may_have_written_are_not_loaded(caches, which, mode):
    made = compilation_cache("jax")
    place = made if which == "PROCESSOR" else caches / which
    place.chmod(mode)
    assert compilation_cache("jax") is None
    place.chmod(0o700)
    assert compilation_cache("jax") == made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_not_taken(caches):
    os.chown(compilation_cache("jax"), 65534, -1)
    assert compilation_cache("jax") is None


def test_another_processor_has_its_own(caches, monkeypatch):
    here = compilation_cache("jax")
    monkeypatch.setattr(Path, "read_text", lambda path: "flags\t\t: fpu\nprocessor: 1\n")
    elsewhere = compilation_cache("jax")
    assert elsewhere != here and elsewhere.parent == here.parent


def test_what_is_compared_is_compiled_anew():
    assert SETTINGS[VARIABLE] == "off" == os.environ[VARIABLE]
