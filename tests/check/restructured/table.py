"""Pairs of layers that hold the same weights otherwise, with the right map written by hand."""

from pathlib import Path
from typing import NamedTuple

from transformer_mb import check
from transformer_mb.check import stack, weight

FORMS = Path(__file__).parent / "torch_forms.py"
D, H, d = 8, 2, 4  # the size, heads, and the size of a head
ROLES = ("weight", "bias")


class Row(NamedTuple):
    """Two subjects, the right map, the inputs and their sizes."""

    reference: check.Subject
    candidate: check.Subject
    weights: dict
    inputs: dict
    sizes: dict


def form(name, *arguments, **options):
    return check.torch(f"{FORMS}:{name}", *arguments, **options)


def attention(reference, candidate, weights):
    return Row(reference, candidate, weights, {"x": check.floats("B", "T", D)}, {"B": 2, "T": 5})


def both(of, to):
    return {f"{of}.{role}": f"{to}.{role}" for role in ROLES}


def cut(name, number, parts=1):
    """Rows of a packed tensor."""
    return weight(name)[number * D : (number + parts) * D]


def of_heads(name, number, rest):
    """The rows of a part of a tensor in which each head has all three, of shape [D, *rest]."""
    return weight(name).reshape(H, 3, d, *rest)[:, number].reshape(D, *rest)


REST = {"weight": (D,), "bias": ()}
APART, FUSED = form("Apart", D, H), form("Fused", D, H)
INTERLEAVED = form("Fused", D, H, interleaved=True)
SQUARE = (("attn.out_proj", "out"), ("fc", "fc"))
LAYERS = {
    **{
        f"layers.{i}.attn.{part}_proj.{role}": entry
        for i in range(3)
        for n, part in enumerate("qkv")
        for role, entry in (
            ("weight", weight("blocks.qkv_kernel")[i].T[n * D : (n + 1) * D]),
            ("bias", weight("blocks.qkv_bias")[i][n * D : (n + 1) * D]),
        )
    },
    **{f"layers.{i}.norm.weight": weight("blocks.scale")[i] for i in range(3)},
    **{f"layers.{i}.norm.bias": weight("blocks.shift")[i] for i in range(3)},
    **{f"layers.{i}.{of}.weight": weight(f"blocks.{to}_kernel")[i].T for i in range(3) for of, to in SQUARE},
    **{f"layers.{i}.{of}.bias": weight(f"blocks.{to}_bias")[i] for i in range(3) for of, to in SQUARE},
}  # fmt: skip


def stacked(*parts):
    """Tensors with an axis in front."""
    return stack(*(part.reshape(1, *shape) for part, shape in parts))


OF_LAYERS = {
    "blocks.scale": stacked(*((weight(f"layers.{i}.norm.weight"), (D,)) for i in range(3))),
    "blocks.shift": stacked(*((weight(f"layers.{i}.norm.bias"), (D,)) for i in range(3))),
    **{f"blocks.{to}_kernel": stacked(*((weight(f"layers.{i}.{of}.weight").T, (D, D)) for i in range(3))) for of, to in SQUARE},
    **{f"blocks.{to}_bias": stacked(*((weight(f"layers.{i}.{of}.bias"), (D,)) for i in range(3))) for of, to in SQUARE},
    "blocks.qkv_kernel": stacked(
        *((stack(*(f"layers.{i}.attn.{part}_proj.weight" for part in "qkv")).T, (D, 3 * D)) for i in range(3))
    ),
    "blocks.qkv_bias": stacked(
        *((stack(*(f"layers.{i}.attn.{part}_proj.bias" for part in "qkv")), (3 * D,)) for i in range(3))
    ),
}
GATES = {"i": 0, "f": 1, "g": 2, "o": 3}


def gates(name, hidden):
    """Rows of a tensor packed as o, f, i, g in torch's order i, f, g, o."""
    return stack(*(weight(name)["ofig".index(gate) * hidden : ("ofig".index(gate) + 1) * hidden] for gate in GATES))


def gate_columns(name, hidden):
    return stack(*(weight(name).T["ofig".index(gate) * hidden : ("ofig".index(gate) + 1) * hidden] for gate in GATES))


