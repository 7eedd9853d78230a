"""Ports of layers that are not ours: PyTorch against every other framework, and mistakes named at their modules."""

from pathlib import Path

import pytest

from transformer_mb import check

LAYERS = Path(__file__).parent / "layers"
BLOCK = {
    "attn.in_proj_weight": check.stack("attn.q.kernel.T", "attn.k.kernel.T", "attn.v.kernel.T"),
    "attn.in_proj_bias": check.stack("attn.q.bias", "attn.k.bias", "attn.v.bias"),
    "attn.out_proj.weight": "attn.o.kernel.T",
    "attn.out_proj.bias": "attn.o.bias",
    **{f"norm{n}.{ours}": f"norm{n}.{theirs}" for n in (1, 2) for ours, theirs in (("weight", "scale"), ("bias", "bias"))},
    **{f"fc{n}.weight": f"fc{n}.kernel.T" for n in (1, 2)},
    **{f"fc{n}.bias": f"fc{n}.bias" for n in (1, 2)},
}
INPUTS = {"x": check.floats("B", "T", 8), "mask": check.masks("B", "T")}


def block(wrong=None, **how):
    candidate = check.flax(f"{LAYERS}/in_flax.py:Block", 8, **({"wrong": wrong} if wrong else {}))
    reference = check.torch(f"{LAYERS}/in_torch.py:Block", 8)
    return check.check(reference, candidate, weights=BLOCK, inputs=INPUTS, sizes={"B": 2, "T": 5}, **how)


def test_a_block_ported_to_nnx_passes_and_a_key_bias_has_no_effect():
    report = block()
    assert report.passed, report
    assert len([one for one in report.figures if one.kind == "gradients"]) == 2 * 13
    planted = {one.what: one.status for one in report.planted}
    assert "blind" not in planted.values() and planted["one number of fc1.weight"] == "caught"


MISTAKES = {  # where, and whether the outputs show it
    "epsilon": ("norm1", True),
    "no scale": ("attn", True),
    "tanh": ("", True),  # the activation is a function of the block's own
    "no residual": ("", True),
    "no gradient": ("", False),
    "no gradient past": ("", False),  # of the block's own input, which no other module sees
}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("wrong", MISTAKES)
def test_a_mistake_is_named_at_its_module(wrong):
    where, shown = MISTAKES[wrong]
    report = block(wrong, draws=1)
    assert report.verdict == "different" and report.tree.first == where, report
    assert any(not one.passed and one.kind == "outputs" for one in report.figures) is shown


@pytest.mark.long
def test_float32_inside_is_named_at_its_module():
    report = block("single inside")
    assert report.passed and any("in float32 in attn of the candidate, and" in note for note in report.notes), report


DENSE = {"one.bias": "one.bias", "two.bias": "two.bias"}
KERNELS = {"one.weight": "one.kernel.T", "two.weight": "two.kernel.T"}
PERCEPTRONS = {
    "flax": (check.flax(f"{LAYERS}/in_flax.py:Perceptron", 4), KERNELS, ("scale", "bias")),
    "linen": (check.linen(f"{LAYERS}/in_flax.py:LinenPerceptron", 4), KERNELS, ("scale", "bias")),
    "tensorflow": (check.keras(f"{LAYERS}/in_keras.py:Perceptron", 4), KERNELS, ("gamma", "beta")),
    "keras on jax": (check.keras(f"{LAYERS}/in_keras.py:Perceptron", 4).on("jax"), KERNELS, ("gamma", "beta")),
    "keras on torch": (check.keras(f"{LAYERS}/in_keras.py:Perceptron", 4).on("torch"), KERNELS, ("gamma", "beta")),
    "paddle": (
        check.paddle(f"{LAYERS}/in_paddle.py:Perceptron", 4),
        {"one.weight": "one.weight.T", "two.weight": "two.weight.T"},
        ("weight", "bias"),
    ),
    "gluon": (
        check.gluon(f"{LAYERS}/in_gluon.py:Perceptron", 4),
        {"one.weight": "one.weight", "two.weight": "two.weight"},
        ("gamma", "beta"),
    ),
}


# Keras computes in float32 there, whatever it is given: on JAX its norm, and so what is done with what that returns; on PyTorch
# its products and norm, since ``keras.backend.result_type("float64", "float64")`` is float32.
SINGLE = {"keras on jax": ("norm", "the whole"), "keras on torch": ("one", "norm", "two")}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("name", PERCEPTRONS)
def test_a_perceptron_passes_in_every_framework_and_is_looked_into(name):
    candidate, kernels, norm = PERCEPTRONS[name]
    weights = DENSE | kernels | {"norm.weight": f"norm.{norm[0]}", "norm.bias": f"norm.{norm[1]}"}
    reference = check.torch(f"{LAYERS}/in_torch.py:Perceptron", 4)
    with check.opened(reference, candidate, weights=weights, inputs={"x": check.floats("B", 4)}, sizes={"B": 3}) as session:
        case = session.draw(0)
        figures = check.judge(session, case)
        assert len(figures) == 2 * (1 + 7) and all(one.passed for one in figures), figures
        tree = check.bisect(session, case, "float64")
        paths = [node.reference for node in tree.nodes if node.reference != "drop"]  # which not all have under this name
        single = [f"{where} of the candidate" for where in SINGLE.get(name, ())]
        found = [where.partition(" (")[0] for where in tree.single]
        assert paths == ["one", "norm", "two", ""] and tree.first is None and found == single, tree
        assert all(node.forward and node.backward for node in tree.nodes)
