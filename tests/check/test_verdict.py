"""The verdict on layers in NumPy: what passes, what fails and why, and comparisons that could not have failed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from transformer_mb import check
from transformer_mb.check.inputs import drawn
from transformer_mb.errors import ConfigError, WorkerError

LAYERS = f"{Path(__file__).parent}/layers/in_numpy.py"
DENSE = check.numpy(f"{LAYERS}:Dense", 4)
WEIGHTS = {"weight": "kernel.T", "bias": "bias"}
INPUTS = {"x": check.floats("B", "T", 4), "lens": check.lengths("B", up_to="T")}
CASE = {"weights": WEIGHTS, "inputs": INPUTS, "sizes": {"B": 3, "T": 5}}


def port(wrong=None):
    return check.numpy(f"{LAYERS}:Transposed", 4, wrong=wrong)


def test_a_right_port_passes_and_its_report_says_why():
    report = check.check(DENSE, port(), **CASE)
    assert report.require() is report and report.verdict == "passed" and not report.failed_case
    assert {(one.dtype, one.part) for one in report.figures} == {
        (dtype, f"output {name}") for dtype in ("float64", "float32") for name in ("hidden", "sum")
    }
    assert "6 of 6 planted mistakes caught" in str(report) and "limit 4x" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["verdict"] == "passed"


WRONG = {
    "other scale": "output hidden",
    "one element": "output hidden",
    "batch turned": "output hidden",
    "zeros": "output sum",
    "nan": "not finite on one side",
    "no sum": "the candidate does not return it",
    "more": "the reference does not return it",
    "shape": "the shape must be [3, 5], as the reference's, got [1, 3, 5]",
    "dtype": "its dtype must be float64, as the reference's, got float32",
    "writes": "input x: the candidate has written into it",
    "ignores lengths": "output sum",
    "counts": "output hidden",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_fails_with_its_reason(wrong):
    report = check.check(DENSE, port(wrong), **CASE, draws=1)
    assert report.verdict == "different" and WRONG[wrong] in str(report) and report.failed_case is not None
    with pytest.raises(check.Disagreement, match="different"):
        report.require()


def test_float32_alone_sees_what_it_can():
    assert check.check(DENSE, port("other scale"), **CASE, precisions=("float32",)).passed
    assert not check.check(DENSE, port("one element"), **CASE, precisions=("float32",)).passed


def test_float32_inside_a_float64_run_is_named_and_held_to_its_limits():
    report = check.check(DENSE, port("single inside"), **CASE)
    assert report.verdict == "passed" and any("compute in float32" in note for note in report.notes), report


def test_a_layer_whose_weights_do_not_show_is_blind():
    scaled = check.numpy(f"{LAYERS}:Scaled", 4)
    inputs = {"x": check.floats(3, 4)}
    assert check.check(scaled, scaled, inputs=inputs).passed
    report = check.check(scaled, scaled, inputs=inputs, values="kept")
    assert report.verdict == "blind" and "BLIND to: one number of inner.weight" in str(report)


@pytest.mark.parametrize("x", [np.zeros((3, 5, 4)), check.floats(3, 5, 4, scale=0.0)], ids=["given", "drawn"])
def test_a_constant_input_is_blind(x):
    report = check.check(DENSE, port(), weights=WEIGHTS, inputs={"x": x, "lens": np.array([5, 4, 3])})
    assert report.verdict == "blind" and "one number of weight" in str(report)


def test_what_cannot_matter_is_listed_and_a_single_step_is_blind_to_queries():
    attention, inputs = check.numpy(f"{LAYERS}:Attention", 4), {"x": check.floats("B", "T", 4), "mask": check.masks("B", "T")}
    report = check.check(attention, attention, inputs=inputs, sizes={"B": 2, "T": 4})
    assert report.passed and [one.what for one in report.planted if one.status == "no effect"] == ["one number of key_bias"]
    report = check.check(attention, attention, inputs=inputs, sizes={"B": 2, "T": 1})
    assert report.verdict == "blind" and "BLIND to: one number of q" in str(report)


def test_a_reference_that_loses_more_than_its_inputs_explain_is_the_noisy_side():
    one_pass, two_passes = (check.function(f"{LAYERS}:normed", one_pass=which) for which in (True, False))
    report = check.check(one_pass, two_passes, inputs={"x": check.floats(4, 64, mean=1e2)})
    assert report.passed and any("the reference is the noisy side" in note for note in report.notes), report
    report = check.check(two_passes, one_pass, inputs={"x": check.floats(4, 64, mean=1e2)})
    assert {one.dtype for one in report.figures if not one.passed} == {"float32"}, report


def test_a_candidate_that_skips_roundings_is_said_to_be_more_exact():
    wide = check.numpy(f"{LAYERS}:Dense", 256), check.numpy(f"{LAYERS}:Transposed", 256, wrong="careful")
    report = check.check(*wide, weights=WEIGHTS, inputs={"x": check.floats(2, 256)}, sensitivity=False)
    assert report.passed and any("more exact than float32 explains" in note for note in report.notes), report


def dense_in_onnx(path):
    kernel, bias = (
        numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in (("kernel", (4, 4)), ("bias", 4))
    )
    nodes = [helper.make_node("Gemm", ["x", "kernel", "bias"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 4]) for name in "xy")
    graph = helper.make_graph(nodes, "dense", [x], [y], [kernel, bias])
    versions = {"ir_version": 8, "opset_imports": [helper.make_opsetid("", 17)]}
    path.write_bytes(helper.make_model(graph, **versions).SerializeToString())


def test_a_file_of_onnx_is_compared_in_the_format_that_it_has(tmp_path):
    dense_in_onnx(tmp_path / "dense.onnx")
    reference, candidate = check.numpy(f"{LAYERS}:Dense", 4).output("hidden"), check.onnx(tmp_path / "dense.onnx")
    how = {"weights": {"weight": "kernel.T", "bias": "bias"}, "inputs": {"x": check.floats("B", 4)}, "sizes": {"B": 3}}
    report = check.check(reference, candidate, **how)
    assert report.passed and "weaker: onnx has no float64" in str(report), report
    assert not check.check(reference, candidate, **{**how, "weights": {"weight": "kernel", "bias": "bias"}}).passed
    report = check.check(candidate, reference, **{**how, "weights": {"kernel": "weight.T", "bias": "bias"}})
    assert report.passed and {one.dtype for one in report.figures} == {"float32"}, report


def test_a_subject_of_another_interpreter_is_compared():
    other = DENSE.python("numpy@other", sys.executable)
    report = check.check(DENSE, other, **{**CASE, "weights": None}, draws=1, sensitivity=False)
    assert report.passed and report.candidate.startswith("numpy@other "), report


def test_a_function_is_compared_too():
    def function(name, times):
        return check.function(f"{LAYERS}:{name}", times=times)

    inputs = {"x": check.floats(4)}
    assert check.check(function("doubled", 3.0), function("added", 3.0), inputs=inputs).passed
    assert not check.check(function("doubled", 3.0), function("added", 2.0), inputs=inputs).passed


@pytest.mark.parametrize("draws", [20, pytest.param(1_000, marks=pytest.mark.long)])
def test_the_reference_against_itself_with_the_batch_permuted_passes(draws):
    with check.opened(DENSE, DENSE, inputs=INPUTS, sizes={"B": 3, "T": 5}) as session:
        for seed in range(draws):
            case = session.draw(seed)
            order = np.random.default_rng(seed).permutation(3)
            turned = check.Case(case.weights, {name: value[order] for name, value in case.inputs.items()}, seed)
            got = session.by_candidate(turned, "float32").outputs
            judge = check.Judge(session, case)
            back = {name: value[np.argsort(order)] for name, value in got.items()}
            answer = check.Answer(back, dict.fromkeys(back, "float32"))
            assert all(one.passed for one in judge.judge(answer, "float32"))


def test_answers_without_an_array_are_no_agreement():
    plain = check.function(f"{LAYERS}:plain")
    report = check.check(plain, plain, inputs={"x": check.floats(4)}, draws=1)
    assert report.verdict == "different" and "neither side returns an array" in str(report), report


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (check.numpy("no_such_module:Dense", 4), "No module named 'no_such_module'"),
        (check.numpy(f"{LAYERS}:Nothing"), "Nothing"),
        (check.numpy(f"{LAYERS}:Dense"), "size"),
        (
            check.function(f"{LAYERS}:raising"),
            'of in_numpy.py, `raise ValueError("no such thing")`: no such',
        ),
    ],
)
def test_a_subject_that_raises_is_told_in_a_sentence(subject, words):
    with pytest.raises(WorkerError, match="The candidate, numpy") as told:
        check.check(check.function(f"{LAYERS}:doubled"), subject, inputs={"x": check.floats(4)})
    assert words in str(told.value)


def test_a_call_with_what_is_no_input_is_refused():
    with pytest.raises(ConfigError, match="The candidate is called with z, which must be one of the inputs x, lens"):
        check.check(DENSE, port().calling("x", "z"), **CASE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"draws": 0}, "draws"),
        ({"values": "mine"}, "'mine'"),
        ({"precisions": ("float8",)}, "float8"),
        ({"precisions": ()}, "got"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        check.check(DENSE, port(), **CASE, **options)


def test_a_case_can_be_made_by_hand_and_of_other_sizes():
    with check.opened(DENSE, port("other scale"), **CASE) as session:
        case = session.draw(0)
        smaller = check.Case(case.weights, drawn(INPUTS, {"B": 1, "T": 2}, 0), 0)
        failed = {one.part for one in check.judge(session, smaller) if not one.passed}
        assert failed == {"output hidden"} and check.bisect(session, smaller, "float64").first == ""
