"""torch.nn.Transformer, torch.nn.TransformerEncoder and paddle.nn.Transformer: in, the same outputs, and out again."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import transformer_mb as tmb
from porting import make_stacks
from porting.on_backend import BACKENDS, Job, run_on
from porting.small_model import BATCH, BIASES, FEW, built, on_numpy
from transformer_mb.errors import PortError
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.porting.formats import paddle
from transformer_mb.porting.model import PortedModel

VALID = ~make_stacks.PADDING
LIMIT = 1e-5
AROUND = {"source_embedding": "words_in", "target_embedding": "words_out", "output": "project", "activation": "gelu"}
KINDS = [(kind, order) for kind in ("transformer", "encoder") for order in ("post", "pre")]
CASES = {
    "torch": [(f"{kind}_{order}", ".pt", {"norm_position": order}) for kind, order in KINDS] + [("wrapped", ".pt", AROUND)],
    "paddle": [(f"transformer_{order}", ".pdparams", {"norm_position": order}) for order in ("post", "pre")],
}
ALL = [(framework, *case) for framework, cases in CASES.items() for case in cases]
# Starting torch takes two seconds, three times a case.
SLOW = ("transformer_post", "encoder_post", "encoder_pre")
MARKED = [pytest.param(*case, marks=[pytest.mark.long] if case[0] == "torch" and case[1] in SLOW else []) for case in ALL]


@pytest.fixture
def made(stacks_made):
    return partial(stacks_made, "make_stacks")


def read(folder, name, suffix, settings):
    with np.load(folder / f"{name}.npz") as found:
        expected = dict(found)
    return read_source(folder / f"{name}{suffix}", None, {"num_heads": make_stacks.HEADS, **settings}), expected


def compare(outputs, expected):
    """The largest difference."""
    differences = []
    for name, array in expected.items():
        got, wanted = (outputs[name][VALID], array[VALID]) if name == "encoder" else (outputs[name], array)
        assert np.abs(wanted).max() > 0.5
        differences.append(float(np.abs(got - wanted).max()))
    assert np.max(differences) <= LIMIT
    return np.max(differences)


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("framework", "name", "suffix", "settings"), MARKED)
def test_the_same_outputs_and_the_same_file_back(made, tmp_path, framework, name, suffix, settings):
    source, expected = read(made(framework), name, suffix, settings)
    assert source.family.name == f"{framework}_transformer"
    compare(on_numpy(source.model, BATCH), expected)
    write_target(source.model, find_target(source.family.name), tmp_path / "back", {})
    back = read_native(tmp_path / "back").tensors
    named = {"words_in": "source_embedding", "words_out": "target_embedding", "project": "output", "core": "transformer"}
    for native, array in source.native.tensors.items():
        first, _, rest = native.partition(".")
        written = f"{named.get(first, first)}.{rest}"
        assert np.array_equal(back[written], array), native
    assert len(back) == len(source.native.tensors)


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_the_same_outputs(made, tmp_path, backend):
    jobs, expected = {}, {}
    for framework, name, suffix, settings in ALL:
        source, expected[f"{framework} {name}"] = read(made(framework), name, suffix, settings)
        place = tmp_path / f"{framework}_{name}"
        write_target(source.model, find_target("canonical"), place, {})
        batch = BATCH if source.model.config.has_decoder else {n: BATCH[n] for n in ("source", "source_valid_lens")}
        jobs[f"{framework} {name}"] = Job(place, batch, 4)
    found = run_on(backend, jobs)
    print(backend, {name: compare(found[name], expected[name]) for name in jobs})


@pytest.mark.parametrize("family", ["torch_transformer", "paddle_transformer"])
def test_adam_travels_where_the_embeddings_do(family):
    """Its moments are packed, split and transposed as the weights are."""
    config = tmb.presets.d2l(11, 13, **FEW, **BIASES, final_norm=True)
    weights = built(config).weights
    random = np.random.default_rng(0)
    moments = {f"{slot}.{name}": random.random(a.shape, np.float32) for slot in ("m", "v") for name, a in weights.items()}
    model = PortedModel(config=config, weights=weights, optimizer={"step": np.array(5), **moments})
    row = FAMILIES[family]
    native = row.write(model, row.format, {})
    assert row.recognize(native)
    got = row.read(native, {"num_heads": 4})
    assert got.config == config
    for before, after in ((model.weights, got.weights), (model.optimizer, got.optimizer)):
        assert set(before) == set(after) and all(np.array_equal(before[name], after[name]) for name in before)


def test_tensors_lie_in_the_order_in_which_torch_numbers_parameters():
    """Whatever the order of the weights that are written: an optimizer's state goes by it."""
    model = built(tmb.presets.d2l(11, 13, **FEW, **BIASES, final_norm=True))
    backwards = replace(model, weights=dict(reversed(model.weights.items())))
    names = list(FAMILIES["torch_transformer"].write(backwards, "torch", {}).tensors)
    of_attention = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    block = [f"{attention}.{name}" for attention in ("self_attn", "multihead_attn") for name in of_attention]
    block += [f"{layer}.{leaf}" for layer in ("linear1", "linear2", "norm1", "norm2", "norm3") for leaf in ("weight", "bias")]
    sides = ["encoder.layers.0", "encoder.layers.1", "encoder.norm", "decoder.layers.0", "decoder.layers.1", "decoder.norm"]
    groups = [side for name in names for side in sides if f"transformer.{side}." in name]
    assert (
        list(dict.fromkeys(groups)) == sides and names[len(groups)] == "source_embedding.weight" and names[-1] == "output.bias"
    )
    assert [name.removeprefix("transformer.decoder.layers.1.") for name in names if ".decoder.layers.1." in name] == block


