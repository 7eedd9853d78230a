"""The map of layers that hold their weights packed, interleaved, stacked, turned or without names, place by place."""

import numpy as np
import pytest

from check.restructured.table import ROWS
from transformer_mb import check
from transformer_mb.check.weight_map import weight_map


def differing(found, row):
    """The tensors of the reference that the found map places otherwise than the right one."""
    how = {"inputs": row.inputs, "sizes": row.sizes, "gradients": False}
    with check.opened(row.reference, row.candidate, weights=row.weights, **how) as session:
        right, shapes, there = session.map, session.reference.names, session.candidate.names
    pasted = {}
    exec(found.source(), {"check": check}, pasted)  # what a reader pastes is what was tried
    proposed = weight_map(pasted["WEIGHTS"], shapes, there)
    assert proposed.constants == right.constants
    return [one for one in right.pairs if not np.array_equal(proposed.pairs[one].places, right.pairs[one].places)]


@pytest.mark.long(but=2)
@pytest.mark.parametrize("name", ROWS)
def test_the_map_of_a_restructured_layer_is_found(name):
    row = ROWS[name]
    found = check.match(row.reference, row.candidate, inputs=row.inputs, sizes=row.sizes)
    assert found.complete, str(found)
    assert differing(found, row) == [], str(found)


def test_an_order_that_the_inputs_do_not_tell_is_ambiguous():
    """Attention to a single step is 1 whatever queries and keys are."""
    row = ROWS["three in one"]
    found = check.match(row.reference, row.candidate, inputs=row.inputs, sizes={"B": 2, "T": 1})
    assert not found.complete and found.agreed
    assert any({"q_proj.weight", "k_proj.weight"} <= set(names) for names in found.ambiguous), str(found)
