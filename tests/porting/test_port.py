"""The port as a whole: proof, report, destination, command line."""

import json
import os

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import refused
from transformer_mb.cli.main import main
from transformer_mb.errors import PortError
from transformer_mb.porting import port as port_module
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.model import PortedModel
from transformer_mb.porting.proof import probe, running
from transformer_mb.porting.proof.agreement import token_differences

SETTINGS = {"num_heads": 2, "max_len": 20}


@pytest.fixture
def model(trained_on, tmp_path):
    """A canonical checkpoint with Adam's state, and an empty folder for destinations."""
    (tmp_path / "out").mkdir()
    return trained_on("numpy") / "canonical"


def test_the_report_of_a_port(model, tmp_path):
    report = tmb.port(model, tmp_path / "out" / "model.npz", to="npz")
    assert report.holds and report.optimizer and report.source_kind == "canonical" and report.kind == "npz"
    assert set(report.proof.errors) == {"encoder", "logits"} and np.max(list(report.proof.errors.values())) <= 1e-5
    assert len(report.proof.tokens) == 4 and len(report.proof.checksums) == report.tensors
    back = tmb.port(tmp_path / "out" / "model.npz", tmp_path / "out" / "back", to="canonical", config=SETTINGS)
    assert back.proof.checksums == report.proof.checksums
    assert set(os.listdir(tmp_path / "out")) == {"model.npz", "model.npz.config.json", "back"}


@pytest.mark.parametrize(("name", "ran"), [("mxnet", "mxnet backend (mxnet 1.9.1)"), ("flax", "jax backend (jax 0.7.1)")])
def test_a_port_that_a_framework_itself_proves(model, tmp_path, name, ran):
    """The lines of flax leave arrays of NumPy's in the model."""
    report = tmb.port(model, tmp_path / "out" / f"model{FORMATS[name].suffix}", to=name)
    assert report.proof.result_ran == f"our {ran}, loaded by the lines below"
    assert 0.0 < report.proof.errors["logits"] <= 1e-5
    dropped = any("optimizer's state was dropped" in note for note in report.notes)
    assert dropped == (not FORMATS[name].optimizer)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.write])
def test_every_format_there_and_back_with_its_proof(model, tmp_path, name):
    out = tmp_path / "out" / f"model{FORMATS[name].suffix}"
    there = tmb.port(model, out, to=name)
    back = tmb.port(out, tmp_path / "out" / "back", to="canonical", config=model / "config.json")
    assert there.holds and back.holds and back.proof.checksums == there.proof.checksums
    framework = FORMATS[name].backend
    assert (framework or "NumPy float64") in there.proof.result_ran and (framework or "NumPy") in back.proof.source_ran


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda outputs: {**outputs, "logits": outputs["logits"] * (1 + 1e-4)}, r"the error of logits is \d.\de-05, above"),
        (lambda outputs: {**outputs, "encoder": outputs["encoder"] * np.nan}, "encoder of the result holds .* not finite"),
        (lambda outputs: {**outputs, "tokens": outputs["tokens"] + 1}, "greedy tokens differ at row 0, step 0"),
        (lambda outputs: {"encoder": outputs["encoder"]}, "logits of the source is .* of the result nothing"),
        (lambda outputs: {}, "no output was compared"),
    ],
)
def test_a_port_that_does_not_hold_leaves_nothing(model, tmp_path, monkeypatch, change, words):
    true, calls = running.run_reference, []

    def second_run_is_wrong(*arguments):
        calls.append(arguments)
        return change(true(*arguments)) if len(calls) == 2 else true(*arguments)

    monkeypatch.setattr(running, "run_reference", second_run_is_wrong)
    refused(f"does not hold, and nothing is written: .*{words}", tmb.port, model, tmp_path / "out" / "model.npz", to="npz")
    assert os.listdir(tmp_path / "out") == []


def test_a_tensor_that_comes_back_different_is_seen(model, tmp_path, monkeypatch):
    """One bit of one weight, far below what the outputs show."""
    true = port_module.write_target

    def one_bit(model, target, place, settings):
        weights = {**model.weights, "decoder.dense.bias": np.nextafter(model.weights["decoder.dense.bias"], np.float32(9))}
        return true(type(model)(**{**vars(model), "weights": weights}), target, place, settings)

    monkeypatch.setattr(port_module, "write_target", one_bit)
    refused("1 tensor read back different: decoder.dense.bias", tmb.port, model, tmp_path / "out" / "model.npz", to="npz")
    assert os.listdir(tmp_path / "out") == []