def test_parameters_have_the_names_that_paddle_gives_them(made, tmp_path):
    """Paddle's optimizers go by them; it makes a last norm before the layers that it copies."""
    theirs = made("paddle") / "transformer_post.pdparams"
    source = read_source(theirs, None, {"num_heads": make_stacks.HEADS, "norm_position": "post"})
    write_target(source.model, find_target("paddle_transformer"), tmp_path / "ours", {})
    ours, theirs = (pickle.loads(file.read_bytes())[paddle.NAMES] for file in (tmp_path / "ours", theirs))
    assert {name.removeprefix("transformer."): own for name, own in ours.items()} == theirs


def test_the_wrong_norm_order_would_be_seen(made):
    source, expected = read(made("paddle"), "transformer_pre", ".pdparams", {"norm_position": "post"})
    assert np.abs(on_numpy(source.model, BATCH)["logits"] - expected["logits"]).max() > 0.1


def test_what_the_stacks_cannot_be_is_refused_all_at_once(tmp_path):
    tmb.save(tmb.get_backend("numpy").build(tmb.presets.d2l(11, 13, **FEW, activation="silu")), tmp_path / "model")
    for name in ("torch_transformer", "paddle_transformer"):
        with pytest.raises(PortError, match="activation must be 'relu' or 'gelu'.*encoder_attention_bias must be True"):
            tmb.port(tmp_path / "model", tmp_path / "out", to=name)
    assert not (tmp_path / "out").exists()


def test_the_number_of_heads_must_be_given(made):
    with pytest.raises(PortError, match="The number of heads is in no weight file.*into the settings"):
        read_source(made("paddle") / "transformer_post.pdparams", None, {})


@pytest.mark.long
@pytest.mark.parametrize(
    ("framework", "file", "settings"),
    [
        pytest.param("torch", "narrow.pt", AROUND, id="narrow, float16"),
        pytest.param("paddle", "unbiased.pdparams", {}, id="bias_attr=False"),
    ],
)
def test_ports_of_narrow_and_of_unbiased_stacks_hold(made, tmp_path, framework, file, settings):
    """The stacks themselves run for the proof: with embeddings that are scaled in float32, and without biases."""
    folder = made(framework)
    given = {"num_heads": make_stacks.HEADS, **settings}
    report = tmb.port(folder / file, tmp_path / "out", to="canonical", config=given)
    assert framework in report.proof.source_ran
    with np.load(folder / file.replace(".pt", ".npz").replace(".pdparams", ".npz")) as expected:
        logits = expected["logits"]
    backend = tmb.get_backend("numpy")
    assert np.abs(backend.logits(tmb.load(tmp_path / "out"), *BATCH.values()) - logits).max() <= LIMIT
