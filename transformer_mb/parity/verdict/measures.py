"""The measures of an answer by row of the ladder: the errors of its arrays, by what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...columns.messages import Arrays
from ..computing.messages import OUTPUTS, Request, under
from .limits import ByArray, Errors, errors, gradient_errors, norm


def outputs(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    return {name: errors(got[name], expected[name]) for name in expected if name.partition(".")[0] in OUTPUTS}


def loss(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    return {"loss": errors(got["loss"], expected["loss"])}


def gradients(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    """Compare gradients; where all vanish, as a saturated softmax's do, with the cotangent's size."""
    cotangent = norm([request.arrays["cotangent"]]) if "cotangent" in request.arrays else 0.0
    return gradient_errors(under("gradient", got), under("gradient", expected), cotangent)


def update(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    """The change of the weights, not the weights: a small step must not hide behind a large weight."""
    before, pair = under("weights", request.arrays), (got, expected)
    changes = [{name: value - before[name] for name, value in under("weights", answer).items()} for answer in pair]
    groups = {"weights": changes}
    groups |= {slot: [under(f"slots.{slot}", answer) for answer in pair] for slot in ("m", "v", "momentum")}
    return _together({slot: gradient_errors(ours, exact) for slot, (ours, exact) in groups.items() if exact})


def training(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    return {"losses": errors(got["losses"], expected["losses"]), **update(request, got, expected)}


def lived(request: Request, got: Arrays, expected: Arrays) -> ByArray:
    """Compare each operation's gradients together, and all else by itself; tokens in float64 alone."""
    kinds = ("losses", "logits", "weights", "best") + (("tokens",) if request.dtype == "float64" else ())
    found = {name: errors(got[name], value) for name, value in expected.items() if name.partition(".")[0] in kinds}
    numbers = {name.split(".")[1] for name in expected if name.startswith("gradient.")}
    groups = {f"gradient.{number}": [under(f"gradient.{number}", each) for each in (got, expected)] for number in numbers}
    return found | _together({name: gradient_errors(ours, exact) for name, (ours, exact) in groups.items()})


def _together(groups: Mapping[str, ByArray]) -> dict[str, Errors]:
    return {f"{group}.{name}": found for group, arrays in groups.items() for name, found in arrays.items()}


# What the ladder's rows measure of an answer.
MEASURES: dict[str, Callable[[Request, Arrays, Arrays], ByArray]] = {
    function.__name__: function for function in (outputs, loss, gradients, update, training, lived)
}
