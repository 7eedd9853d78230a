"""The rows that only a GPU has, as far as a processor can show them: which columns have them, and what each of them runs."""

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_mb.backends.jax.settings import SETTINGS as jax_settings
from transformer_mb.backends.numpy.backend import NumPyBackend
from transformer_mb.backends.numpy.rounding import rounded_products
from transformer_mb.backends.torch.backend import TorchBackend
from transformer_mb.built_in import ATTENTION_KERNELS, BUILT_IN, EVERY_DTYPE
from transformer_mb.columns.column import Column
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.controls.requests import CONTROLS
from transformer_mb.parity.matrix import plan_of
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.rows.fast_steps import KERNELS, fast_experiments, kernel_experiments
from transformer_mb.parity.rows.one_answer import Repeat
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.rounding import TF32_TOWARDS_ZERO

COLUMNS = ("numpy", "torch@cpu", "torch@cuda", "jax@cuda")
ON_CUDA = ("torch@cuda", "jax@cuda")
# What PyTorch calls a kernel of the CPU; it has no others.
OPERATIONS = {"math": "_scaled_dot_product_attention_math", "flash": "_scaled_dot_product_flash_attention_for_cpu"}


@pytest.fixture(scope="module")
def plan():
    return plan_of(
        Selection(controls=True),
        [Column(label, device="cuda" if label in ON_CUDA else None) for label in COLUMNS],
    )


def cases(plan, label, word):
    return {
        (cell.case, cell.dtype)
        for cell in plan.cells(label, EVERY_DTYPE)
        if word in cell.case and not cell.case.startswith("drawn")
    }


def test_kernels_and_cuda_graphs_are_of_torch_on_a_gpu(plan):
    kernels = {
        (f"{kernel} attention, {padding}", dtype)
        for kernel, (dtypes, paddings) in KERNELS.items()
        for padding in paddings
        for dtype in dtypes
    }
    assert cases(plan, "torch@cuda", " attention, ") == kernels and len(kernels) == 18
    assert tuple(KERNELS) == ATTENTION_KERNELS
    assert cases(plan, "torch@cuda", "CUDA graphs") == {("CUDA graphs, embedding norm", "float32")}
    for label in ("numpy", "torch@cpu", "jax@cuda"):
        assert cases(plan, label, " attention, ") == cases(plan, label, "CUDA graphs") == set()


def test_tf32_is_of_gpus_and_of_numpy_which_rounds_to_it(plan):
    assert {label: len(cases(plan, label, "tf32")) for label in COLUMNS} == {
        "numpy": 3, "torch@cpu": 0, "torch@cuda": 3, "jax@cuda": 3,
    }  # fmt: skip


def test_at_least_1500_cells_run_on_a_gpu(plan):
    assert sum(len(plan.cells(label, BUILT_IN[label.partition("@")[0]].dtypes)) for label in ON_CUDA) >= 1500