def test_a_near_tie_is_listed_and_no_failure(model):
    checkpoint = PortedModel(config=tmb.load(model).config, weights=tmb.get_backend().get_weights(tmb.load(model)))
    batch = probe.probe_batch(checkpoint.config)
    outputs = probe.run_reference(checkpoint, batch)
    other = {**outputs, "tokens": outputs["tokens"].copy(), "logits": outputs["logits"].copy()}
    other["tokens"][1, 2] = (other["tokens"][1, 2] + 1) % 13
    ties, failures = token_differences(checkpoint, batch, outputs, other)
    assert not ties and len(failures) == 1 and "row 1, step 2" in failures[0]
    other["logits"][0] += 100.0  # another row's error excuses nothing
    assert token_differences(checkpoint, batch, outputs, other)[1]
    other["logits"][1] += 100.0  # with such an error every choice is a near-tie
    ties, failures = token_differences(checkpoint, batch, outputs, other)
    assert len(ties) == 1 and not failures


def test_what_is_there_is_not_overwritten(model, tmp_path):
    for name, to in (("model.npz", "npz"), ("model.pdparams", "paddle")):
        path = tmp_path / "out" / name
        path.write_bytes(b"precious")
        refused(r"must be new, but it is there already: .* Only force \(--force\) replaces it", tmb.port, model, path, to=to)
        assert path.read_bytes() == b"precious"
    (tmp_path / "out" / "other.pdopt").write_bytes(b"precious")
    refused("other.pdopt must be new", tmb.port, model, tmp_path / "out" / "other.pdparams", to="paddle")
    assert sorted(os.listdir(tmp_path / "out")) == ["model.npz", "model.pdparams", "other.pdopt"]
    tmb.port(model, tmp_path / "out" / "model.npz", to="npz", force=True)
    assert (tmp_path / "out" / "model.npz").stat().st_size > 1000


def test_another_models_optimizer_is_not_left_beside_a_model_without(model, tmp_path):
    tmb.port(model, tmp_path / "weights.safetensors", to="safetensors")
    (tmp_path / "out" / "model.pdopt").write_bytes(b"precious")
    with pytest.raises(PortError, match="model.pdopt must not be there"):
        tmb.port(tmp_path / "weights.safetensors", tmp_path / "out" / "model.pdparams", to="paddle", force=True)
    assert os.listdir(tmp_path / "out") == ["model.pdopt"]


def test_a_folder_is_not_replaced_by_a_file_nor_the_other_way(model, tmp_path):
    (tmp_path / "out" / "folder").mkdir()
    (tmp_path / "out" / "file").write_text("words")
    refused("not even force", tmb.port, model, tmp_path / "out" / "folder", to="npz", force=True)
    refused("not even force", tmb.port, model, tmp_path / "out" / "file", to="canonical", force=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"to": "nonesuch"}, "^to must be one of torch, paddle, .*got 'nonesuch'"),
        ({"to": "huggingface"}, r"got 'huggingface'. Hugging Face's folders .* are marian, bart, .*distilbert"),
        ({"to": "npz", "from_": "hf"}, "^from must be one of.*got 'hf'. Hugging Face's folders"),
        ({"to": "npz", "config": {"number_of_heads": 4}}, "Unknown setting.s.: number_of_heads. There are: "),
        ({"to": "tensorflow"}, "to must be one of"),
    ],
)
def test_arguments_that_mean_nothing(model, tmp_path, arguments, words):
    refused(words, tmb.port, model, tmp_path / "out" / "x", **arguments)


def test_settings_in_json_toml_and_a_checkpoint(model, tmp_path):
    tmb.port(model, tmp_path / "a.npz", to="npz")
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "settings.toml").write_text("num_heads = 2\nmax_len = 20\n")
    for number, said in enumerate((tmp_path / "settings.json", tmp_path / "settings.toml", model / "config.json")):
        tmb.port(tmp_path / "a.npz", tmp_path / f"back{number}", to="canonical", config=said)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(PortError, match="must be JSON, or TOML"):
        tmb.port(tmp_path / "a.npz", tmp_path / "back", to="canonical", config=tmp_path / "bad.json")


