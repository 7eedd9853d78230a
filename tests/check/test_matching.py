"""A map of weights is found by names, shapes and answers, for attention in NumPy whose right map is known by construction."""

import numpy as np
import pytest

from transformer_mb import check
from transformer_mb.check.matching import Agreement, propose
from transformer_mb.check.matching_cuts import Cut
from transformer_mb.check.matching_entries import Entry, named
from transformer_mb.check.matching_layers import restacked, unstacked
from transformer_mb.check.matching_names import likeness, parted
from transformer_mb.check.matching_shapes import AS_IS, Arrangement, arrangements
from transformer_mb.check.weight_map import weight_map

D = 6
PARTS = ("q", "k", "v", "o")
HERE = {f"attn.{part}_proj.weight": (D, D) for part in PARTS} | {"norm1.weight": (D,), "norm2.weight": (D,)}


def layer(weights, q, k, v, o, one, two):
    """Attention between two scales. weights: [out, in] by these names -> what attention and the whole layer return."""
    x = np.random.default_rng(1).standard_normal((4, D)) * weights[one]
    scores = np.exp((x @ weights[q].T) @ (x @ weights[k].T).T)
    attended = scores / scores.sum(-1, keepdims=True) @ (x @ weights[v].T) @ weights[o].T
    return {"norm1": x, "attn": attended, "norm2": attended * weights[two], "": attended * weights[two]}


def reference(weights):
    return layer(weights, *(f"attn.{part}_proj.weight" for part in PARTS), "norm1.weight", "norm2.weight")


def responding(there, candidate, paths):
    """How both answer, of a candidate of these shapes whose modules have these paths in the order of the reference's."""

    def respond(entries, draws=1):
        pairs = weight_map({name: entry.expression() for name, entry in entries.items()}, HERE, there)
        random = np.random.default_rng(draws)
        weights = {name: random.standard_normal(shape) for name, shape in HERE.items()}
        ours, theirs = reference(weights), candidate(pairs.to_candidate(weights))
        errors = {path: float(np.abs(ours[path] - theirs[path]).max()) for path in paths}
        return Agreement(float(np.abs(ours[""] - theirs[""]).max()), errors)

    return respond


def renamed(names, turned=False, scales=("a.scale", "b.scale")):
    """A candidate that calls the matrices of q, k, v and o by these names: its shapes, and what it computes."""
    matrices = [f"attn.{name}.kernel" for name in names]

    def candidate(weights):
        own = {name: array.T if turned and array.ndim == 2 else array for name, array in weights.items()}
        return layer(own, *matrices, *scales)

    return dict.fromkeys(matrices, (D, D)) | dict.fromkeys(sorted(scales), (D,)), candidate


@pytest.mark.parametrize("turned", [False, True])
def test_an_order_that_no_name_tells_is_found_by_what_the_layers_answer(turned):
    names = ("m2", "m0", "m1", "o")
    there, candidate = renamed(names, turned)
    found = propose(HERE, there, ("torch", "flax"), responding(there, candidate, ("norm1", "attn", "norm2")))
    assert found.complete, str(found)
    for part, name in zip(PARTS, names, strict=True):
        assert found.entries[f"attn.{part}_proj.weight"].source() == f'"attn.{name}.kernel{".T" * turned}"'


def test_norms_whose_names_are_alike_are_told_apart_by_the_answer():
    there, candidate = renamed(PARTS, scales=("b.scale", "a.scale"))
    found = propose(HERE, there, ("torch", "torch"), responding(there, candidate, ("norm1", "attn", "norm2")))
    assert found.complete, str(found)
    assert found.entries["norm1.weight"] == Entry(("b.scale",)) and found.entries["norm2.weight"] == Entry(("a.scale",))
    assert found.tries > 1


