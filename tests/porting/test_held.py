"""Which entries of a saved dictionary are an optimizer's state, whatever holds them."""

import numpy as np
import pytest

from transformer_mb.porting.formats.held import held

STATE = {"state": {0: {"step": 1, "exp_avg": np.ones(3)}}, "param_groups": [{"params": [0]}]}
OF_PADDLE = {"linear_0.w_0_moment1_0": np.ones(3)}
WEIGHTS = {"encoder.weight": np.ones((3, 3))}


def of(**entries):
    return held({"model": WEIGHTS, **entries}, "m.pt", lambda value: isinstance(value, np.ndarray))


@pytest.mark.parametrize(
    "entries",
    [
        {"optimizer": STATE},
        {"optimizer_states": [STATE]},
        {"optimizer": (STATE,)},
        {"optimizers": {"adam": STATE}},
        {"optimizers": [STATE]},
        {"optimizer_G": STATE},
        {"optimizers": {"adam": OF_PADDLE}},
    ],
)
def test_one_state_is_found_in_lists_and_dictionaries_of_states(entries):
    found = of(**entries)
    assert found.optimizer in (STATE, OF_PADDLE) and not found.others and not found.notes


@pytest.mark.parametrize("entries", [{"optimizers": {"a": STATE, "b": STATE}}, {"one": STATE, "two": [STATE]}])
def test_of_two_states_none_is_taken_and_a_note_says_so(entries):
    found = of(**entries)
    assert found.optimizer is None and "hold 2, and none is told apart" in found.notes[0] and not found.others


def test_a_list_of_other_things_is_no_state():
    found = of(shadow_params=[np.ones((3, 3))], history=[{"loss": 1.0}], opt_state={"0": {"mu": WEIGHTS}, "1": {}})
    assert list(found.others) == ["shadow_params"] and set(found.optimizer) == {"0", "1"}
