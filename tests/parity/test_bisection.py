"""A mistake in one sublayer is named by the bisection, in each backend."""

import math
from functools import partial

import pytest
from safetensors.numpy import load_file

from transformer_mb.parity.bisection import bisect, can_bisect
from transformer_mb.parity.controls.alterations import perturbed, times
from transformer_mb.parity.rows.model_cases import MODELS, SMALL
from transformer_mb.parity.rows.models import model_experiments, model_request
from transformer_mb.parity.verdict.comparison import Comparison
from transformer_mb.parity.workers import Worker, WorkerSpec
from transformer_mb.registry import BUILT_IN

HEAD = SMALL["num_hiddens"] // SMALL["decoder_num_heads"]
CROSS = "decoder.blks.block1.attention2"


def experiment(case, dtype="float64"):
    return next(each for each in model_experiments(dtype, 0) if each.case == case)


def forward_only(name):
    """Without the loss and its gradients, which compilers work on longest."""
    case = next(case for case in MODELS if case.name == name)
    return Comparison(name, "float64", ("model forward",), partial(model_request, case, "float64", 0, False))


@pytest.fixture(scope="module")
def torch(tmp_path_factory):
    worker = Worker(WorkerSpec("torch"), tmp_path_factory.mktemp("worker"))
    yield worker
    worker.stop()


def with_mistake(alter, ask):
    """A backend with a mistake: alter changes the weights of its second block, wherever they are sent."""
    return lambda request: ask(alter(request))


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_missing_attention_scale_is_named(name, worker):
    """Without its scale, an attention is one whose W_q is sqrt(d) times as large."""
    ask = with_mistake(times(f"weights.{CROSS}.W_q.weight", math.sqrt(HEAD)), worker(name).ask)
    model = forward_only("d2l")
    results = {result.row: result.status for result in model.run(name, ask)}
    assert results["model forward"] == "failed" and can_bisect(model)
    _, tree = bisect(model, ask)
    (first,) = [line for line in tree.splitlines() if line.endswith("<-- first to differ")]
    assert first.strip().startswith(f"x {CROSS}: own ")
    # What comes after it is right by itself and wrong by inheritance.
    after = next(line for line in tree.splitlines() if "decoder.blks.block1.ffn" in line)
    assert after.strip().startswith(". ") and float(after.rpartition("inherited ")[2]) > 1e-3


@pytest.mark.parametrize("case", ["pre-norm, final norm", "decoder alone", "shared and tied, padding"])
def test_other_architectures_are_walked_too(case, torch):
    path = "decoder.blks.block0.ffn"
    ask = with_mistake(perturbed(f"weights.{path}.dense2.weight"), torch.ask)
    _, tree = bisect(experiment(case, "float32"), ask)
    (first,) = [line for line in tree.splitlines() if line.endswith("<-- first to differ")]
    assert f"x {path}: own" in first


def test_a_model_that_is_right_has_no_arrow(torch):
    _, tree = bisect(experiment("d2l"), torch.ask)
    assert "<--" not in tree and "every sublayer is right by itself" in tree


def test_a_wrong_backward_pass_is_told_by_its_gradients(torch):
    def ask(request):
        answer = dict(torch.ask(request))
        name = f"gradient.{CROSS}.W_v.weight"
        return {**answer, name: 2.0 * answer[name]} if name in answer else answer

    _, tree = bisect(experiment("d2l"), ask)
    assert "every sublayer is right by itself" in tree and f"gradient of {CROSS}.W_v.weight" in tree


def test_inputs_and_outputs_are_dumped(torch, tmp_path):
    bisect(experiment("d2l"), torch.ask, tmp_path / "dump")
    files = sorted((tmp_path / "dump").iterdir())
    assert len(files) == 11 + 16 and files[0].name == "01 encoder.embed.safetensors"
    assert {"expected", "output", "inputs.0"} <= set(load_file(files[0]))