def test_what_no_answer_tells_apart_is_ambiguous():
    """Two scales that are multiplied with each other can change places."""
    here, there = {"norm1.weight": (D,), "norm2.weight": (D,)}, {"a.scale": (D,), "b.scale": (D,)}

    def respond(entries, draws=1):
        return Agreement(0.0, {"": 0.0})

    found = propose(here, there, ("torch", "flax"), respond)
    assert found.agreed and not found.complete
    assert found.ambiguous == (("norm1.weight", "norm2.weight"),)
    assert "or in another order" in found.source() and "Ambiguous" in str(found)


def test_a_candidate_that_computes_something_else_is_not_said_to_agree():
    def respond(entries, draws=1):
        return Agreement(0.5, {"norm1": 0.0, "attn": 0.3, "norm2": 0.4})

    found = propose(HERE, renamed(PARTS)[0], ("torch", "torch"), respond)
    assert not found.agreed and found.first == "attn" and "differ by 5.0e-01, first in attn" in str(found)


def test_an_order_is_found_though_the_candidate_has_a_mistake_of_another_kind():
    """A wrong epsilon moves the answer by 1e-4, another order by about 1."""
    there, candidate = renamed(("m2", "m0", "m1", "o"))

    def wrong(weights):
        return {path: value * (1 + 1e-4) for path, value in candidate(weights).items()}

    found = propose(HERE, there, ("torch", "torch"), responding(there, wrong, ("norm1", "attn", "norm2")))
    assert not found.agreed and 1e-5 < found.error < 1e-2
    assert [found.entries[f"attn.{part}_proj.weight"].names for part in PARTS] == [
        (f"attn.{name}.kernel",) for name in ("m2", "m0", "m1", "o")
    ]


def test_tensors_that_fit_nothing_are_listed():
    found = propose({"a.weight": (3, 2), "b.weight": (7,)}, {"a.kernel": (2, 3), "c.bias": (9,)}, ("torch", "flax"),
                    lambda entries, draws=1: Agreement(0.0))  # fmt: skip
    assert found.left == ("b.weight",) and found.left_there == ("c.bias",) and not found.complete
    assert found.entries["a.weight"].source() == '"a.kernel.T"'


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("layers.0.fc1.kernel", ("layers.0.fc1", "weight")),
        ("self_attn.in_proj_weight", ("self_attn.in_proj", "weight")),
        ("bias_hh_l0", ("hh_l0", "bias")),
        ("ln.gamma", ("ln", "weight")),
        ("embed.embedding", ("embed", "weight")),
        ("cls_token", ("", "cls_token")),
    ],
)
def test_a_name_is_a_module_and_what_it_holds(name, expected):
    assert parted(name) == expected


@pytest.mark.parametrize(
    ("one", "like", "unlike"),
    [
        ("self_attn.q_proj", "attention.query", "attention.key"),
        ("linear1", "ffn.fc1", "ffn.fc2"),
        ("h.3.ln_1", "blocks.3.norm1", "blocks.2.norm1"),
        ("encoder.layer.0.attention.output.dense", "attention.W_o", "attention.W_v"),
    ],
)
def test_names_that_mean_the_same_are_more_alike(one, like, unlike):
    assert likeness(one, like) > likeness(one, unlike)


@pytest.mark.parametrize(
    ("given", "wanted", "sources"),
    [
        ((4, 6), (6, 4), ['"w.T"']),
        ((5, 5), (5, 5), ['"w"', '"w.T"']),
        ((6, 2, 3), (6, 6), ['check.weight("w").reshape(6, 6)', 'check.weight("w").reshape(6, 6).T']),
        ((6, 4), (4, 2, 3), ['check.weight("w").T.reshape(4, 2, 3)']),
        ((3, 3, 4, 8), (8, 4, 3, 3), ['check.weight("w").transpose(3, 2, 0, 1)']),
        ((3, 4), (2, 6), []),
        ((3, 4), (4, 4), []),
    ],
)
def test_an_array_lies_in_another_as_axes_allow(given, wanted, sources):
    found = arrangements(given, wanted)
    assert [way.of(named("w")).source() for way in found] == sources
    numbers = np.arange(np.prod(given)).reshape(given)
    assert all(way.of(numbers).shape == wanted for way in found)