def test_vocabularies_come_with_the_settings(model, tmp_path):
    tmb.port(model, tmp_path / "a.npz", to="npz")
    special = ["<unk>", "<pad>", "<bos>", "<eos>"]
    for side, size in (("source", 11), ("target", 13)):
        (tmp_path / f"{side}.json").write_text(json.dumps([*special, *(f"w{i}" for i in range(size - 4))]))
    said = {**SETTINGS, "source_vocabulary": "source.json", "target_vocabulary": "target.json"}
    (tmp_path / "settings.json").write_text(json.dumps(said))
    tmb.port(tmp_path / "a.npz", tmp_path / "back", to="canonical", config=tmp_path / "settings.json")
    kept = json.loads((tmp_path / "back" / "target_vocabulary.json").read_text())
    assert kept["tokens"][:5] == [*special, "w0"] and len(kept["tokens"]) == 13


def test_the_commands(model, tmp_path, capfd):
    out = tmp_path / "out" / "model.npz"
    assert main(["port", str(model), str(out), "--to", "npz", "--json", str(tmp_path / "report.json")]) == 0
    text = capfd.readouterr().out
    assert "logits 0.0e+00 (at most 1e-05); greedy tokens of 4 sentences the same" in text and "proof holds" in text
    assert "encoder.embedding.weight" not in text and len(text.splitlines()) < 15
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["holds"] and len(report["proof"]["checksums"]) == report["tensors"]
    assert main(["port", str(model), str(out), "--to", "npz", "--force", "--verbose"]) == 0
    longer = capfd.readouterr().out
    assert all(f"{checksum} {name}" in longer for name, checksum in report["proof"]["checksums"].items())
    assert "greedy tokens: " in longer and "recorded by the source: " in longer and ", bos_id = 2" in longer
    assert main(["inspect", str(out), "--config", str(model / "config.json")]) == 0
    text = capfd.readouterr().out
    assert "11x8  float32" in text and "npz, family d2l" in text and "with an optimizer's state" in text
    (tmp_path / "out" / "model.npz.config.json").unlink()
    assert main(["inspect", str(out)]) == 0
    assert "note: The number of heads is in no weight file" in capfd.readouterr().out
    assert main(["port", str(out), str(tmp_path / "back"), "--to", "canonical"]) == 2
    error = capfd.readouterr().err
    assert error.startswith("Error: The number of heads") and error.count("\n") == 1 and not (tmp_path / "back").exists()


def test_inspect_lists_the_tensors_by_name(tmp_path, capfd):
    names = ["b.weight", "a.weight", "c", "a.bias"]
    np.savez(tmp_path / "some.npz", **{name: np.zeros(2, np.float32) for name in names})
    assert main(["inspect", str(tmp_path / "some.npz"), "--json", str(tmp_path / "some.json")]) == 0
    listed = [row[0] for row in json.loads((tmp_path / "some.json").read_text())["tensors"]]
    shown = capfd.readouterr().out
    assert listed == sorted(names) and shown.index("a.bias") < shown.index("b.weight")


def test_inspect_says_what_is_odd(tmp_path):
    np.savez(tmp_path / "odd.npz", **{"a": np.array([np.nan, 1.0]), "b\x1b[2J": np.arange(3), "c": np.zeros((2, 2))})
    assert main(["inspect", str(tmp_path / "odd.npz"), "--json", str(tmp_path / "odd.json")]) == 0
    found = json.loads((tmp_path / "odd.json").read_text())
    odd = " ".join(found["odd"])
    assert found["family"] is None and "a holds 1 number that is not finite" in odd
    assert "holds int64" in odd and "c is zero throughout" in odd and "must be those of torch" in odd


def test_tensors_that_are_no_weights_can_be_left_out(model, tmp_path):
    weights = tmb.get_backend().get_weights(tmb.load(model))
    np.savez(tmp_path / "buffers.npz", **weights, scores=np.zeros((1, 20), np.float32))
    refused("unexpected scores", tmb.port, tmp_path / "buffers.npz", tmp_path / "a", to="canonical", config=SETTINGS)
    said = {**SETTINGS, "ignore": ["scores"]}
    report = tmb.port(tmp_path / "buffers.npz", tmp_path / "a", to="canonical", config=said)
    assert report.tensors == len(weights) and any(
        "1 tensor was left out, as ignore says: scores. What" in n for n in report.notes
    )
    with pytest.raises(PortError, match="none that begins with pos"):
        tmb.port(model.parent / "model.npz", tmp_path / "b", to="canonical", config={**SETTINGS, "ignore": ["pos"]})
