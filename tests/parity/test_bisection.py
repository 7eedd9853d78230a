"""A mistake in one sublayer is named by the bisection, in each backend."""

import math
import re
from dataclasses import replace
from functools import partial

import pytest
from safetensors.numpy import load_file

from transformer_mb.parity.backward import Backward
from transformer_mb.parity.bisection import _forward, bisect, can_bisect
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.messages import under
from transformer_mb.parity.controls.alterations import perturbed, times
from transformer_mb.parity.rows.model_cases import MODELS, SMALL
from transformer_mb.parity.rows.models import model_experiments, model_request
from transformer_mb.parity.rows.training import stepwise_experiments
from transformer_mb.parity.rows.training_job import Recording, make_job
from transformer_mb.parity.verdict.comparison import Comparison
from transformer_mb.parity.verdict.measure import error
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


@pytest.mark.some(2)
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


@pytest.mark.some(1)
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


# The planted mistake, the case that shows it, and what is said of it: of several gradients the one that is furthest off.
BACKWARD = {
    "Detached": ("d2l", "decoder.blks.block1.addnorm2: gradient of input 1"),
    "DoubledKeys": ("d2l", "decoder.blks.block0.attention2: gradient of input 1"),
    "DoubledNorm": ("pre-norm, final norm", "encoder.blks.block0.addnorm2.ln: gradient of (weight|bias)"),  # equally wrong
    "WithoutBias": ("d2l", "encoder.blks.block1.ffn: gradient of dense1.bias"),
    "WrongLoss": ("d2l, no dropout, smoothed loss per token", "loss: gradient of input 0"),
}


@pytest.mark.parametrize("mistake", BACKWARD)
def test_the_first_sublayer_whose_backward_pass_is_wrong_is_named(mistake, faulty_backends):
    from faulty import backward_passes

    backend = getattr(backward_passes, mistake)(dtype="float64")
    case, words = BACKWARD[mistake]
    model = experiment(case)
    ask = partial(reference.run, backend)
    assert {result.row: result.status for result in model.run("x", ask)}["model gradients"] == "failed"
    cause, tree = bisect(model, ask)
    assert re.fullmatch(f"backward of {words}", cause)
    (first,) = [line for line in tree.splitlines() if line.endswith("<-- first to differ")]
    assert first.strip().startswith(f"x {cause}: own ")
    # What comes before it in the backward pass is right, and so is every sublayer forward.
    before = tree.splitlines()[: tree.splitlines().index(first)]
    assert before and all(line.strip().startswith(". ") for line in before)


def test_a_step_of_training_is_followed_backward_too(faulty_backends):
    """Its loss is normalized as its recipe says."""
    from faulty.backward_passes import Detached

    recording = Recording(make_job(None, 0))
    (step,) = stepwise_experiments(recording, "float64")[:1]
    cause, _ = bisect(step, partial(reference.run, Detached(dtype="float64")))
    assert cause == "backward of decoder.blks.block1.addnorm2: gradient of input 1"


@pytest.mark.parametrize("case", ["d2l", "pre-norm, final norm", "decoder alone", "shared and tied, padding"])
def test_the_gradients_that_sublayers_are_fed_are_those_of_the_whole_model(case):
    """What comes out of the walk at each sublayer is what the whole model's backward pass has for its parameters."""
    model = experiment(case)
    request = replace(model.request, arrays={n: a for n, a in model.request.arrays.items() if not n.startswith("masks.")})
    whole = under("gradient", reference.answer(request))
    sublayers = Backward.of(request, _forward(request)).run()
    parts: dict[str, float] = {}  # before a sublayer and after it the same norm may be run: its gradients add up
    for sublayer in sublayers:
        for name, value in under("gradient", reference.answer(sublayer.differentiated())).items():
            path = f"{sublayer.path}.{name}"
            if sublayer.whole and path in whole:
                assert error(value, whole[path]) < 1e-12
            elif path in whole:
                parts[path] = parts.get(path, 0.0) + value
    assert parts.keys() >= {name for name in whole if ".blks." in name or ".norm." in name}
    assert all(error(value, whole[path]) < 1e-12 for path, value in parts.items())
    assert sublayers[0].path == "loss"