@pytest.fixture
def counted():
    """How often an operation of PyTorch's ran inside."""

    class Counted(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            self.names.append(function.name().removeprefix("aten::"))
            return function(*arguments, **(options or {}))

    return Counted()


@pytest.mark.parametrize("kernel", OPERATIONS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_model_whose_attention_one_kernel_computes(kernel, dtype, counted):
    """Of this processor's two: the layers call the kernel that is asked for, and the model is the reference's."""
    experiments = [one for one in kernel_experiments(dtype, 0, ("torch",)) if one.option == kernel]
    assert bool(experiments) == (dtype in KERNELS[kernel][0])
    for experiment in experiments:
        with counted:
            results = judged(experiment, "torch", partial(compute, TorchBackend(dtype=dtype)))
        assert [(one.row, one.status) for one in results] == [
            (row, PASSED) for row in ("model forward", "model loss", "model gradients")
        ], results
    if kernel == "flash" and experiments:
        assert OPERATIONS["flash"] in counted.names and OPERATIONS["math"] not in counted.names


@pytest.mark.parametrize("kernel", ["memory-efficient", "cuDNN"])
def test_a_kernel_that_is_not_there_fails_its_cells(kernel):
    """Nothing else takes its place."""
    experiment = next(one for one in kernel_experiments("bfloat16", 0, ("torch",)) if one.option == kernel)
    with pytest.raises(RuntimeError, match="No (available kernel|viable backend)"):
        compute(TorchBackend(dtype="bfloat16"), experiment.request)


@pytest.mark.long  # PyTorch compiles a step for it
def test_a_step_that_no_cuda_graph_runs_fails_its_cells():
    (experiment,) = (one for one in fast_experiments("float32", 0, ("torch",)) if one.case.startswith("CUDA graphs"))
    with pytest.raises(RuntimeError, match="CUDA graphs were asked for, and none was replayed"):
        compute(TorchBackend(), experiment.request)


def tf32_steps():
    return [one for one in fast_experiments("float32", 0, ON_CUDA) if one.case.startswith("tf32")]


def towards_zero(request):
    return replace(request, spec={**request.spec, "setting": TF32_TOWARDS_ZERO})


def test_tf32_rounded_to_the_nearest_passes_and_towards_zero_on_a_gpu():
    backend = NumPyBackend(dtype="float32")
    for experiment in tf32_steps():
        assert {one.status for one in judged(experiment, "numpy", partial(compute, backend))} == {PASSED}
        for change in (replace, towards_zero):
            results = judged(experiment, "torch@cuda", lambda request, change=change: compute(backend, change(request)))
            assert {one.status for one in results} == {PASSED}


@pytest.fixture
def on_a_gpu():
    """NumPy as a GPU would compute: where its switch is on, products have the factors of TF32."""

    class Imagined(NumPyBackend):
        gpu_settings: ClassVar = {"TF32": partial(rounded_products, "tf32")}

    return Imagined(dtype="float32")


@pytest.mark.parametrize("control", [one for one in CONTROLS if one.option == "TF32"], ids=lambda one: one.row)
def test_a_forgotten_switch_is_noticed(control, plan, on_a_gpu):
    experiment = next(one for one, planted in plan.controls.items() if control in planted and one.dtype == "float32")
    assert {one.status for one in judged(experiment, "numpy", partial(compute, on_a_gpu))} == {PASSED}
    assert control.run(experiment, "torch@cuda", partial(compute, on_a_gpu)).caught


def test_a_forgotten_switch_is_planted_where_there_is_one():
    """In no column but of a GPU: elsewhere it would change nothing, and be missed."""
    assert {name for name, entry in BUILT_IN.items() if "TF32" in entry.on_gpu} == {"torch", "jax"}
    assert set(BUILT_IN["torch"].on_gpu) - {"tf32"} == set(TorchBackend.gpu_settings)
    assert set(BUILT_IN["jax"].on_gpu) - {"tf32"} == set(jax_settings)


def test_torch_is_told_of_tf32_for_a_step_alone(monkeypatch):
    seen = []
    (experiment, *_) = tf32_steps()
    backend = TorchBackend()
    monkeypatch.setattr(torch.Tensor, "backward", lambda self, *_, step=torch.Tensor.backward: (
        seen.append(torch.get_float32_matmul_precision()), step(self)
    ))  # fmt: skip
    compute(backend, experiment.request)
    assert seen == ["high"] and torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_steps_that_are_not_repeated_are_noticed(dtype):
    """The last bit of one number."""
    repeat, backend = Repeat(dtype, 0), TorchBackend(dtype=dtype)
    answer = compute(backend, repeat.request)
    (result,) = repeat.run("torch", lambda _: answer)
    assert result.status == PASSED and result.reason == "the same bits"
    name = next(one for one in answer if one.startswith("again.weights"))
    answer[name].flat[-1] = np.nextafter(answer[name].flat[-1], answer[name].dtype.type(9))
    (result,) = repeat.run("torch", lambda _: answer)
    assert result.status == FAILED and result.reason.startswith("1 of ")


def test_on_a_gpu_torch_promises_the_same_bits_when_told_to():
    asked = []
    repeat = Repeat("float32", 0, ("torch@cuda",))
    for label in ("torch@cuda", "torch@cpu"):
        repeat.run(label, lambda request: asked.append(request.spec.get("setting")) or compute(TorchBackend(), request))
    assert asked == ["deterministic", None] and not torch.are_deterministic_algorithms_enabled()
