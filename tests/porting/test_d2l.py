"""D2L's own models, made and saved by the classes of d2l 0.17.6, on our backends and back in D2L's classes."""

import importlib.util

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting import d2l_models
from porting.on_backend import BACKENDS, Job, run_on
from porting.small_model import BATCH, FEW, built, refused
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import find_target, write_target

TARGETS = {"torch": "torch", "mxnet": "mxnet", "paddle": "paddle", "tensorflow": "keras"}
LIMIT = 1e-5


def canonical(folder, file, place):
    """D2L's file as a canonical checkpoint, and D2L's own logits."""
    source = read_source(folder / file, None, {"num_heads": d2l_models.HEADS})
    assert source.family.name == "d2l"
    write_target(source.model, find_target("canonical"), place, {})
    with np.load(folder / "logits.npz") as found:
        return place, found["logits"]


def check_on_numpy(folder, file, tmp_path):
    place, expected = canonical(folder, file, tmp_path / "canonical")
    backend = tmb.get_backend("numpy")
    logits = backend.logits(tmb.load(place), *BATCH.values())
    assert np.abs(expected).max() > 0.5
    assert np.abs(logits - expected).max() <= LIMIT
    return place, expected


@pytest.mark.long(but=1)
@pytest.mark.parametrize("framework", ["torch", "mxnet"])
def test_a_model_of_d2l_gives_its_own_logits(d2l_made, tmp_path, framework):
    check_on_numpy(d2l_made(framework), d2l_models.FILES[framework], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("framework", "file"),
    [("paddle", "model.pdparams"), ("tensorflow", "model.weights.h5"), ("tensorflow", "checkpoint_of_model.index")],
)
def test_a_model_of_d2l_in_the_other_two(d2l_made, tmp_path, framework, file):
    """Of Keras 2 and a TensorFlow checkpoint, with the epsilon of Keras; and of Paddle."""
    check_on_numpy(d2l_made(framework), file, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gives_the_logits_of_d2l(d2l_made, tmp_path, backend):
    jobs, expected = {}, {}
    for framework, file in d2l_models.FILES.items():
        place, expected[framework] = canonical(d2l_made(framework), file, tmp_path / framework)
        jobs[framework] = Job(place, BATCH, 6)
    found = run_on(backend, jobs)
    worst = {name: float(np.abs(found[name]["logits"] - logits).max()) for name, logits in expected.items()}
    print(backend, worst)
    assert len(worst) == 4 and np.max(list(worst.values())) <= LIMIT


def check_back(folder, framework, tmp_path):
    """Into a file that D2L's own class loads, which then gives the same logits to the last bit."""
    place, expected = canonical(folder, d2l_models.FILES[framework], tmp_path / "canonical")
    file = tmp_path / d2l_models.FILES[framework]
    write_target(read_source(place, None, {}).model, find_target(TARGETS[framework]), file, {"block_names": "d2l"})
    found, _ = elsewhere("porting.d2l_models:logits_of", framework=framework, file=file)
    assert np.array_equal(found["logits"], expected)


def test_back_into_the_classes_of_d2l(d2l_made, tmp_path):
    check_back(d2l_made("mxnet"), "mxnet", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("framework", ["torch", "paddle", "tensorflow"])
def test_back_into_the_classes_of_d2l_in_others(d2l_made, tmp_path, framework):
    check_back(d2l_made(framework), framework, tmp_path)


def test_the_layout_of_a_foreign_file_is_said_when_it_is_not_recognized(tmp_path):
    """Paddle's layout in a container that does not tell."""
    weights = built(tmb.presets.d2l(11, 13, **FEW)).weights
    turned = {name: array.T if ".W_" in name or "dense" in name else array for name, array in weights.items()}
    np.savez(tmp_path / "paddle_like.npz", **turned)
    refused('"linear_layout": "in_out"', read_source, tmp_path / "paddle_like.npz", None, {"num_heads": 4})
    got = read_source(tmp_path / "paddle_like.npz", None, {"num_heads": 4, "linear_layout": "in_out"}).model
    assert all(np.array_equal(got.weights[name], array) for name, array in weights.items())


FILES = [
    (framework, name, file)
    for framework, models in d2l_models.MODELS.items()
    for file in (d2l_models.FILES[framework], *([f"{d2l_models.CHECKPOINT}.index"] if framework == "tensorflow" else []))
    for name in models
]


@pytest.fixture(scope="module")
def ported(tmp_path_factory):
    """By model: the ported folder, and the logits of D2L's own class."""
    if importlib.util.find_spec("d2l") is None:  # it is not imported here: it would bring its framework along
        pytest.skip("the d2l package is not installed (`make test` installs it)")
    folder = tmp_path_factory.mktemp("sweep")
    for framework, models in d2l_models.MODELS.items():
        (folder / framework).mkdir()
        elsewhere("porting.d2l_models:make_models", framework=framework, folder=folder / framework, names=[*models])
    found = {}
    for framework, name, file in FILES:
        sizes, made = d2l_models.MODELS[framework][name], folder / framework / name
        heads = {"encoder_num_heads": sizes.encoder_heads, "decoder_num_heads": sizes.decoder_heads}
        report = tmb.port(made / file, made / f"{file}.ported", to="canonical", config=heads)
        assert report.proof.source_ran.startswith("d2l 0.17.6 on ")
        print(f"{framework}, {name}, {file}: proof {report.proof.errors}")
        with np.load(made / "logits.npz") as logits:
            found[f"{framework} {name} {file}"] = made / f"{file}.ported", logits["logits"]
    assert len(found) == 28
    return found


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_model_on_a_backend(ported, backend):
    jobs = {name.replace(" ", "_").replace("/", "_"): Job(folder, BATCH) for name, (folder, _) in ported.items()}
    outputs = run_on(backend, jobs)
    worst = {}
    for name, found, (_, expected) in zip(jobs, outputs.values(), ported.values(), strict=True):
        assert np.abs(expected).max() > 0.5
        worst[name] = float(np.abs(found["logits"] - expected).max())
    print(backend, f"worst of {len(worst)}: {np.max(list(worst.values())):.1e}", worst)
    assert len(worst) == 28 and all(value <= LIMIT for value in worst.values())
