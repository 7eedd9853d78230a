"""A port may have its channels last where its reference has them first, or time before the batch: its mistakes are placed."""

from pathlib import Path

import pytest

from transformer_mb import check

FILE = f"{Path(__file__).parent}/layers/channels_in_torch.py"
CASE = {"inputs": {"x": check.floats("B", "T", 6)}, "sizes": {"B": 3, "T": 4}}
FLAX = f"{Path(__file__).parent}/layers/channels_in_flax.py:Last"


def report(reference, candidate, **options):
    subjects = check.torch(f"{FILE}:{reference}"), check.torch(f"{FILE}:{candidate}", **options)
    return check.check(*subjects, **CASE, draws=2, sensitivity=False)


@pytest.mark.parametrize(("reference", "candidate"), [("First", "Last"), ("Last", "First")])
@pytest.mark.parametrize(
    ("wrong", "module"), [({}, None), ({"epsilon": 1.001e-5}, "norm"), ({"padding": "replicate"}, "conv")], ids=str
)
def test_channels_last_for_first_and_back(reference, candidate, wrong, module):
    found = report(reference, candidate, **wrong)
    assert found.passed is (module is None), found
    if module:
        assert found.tree.first == module, found
        assert {node.reference for node in found.tree.nodes} == {"", "conv", "norm", "dense"}


@pytest.mark.parametrize(("wrong", "module"), [({}, None), ({"slope": 1.01}, "")], ids=str)
def test_time_first_for_the_batch_first(wrong, module):
    """The slope lies between modules, none of which is at fault."""
    found = report("Recurrent", "Recurrent", first=False, **wrong)
    assert found.passed is (module is None), found
    if module is not None:
        failed = [node.reference for node in found.tree.nodes if node.failed]
        assert failed == [module], found


MAP = {
    "conv.weight": check.weight("conv.kernel").transpose(2, 1, 0),
    "conv.bias": "conv.bias",
    "norm.weight": "norm.scale",
    "norm.bias": "norm.bias",
    "dense.weight": "dense.kernel.T",
    "dense.bias": "dense.bias",
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrong", "module"),
    [({}, None), ({"epsilon": 1.001e-5}, "norm"), ({"padding": "CIRCULAR"}, "conv"), ({"activation": "gelu"}, "")],
    ids=str,
)
def test_flax_own_layers_have_their_channels_last(wrong, module):
    subjects = check.torch(f"{FILE}:First"), check.flax(FLAX, **wrong)
    found = check.check(*subjects, **CASE, weights=MAP, draws=2, sensitivity=False)
    assert found.passed is (module is None), found
    if module is not None:
        assert found.tree.first == module, found
