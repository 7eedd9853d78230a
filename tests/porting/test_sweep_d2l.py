"""28 models of D2L's own classes, ported with their proof, and each ported folder on all six backends: 168 comparisons."""

import importlib.util

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting import d2l_models
from porting.on_backend import BACKENDS, Job, run_on

LIMIT = 1e-5
BATCH = {"source": d2l_models.SOURCE, "source_valid_lens": d2l_models.LENS, "target": d2l_models.TARGET}
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
