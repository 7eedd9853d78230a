"""A mistake in one sublayer is named by the bisection, in each backend."""

import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file

from transformer_mb.built_in import BUILT_IN
from transformer_mb.columns.column import Column
from transformer_mb.parity.backward import Backward
from transformer_mb.parity.bisection import _forward, bisect, can_bisect
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.alterations import perturbed, times
from transformer_mb.parity.computing.messages import under
from transformer_mb.parity.rows.caches import cached_experiments
from transformer_mb.parity.rows.model_cases import MODELS, SMALL
from transformer_mb.parity.rows.models import model_experiments, model_request
from transformer_mb.parity.rows.training import Recording, make_job, stepwise_experiments
from transformer_mb.parity.verdict.comparison import Comparison
from transformer_mb.parity.verdict.limits import error, errors, gradient_floor
from transformer_mb.parity.worker import Worker

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
    worker = Worker(Column("torch"), tmp_path_factory.mktemp("worker"))
    yield worker
    worker.stop()


def with_mistake(alter, ask):
    """A backend with a mistake: alter changes the weights of its second block, wherever they are sent."""
    return lambda request: ask(alter(request))


@pytest.mark.long(but=2)
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


@pytest.mark.long(but=1)
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


@pytest.mark.parametrize(
    ("mistake", "make", "case", "words"),
    [
        ("WithWeights", cached_experiments, "d2l", r"attention[12] \(steps \d+ to \d+, weights asked for\)"),
        ("WithWeights", model_experiments, "decoder alone", r"attention1 \(weights asked for\)"),
        ("AfterOthers", cached_experiments, "d2l", r"attention1 \(steps \d+ to \d+.*\)"),
    ],
)
def test_a_mistake_in_the_way_that_failed_is_named(mistake, make, case, words, faulty_backends):
    """The same sublayers are right where they are run in the usual way."""
    from faulty import attention_ways

    model = next(each for each in make("float64", 0) if each.case == case)
    ask = partial(reference.run, getattr(attention_ways, mistake)(dtype="float64"))
    rows = [result.row for result in model.run("x", ask) if result.status == "failed"]
    assert rows
    cause, tree = bisect(model, ask, rows=rows)
    assert re.search(words, cause), tree
    usual = next(line for line in tree.splitlines() if f"{cause.partition(' (')[0]}: own" in line)
    assert usual.strip().startswith(". ") and "gradient of" not in tree


def test_what_no_sublayer_by_itself_shows_is_said(torch):
    padded = next(each for each in cached_experiments("float64", 0) if each.case == "decoder alone, prompts")
    _, tree = bisect(padded, torch.ask)
    assert tree.endswith("the difference is in how they are joined or in the caches' own buffers or in left padding")


def test_a_gradient_that_is_zero_as_it_should_be_is_no_difference(recwarn):
    zeros = np.zeros(3)
    assert errors(zeros, zeros, gradient_floor(zeros, 0.0)) == (0.0, 0.0)
    assert errors(np.array([1e-9, 0, 0]), zeros, gradient_floor(zeros, 0.0)).norm > 1e9
    assert not recwarn.list


def test_gradients_are_followed_only_where_they_have_failed(torch):
    """Of a batch of padding alone all gradients are zero, and none is off."""
    model = experiment("d2l")
    _, tree = bisect(model, torch.ask, rows=["model forward"])
    assert "gradient of" not in tree and "backward" not in tree
    arrays = {**model.request.arrays, "batch.target_valid_lens": np.zeros_like(model.request.arrays["batch.target_valid_lens"])}
    request = replace(model.request, arrays=arrays)
    nothing = Comparison("nothing", "float64", model.rows, lambda: request)
    _, tree = bisect(nothing, torch.ask)
    assert "nan" not in tree and "gradient of" not in tree
