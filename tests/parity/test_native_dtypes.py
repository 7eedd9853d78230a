"""The dtype of an output is that of the framework's own tensor, not of the array that it became."""

from functools import partial

import numpy as np
import pytest

from transformer_mb.built_in import EVERY_DTYPE
from transformer_mb.checks import spelled
from transformer_mb.columns.column import Column
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.computing.messages import computed_in, made_of, native_dtypes, recorded_dtypes, with_dtypes
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.rows.caches import cached_experiments
from transformer_mb.parity.rows.layer_cases import CASES
from transformer_mb.parity.rows.layers import drawn_experiments, layer_experiments, layer_request
from transformer_mb.parity.rows.model_cases import MODELS
from transformer_mb.parity.rows.models import model_request
from transformer_mb.parity.rows.tokens import token_experiments
from transformer_mb.parity.verdict.answers import Unusable, check_answer, judged
from transformer_mb.registry import load_backend_class

RETURNED = {"bfloat16": "float32", "float16": "float64", "float32": "bfloat16", "float64": "float32"}


@pytest.mark.long
def test_a_layer_that_returns_another_dtype_is_refused_by_name(faulty_backends):
    """Wider than its model and narrower, though the arrays that come are float32 in most of them."""
    selection = Selection(cases="layer forward: ffn relu [*", dtypes=EVERY_DTYPE)
    outcome, _ = run_matrix([Column("other_dtype"), Column("torch")], selection)
    # With gradients there are two outputs, of which either may be named.
    reasons = {one.dtype: one.reason for one in outcome.failed}
    assert reasons == {dtype: f"output must come in {dtype}, got {other}" for dtype, other in RETURNED.items()}
    assert {one.backend for one in outcome.failed} == {"other_dtype"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_loss_of_two_bytes_comes_in_float32(dtype):
    """Of a whole table of cells the loss alone: summed over many tokens, two bytes would lose it."""
    backend = load_backend_class("torch")(dtype=dtype)
    wider = {}
    for experiment in (*layer_experiments(dtype, 0), *drawn_experiments(dtype, 0)):
        wrong = [result for result in judged(experiment, "torch", partial(reference.run, backend)) if result.status != "passed"]
        assert wrong == []
        wider.setdefault(experiment.request.spec["layer"], set()).add(computed_in(experiment.request))
    assert wider.pop("MaskedSoftmaxCELoss") == {"float32"}
    assert set().union(*wider.values()) == {dtype}

    def narrowed(request):
        return {**reference.run(backend, request), "dtype.output": np.frombuffer(dtype.encode(), np.uint8)}

    loss = next(experiment for experiment in layer_experiments(dtype, 0) if experiment.case == "loss")
    assert judged(loss, "torch", narrowed)[0].reason == f"output must come in float32, got {dtype}"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_each_output_of_an_answer_has_its_dtype(dtype):
    backend = load_backend_class("torch")(dtype=dtype)
    case = next(case for case in MODELS if case.name == "encoder alone")
    answer = compute(backend, model_request(case, dtype, 0, False))
    assert native_dtypes(answer) == {"states": dtype, "pooled": dtype}
    answer = compute(backend, layer_request(CASES[0], "float32", 0))
    assert native_dtypes(answer) == {"output": dtype, "output_with_gradient": dtype}
    assert "_numpy" not in vars(backend)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_what_is_put_together_has_the_dtype_of_its_parts(dtype):
    """The logits of a decoder that is fed in pieces, and those of a decoder alone after prompts of different lengths."""
    backend = load_backend_class("torch")(dtype=dtype)
    experiments = [*cached_experiments(dtype, 0), *(one for one in token_experiments(dtype, 0) if one.case == "decoder alone")]
    assert {one.request.computation for one in experiments} == {"cached", "decode"}
    for experiment in experiments:
        assert set(native_dtypes(compute(backend, experiment.request)).values()) == {dtype}


def test_parts_of_several_dtypes_are_all_named():
    parts = [np.ones(2, np.float32), np.ones(2), np.ones(2)]
    with recorded_dtypes(reference.backend("float64")) as dtype_of:
        assert dtype_of(made_of(parts, np.concatenate(parts))) == "float32 and float64"


def test_an_answer_without_the_dtype_of_an_output_is_refused():
    request = layer_request(CASES[0], "float64", 0)
    expected = reference.answer(request)
    check_answer(expected, expected, "float64")
    got = {name: value for name, value in expected.items() if name != "dtype.output"}
    with pytest.raises(Unusable, match=r"dtype.output \[7\] was expected, but it did not come"):
        check_answer(got, expected, "float64")


def test_an_array_that_no_tensor_became_has_its_own_dtype():
    with recorded_dtypes(reference.backend("float64")) as dtype_of:
        assert native_dtypes(with_dtypes({"output": np.ones(2, np.float32)}, dtype_of)) == {"output": "float32"}


@pytest.mark.parametrize(
    "printed", ["bfloat16", "torch.bfloat16", "paddle.bfloat16", "<dtype: 'bfloat16'>", "<class 'x.bfloat16'>"]
)
def test_a_dtype_by_its_name(printed):
    assert spelled(printed) == "bfloat16"