@pytest.mark.parametrize("arranged", [AS_IS, Arrangement(axes=(1, 0)), Arrangement(first=(6, 4), axes=(1, 0))])
def test_what_is_printed_for_a_part_of_a_tensor_is_that_part(arranged):
    """A text with a slice behind it would be a part of the name."""
    entry = arranged.of(named("fused.kernel")).part((1, 3))
    look = {"fused.kernel": np.arange(24.0).reshape(4, 6)}.__getitem__
    printed = eval(entry.source(), {"check": check})
    np.testing.assert_array_equal(printed.look(look), entry.expression().look(look))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_parts_that_are_taken_and_joined_are_the_whole(groups):
    numbers = np.arange(60.0).reshape(12, 5)
    cut = Cut((12, 5), 0, (4, 4, 4), groups)
    whole = cut.join([cut.take(named("w"), number) for number in range(3)])
    np.testing.assert_array_equal(whole.expression().look({"w": numbers}.__getitem__), numbers)
    second = cut.take(named("w"), 1).expression().look({"w": numbers}.__getitem__)
    inner = 4 // groups
    np.testing.assert_array_equal(second, numbers.reshape(groups, 3, inner, 5)[:, 1].reshape(4, 5))


def test_layers_that_are_stacked_are_taken_apart_and_put_together():
    listed = {f"h.{i}.fc.{role}": shape for i in range(3) for role, shape in (("weight", (4, 4)), ("bias", (4,)))}
    there = {"h.fc.kernel": (3, 4, 4), "h.fc.bias": (3, 4), "head.kernel": (3, 4)}
    apart, shares = unstacked(there, listed | {"head.weight": (3, 4)})
    assert set(apart) == {f"h.{i}.fc.{role}" for i in range(3) for role in ("kernel", "bias")} | {"head.kernel"}
    entries = restacked({name: named(name) for name in apart}, shares, {})
    assert entries["h.fc.bias"].source().count("reshape(1, 4)") == 3 and entries["head.kernel"] == named("head.kernel")
    taken = restacked({"h.1.fc.weight": named("h.1.fc.kernel")}, {}, shares)
    assert taken["h.1.fc.weight"].source() == 'check.weight("h.fc.kernel")[1]'


def test_a_map_without_some_tensors_says_that_it_is_incomplete():
    """And not that the rest is a mistake of another kind."""
    found = propose({"a.weight": (3, 2), "b.weight": (7, 2)}, {"a.kernel": (2, 3), "c.bias": (9,)}, ("torch", "flax"),
                    lambda entries, draws=1: Agreement(0.5))  # fmt: skip
    assert "The weight map is incomplete: nothing was found for of the reference b.weight; of the candidate c.bias." in str(
        found
    )
    assert "another kind" not in str(found) and "c.bias" not in found.source()


def test_a_bias_without_a_partner_is_filled_with_zeros():
    found = propose({"a.weight": (3, 2), "a.bias": (3,)}, {"a.kernel": (2, 3)}, ("torch", "flax"),
                    lambda entries, draws=1: Agreement(0.0))  # fmt: skip
    assert (
        found.weights["a.bias"] == 0.0 and found.fillings == ("a.bias",) and "in the place of a partner of a.bias" in str(found)
    )


def test_pairs_that_the_answers_do_not_prove_say_so():
    found = propose(
        HERE, renamed(PARTS)[0], ("torch", "torch"), lambda entries, draws=1: Agreement(0.9, {"norm1": 0.0, "attn": 0.8})
    )
    lines = {line.split('"')[1]: line for line in found.source().splitlines() if '"' in line}
    assert "# not proven" in lines["attn.q_proj.weight"] and "# not proven" not in lines["norm1.weight"]
