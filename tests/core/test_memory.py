"""Memory that cannot be had is told in one sentence, whatever a framework makes of it."""

import pytest
import typer

from transformer_mb.cli.reporting import describe, guarded
from transformer_mb.machine.out_of_memory import without_memory

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
