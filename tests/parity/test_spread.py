"""The worst number of an answer, and how the errors of all are spread: expected values are sums by hand."""

import numpy as np
import pytest

from transformer_mb.parity.verdict.spread import AT, quantiles, spread

EXACT = {"output": np.array([[3.0, 4.0], [0.0, 0.0]])}  # root mean square 2.5


def off(*errors):
    return {"output": EXACT["output"] + np.reshape(errors, (2, 2))}


def test_the_worst_number_is_named_with_its_place_and_both_values():
    found = spread("outputs", off(0.0, 0.25, -0.5, 0.0), EXACT, None)
    assert found.worst == "output at [1, 0]: -0.5, and 0 in the reference"
    assert found.quantiles["own"][-1] == 0.2 and "reference" not in found.quantiles


def test_quantiles_are_relative_to_the_root_mean_square():
    assert quantiles("outputs", off(0.0, 0.0, 0.0, 2.5), EXACT)[AT.index(0.5)] == 0.0
    assert quantiles("outputs", off(0.0, 0.0, 0.0, 2.5), EXACT)[-1] == 1.0


def test_one_wrong_number_shows_at_the_end_and_a_wrong_scale_everywhere():
    one, scaled = quantiles("outputs", off(0, 0, 0, 1), EXACT), quantiles("outputs", off(1, 1, 1, 1), EXACT)
    assert one[0] == 0.0 < scaled[0] and one[-1] == scaled[-1]


def test_a_small_gradient_is_measured_by_a_hundredth_of_all_of_them():
    exact = {"gradient.a": np.array([100.0]), "gradient.b": np.array([1e-6])}
    got = {"gradient.a": np.array([100.0]), "gradient.b": np.array([0.01])}
    found = spread("gradients", got, exact, [0.0])
    assert found.worst.startswith("b at [0]: 0.01") and found.quantiles["own"][-1] == pytest.approx(0.01, rel=1e-3)
    assert found.quantiles["reference"] == [0.0]


def test_a_single_number_has_no_place():
    assert spread("loss", {"loss": np.array(1.5)}, {"loss": np.array(1.0)}, None).worst == "loss: 1.5, and 1 in the reference"


@pytest.mark.parametrize("measured", ["update", "training", "lived"])
def test_rows_of_other_arrays_have_none(measured):
    assert spread(measured, EXACT, EXACT, None) == ("", None)
