"""A backend that declares that it lacks a switch refuses what needs it, and nothing else."""

import numpy as np
import pytest

from transformer_mb.errors import ConfigError, LackingError
from transformer_mb.lacking import untaken
from transformer_mb.parity.cells import EXPECTED, FAILED, Result
from transformer_mb.parity.notable import lacking
from transformer_mb.presets import d2l
from transformer_mb.registry import load_backend_class

NUMPY = load_backend_class("numpy")
SMALL = d2l(11, 13).replace(encoder_num_layers=1, decoder_num_layers=1)


class Older(NUMPY):
    """NumPy's backend, without two switches."""

    lacks = {"ffn_gated": "not written yet", "norm_kind=rms_norm": "it has no such norm"}  # noqa: RUF012


class Ungated(NUMPY.PositionWiseFFN):
    """A network as it was before it could be gated."""

    def __init__(self, ffn_num_input, ffn_num_hiddens, ffn_num_outputs, *, activation="relu", dropout=0.0, use_bias=True):
        super().__init__(ffn_num_input, ffn_num_hiddens, ffn_num_outputs, activation=activation, use_bias=use_bias)


class PlainHeads:
    """Attention as it was before heads had options."""

    def __init__(self, key_size, query_size, value_size, num_hiddens, num_heads, dropout, use_bias=False): ...


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda older: older.build(SMALL.replace(ffn_gated=True)), "lacks ffn_gated (not written yet), got ffn_gated = True."),
        (
            lambda older: older.layer("PositionWiseFFN", 4, 8, 4, gated=True),
            "lacks ffn_gated (not written yet), got gated = True.",
        ),
        (lambda older: older.PositionWiseFFN(4, 8, 4, gated=True), "got gated = True."),
        (lambda older: older.create_empty(SMALL.replace(norm_kind="rms_norm")), "got norm_kind = 'rms_norm'."),
        (lambda older: older.EncoderDecoder.from_config(SMALL.replace(ffn_gated=True)), "got ffn_gated = True."),
        (lambda older: older.layer("LayerNorm", [4], kind="rms_norm"), "it has no such norm), got kind = 'rms_norm'."),
    ],
)
def test_what_needs_a_lacking_switch_is_refused_in_one_sentence(make, said):
    with pytest.raises(LackingError) as raised:
        make(Older())
    assert str(raised.value).startswith("The backend numpy lacks ") and str(raised.value).endswith(said)
    assert issubclass(LackingError, ConfigError)


def test_all_else_is_made_as_ever():
    older, model = Older(), Older().build(SMALL.replace(norm_kind="std_norm"), seed=1)
    same = NUMPY().build(SMALL.replace(norm_kind="std_norm"), seed=1)
    assert all(np.array_equal(value, older.get_weights(model)[name]) for name, value in NUMPY().get_weights(same).items())
    assert older.layer("PositionWiseFFN", 4, 8, 4, gated=False) is not None


def test_a_switch_that_is_off_is_not_passed_to_a_layer_that_does_not_know_it(monkeypatch):
    module = __import__(NUMPY.EncoderBlock.__module__, fromlist=["PositionWiseFFN"])
    monkeypatch.setattr(module, "PositionWiseFFN", Ungated)
    assert NUMPY().layer("EncoderBlock", 8, 8, 8, 8, [8], 8, 16, 2, 0.0) is not None
    with pytest.raises(TypeError, match="gated"):
        NUMPY().layer("EncoderBlock", 8, 8, 8, 8, [8], 8, 16, 2, 0.0, ffn_gated=True)


def test_a_switch_that_is_neither_taken_nor_declared_is_named():
    undeclared = type("Undeclared", (NUMPY,), {"PositionWiseFFN": Ungated})
    declared = type("Declared", (NUMPY,), {"PositionWiseFFN": Ungated, "lacks": {"ffn_gated": "not written yet"}})
    assert untaken(undeclared) == ["PositionWiseFFN(gated=...)"]
    assert untaken(declared) == untaken(NUMPY) == []
    plain = untaken(type("Plain", (NUMPY,), {"MultiHeadAttention": PlainHeads}))
    assert "MultiHeadAttention(head_size=...)" in plain and all(one.startswith("MultiHeadAttention(") for one in plain)


def test_the_column_says_which_switch_is_lacking_and_in_how_many_cells():
    said = "expected failure, declared: mine raised LackingError: The backend mine lacks ffn_gated (not yet), got gated = True."
    rows = [Result("layer forward", str(n), "float32", "mine", EXPECTED, said) for n in range(3)]
    rows.append(Result("layer forward", "other", "float32", "mine", FAILED, said))
    assert lacking(rows) == ["The backend mine lacks ffn_gated (not yet): 3 cells"]