ROWS = {
    "three in one": attention(
        APART, FUSED, {f"{part}_proj.{role}": cut(f"qkv.{role}", n) for n, part in enumerate("qkv") for role in ROLES}
        | both("out_proj", "out")),
    "three in one, keys first": attention(
        APART, form("Fused", D, H, order="kqv"),
        {f"{part}_proj.{role}": cut(f"qkv.{role}", "kqv".index(part)) for part in "qkv" for role in ROLES}
        | both("out_proj", "out")),
    "one in three": attention(
        form("Fused", D, H, order="vkq"), APART,
        {f"qkv.{role}": stack(*(f"{part}_proj.{role}" for part in "vkq")) for role in ROLES} | both("out", "out_proj")),
    "another order in one": attention(
        FUSED, form("Fused", D, H, order="kqv"),
        {f"qkv.{role}": stack(cut(f"qkv.{role}", 1), cut(f"qkv.{role}", 0), cut(f"qkv.{role}", 2)) for role in ROLES}
        | both("out", "out")),
    "heads interleaved in one": attention(
        FUSED, INTERLEAVED,
        {f"qkv.{role}": stack(*(of_heads(f"qkv.{role}", n, rest) for n in range(3))) for role, rest in REST.items()}
        | both("out", "out")),
    "three in one, heads interleaved": attention(
        APART, INTERLEAVED,
        {f"{part}_proj.{role}": of_heads(f"qkv.{role}", n, rest) for n, part in enumerate("qkv") for role, rest in REST.items()}
        | both("out_proj", "out")),
    "heads interleaved, in three": attention(
        INTERLEAVED, APART,
        {f"qkv.{role}": stack(*(weight(f"{part}_proj.{role}").reshape(H, 1, d, *rest) for part in "qkv"), axis=1)
         .reshape(3 * D, *rest) for role, rest in REST.items()} | both("out", "out_proj")),
    "three in two": attention(
        APART, form("KeysAndValues", D, H),
        both("q_proj", "to_q") | both("out_proj", "to_out")
        | {f"{part}_proj.{role}": cut(f"to_kv.{role}", n) for n, part in enumerate("kv") for role in ROLES}),
    "one in two": attention(
        FUSED, form("KeysAndValues", D, H),
        {f"qkv.{role}": stack(f"to_q.{role}", f"to_kv.{role}") for role in ROLES} | both("out", "to_out")),
    "two in one": attention(
        form("KeysAndValues", D, H), FUSED,
        {f"to_q.{role}": cut(f"qkv.{role}", 0) for role in ROLES}
        | {f"to_kv.{role}": cut(f"qkv.{role}", 1, 2) for role in ROLES} | both("to_out", "out")),
    "names that say nothing": attention(
        APART, form("Nameless", D, H),
        {f"{part}_proj.weight": f"m.{n}.T" for part, n in zip(("q", "k", "v", "out"), (2, 0, 3, 1), strict=True)}
        | {f"{part}_proj.bias": f"c.{n}" for part, n in zip(("q", "k", "v", "out"), (2, 0, 3, 1), strict=True)}),
    "rows and columns": attention(
        FUSED, form("Packed1D", D, H),
        {"qkv.weight": "c_attn.weight.T", "qkv.bias": "c_attn.bias", "out.weight": "c_proj.weight.T",
         "out.bias": "c_proj.bias"}),
    "a parameter for a table": attention(
        form("Placed", D, 5), form("PlacedByTable", D, 5),
        {"pos_embed": weight("positions.weight").reshape(1, 5, D), "gain": "scale", "fc.weight": "dense.weight.T",
         "fc.bias": "dense.bias"}),
    "layers stacked": attention(form("Listed", D, H, 3), form("Stacked", D, H, 3), LAYERS),
    "layers in a list": attention(form("Stacked", D, H, 3), form("Listed", D, H, 3), OF_LAYERS),
    "patches": Row(
        form("Patches", D, 3, 2), form("FlatPatches", D, 3, 2),
        {"proj.weight": weight("patch.weight").reshape(D, 2, 2, 3).transpose(0, 3, 1, 2), "proj.bias": "patch.bias",
         "head.weight": "head.weight.T", "head.bias": "head.bias"},
        {"x": check.floats("B", 3, "Y", "X")}, {"B": 2, "Y": 4, "X": 6}),
    "gates in another order": Row(
        form("Recurrent", 5, 3), form("Gates", 5, 3),
        {"lstm.weight_ih_l0": gate_columns("w_ih.weight", 3), "lstm.weight_hh_l0": gate_columns("w_hh.weight", 3),
         "lstm.bias_ih_l0": gates("w_ih.bias", 3), "lstm.bias_hh_l0": gates("w_hh.bias", 3)},
        {"x": check.floats("B", "T", 5)}, {"B": 2, "T": 3}),
    "gates apart": Row(
        form("Recurrent", 5, 3), form("GatesApart", 5, 3),
        {"lstm.weight_ih_l0": stack(*(f"{name}.weight" for name in ("ii", "i_f", "ig", "io"))),
         "lstm.weight_hh_l0": stack(*(f"{name}.weight" for name in ("hi", "hf", "hg", "ho"))),
         "lstm.bias_ih_l0": 0.0, "lstm.bias_hh_l0": stack(*(f"{name}.bias" for name in ("hi", "hf", "hg", "ho")))},
        {"x": check.floats("B", "T", 5)}, {"B": 2, "T": 3}),
}  # fmt: skip
