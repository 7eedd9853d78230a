"""The ONNX export, run by onnxruntime: every switch of the configuration, any batch and length, and a trained model."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import transformer_mb as tmb
from porting.demo_model import STEPS, compared
from porting.on_backend import sentences
from porting.small_model import made, on_numpy, refused
from transformer_mb.errors import PortError
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, DECODER, ENCODER
from transformer_mb.parity.verdict.limits import error
from transformer_mb.porting import worker
from transformer_mb.porting.exports import onnx as onnx_export
from transformer_mb.porting.exports import onnx_builder
from transformer_mb.porting.families import canonical
from transformer_mb.porting.port import port

CASES = {
    **CONFIGS,
    "encoder": ENCODER,
    "decoder": DECODER,
    "learned positions from 2": CONFIGS["learned positions, tied"].replace(position_offset=2),
    "the book's decoding": CONFIGS["d2l"].replace(compat_decode="d2l"),
}
ROUNDING = 4 * np.finfo(np.float32).eps
# One source is empty; and one batch is of another size and length.
BATCHES = (
    {"source": BATCH["source"], "source_valid_lens": np.array([5, 2, 0]), "target": BATCH["target_in"]},
    {"source": np.array([[9, 4, 5, 6, 7, 8, 3]]), "source_valid_lens": np.array([6]), "target": np.array([[2, 9]])},
)


def test_the_modules_import_neither_engine():
    names = ("exports.onnx", "proof.reference_runs.engines", "exports.ctranslate2", "families.marian", "families.bert")
    code = "; ".join(f"import transformer_mb.porting.{name}" for name in names)
    code += "; import sys; print(*{'onnx', 'onnxruntime', 'ctranslate2', 'transformers', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def run(folder, config, batch, max_steps=8):
    arrays = {f"batch.{name}": value for name, value in batch.items() if config.has_encoder or name == "target"}
    settings = {"path": str(folder), "config": config.to_dict(), "max_steps": max_steps, "threads": 1}
    return worker.call("proof.reference_runs.engines:run_onnx", arrays, settings)[0]


def held(got, model, batch):
    """Whether each output is within four times NumPy's own error in float32 of the reference, as in the parity matrix."""
    steps = 8 if model.config.architecture == "encoder_decoder" else 0
    exact, single = (on_numpy(model, batch, dtype, steps) for dtype in ("float64", "float32"))
    assert set(got) == set(exact)
    limits = {name: 4 * np.maximum(error(single[name], exact[name]), ROUNDING) for name in exact if name != "tokens"}
    assert np.max(list(limits.values())) <= 1e-5
    return all(error(got[name], exact[name]) <= limit for name, limit in limits.items()) and (
        "tokens" not in exact or sentences(got["tokens"]) == exact["tokens"]
    )


@pytest.mark.long(but=5)
@pytest.mark.parametrize("name", CASES)
def test_every_switch(name, tmp_path):
    """Tokens come from the cached step, one at a time; logits from all steps at once."""
    model = made(CASES[name])
    onnx_export.write(model, tmp_path)
    batches = [{**BATCHES[0], "token_types": 1 - (BATCH["source"] > 4)}] if model.config.token_types else BATCHES
    for batch in batches:
        assert held(run(tmp_path, model.config, batch), model, batch)


def test_a_difference_shows(tmp_path):
    """The same check on a model whose epsilon, one weight or positions differ a little."""
    model = made(CASES["d2l"])
    name = "decoder.blks.block1.attention2.W_v.weight"
    weight = model.weights[name].copy()
    weight[0, 0] += 1e-3
    changed = {
        "epsilon": replace(model, config=model.config.replace(norm_eps=2e-5)),
        "weight": replace(model, weights={**model.weights, name: weight}),
        "positions": replace(model, config=model.config.replace(sinusoid_layout="halves")),
    }
    for number, other in enumerate(changed.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        onnx_export.write(other, folder)
        assert not held(run(folder, model.config, BATCHES[0]), model, BATCHES[0])


def test_the_files(tmp_path, demo):
    """Axes of any length, the canonical names inside, and the vocabularies beside."""
    onnx_export.write(demo.model, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "encoder.onnx",
        "decoder.onnx",
        "source_vocabulary.json",
        "target_vocabulary.json",
    }
    decoder = onnx.load(tmp_path / "decoder.onnx").graph
    axes = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim] for value in decoder.input
    }
    assert axes["target"] == ["batch", "target_steps"]
    assert axes["past_keys.1"] == ["batch", 4, "past_steps", 16]
    stored = {tensor.name for tensor in decoder.initializer}
    assert {name for name in demo.model.weights if name.startswith("decoder.")} - stored == {
        f"decoder.blks.block{i}.attention2.{name}.weight" for i in range(2) for name in ("W_k", "W_v")
    }


def test_weights_that_are_too_large_for_one_file_lie_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "LARGEST", 1000)
    model = made(CASES["d2l"].replace(num_hiddens=32))  # of a kilobyte or more, as the onnx package asks
    onnx_export.write(model, tmp_path)
    assert (tmp_path / "encoder.onnx.data").stat().st_size > 1000
    assert held(run(tmp_path, model.config, BATCHES[0]), model, BATCHES[0])


@pytest.mark.parametrize("name", onnx_builder.CHOICES)
@pytest.mark.parametrize("of", ["encoder", "decoder"])
def test_what_there_are_no_nodes_for_is_refused(tmp_path, name, of):
    """Such as a choice that is added to the configuration later."""
    model = made(CASES[of])
    object.__setattr__(model.config, name, "another")
    refused(f"ONNX cannot hold this model: {name} must be .* or .*, got 'another'", onnx_export.write, model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_the_model_cannot_take(tmp_path):
    model = made(CASES["d2l"])
    onnx_export.write(model, tmp_path)
    with pytest.raises(PortError, match="source must be at most max_len = 20 tokens long, got 21"):
        run(tmp_path, model.config, {**BATCHES[0], "source": np.ones((3, 21), np.int64)})
    (tmp_path / "encoder.onnx").unlink()
    (tmp_path / "decoder.onnx").unlink()
    refused(r"must hold encoder.onnx or decoder.onnx", run, tmp_path, model.config, BATCHES[0])


def test_a_port_proves_it(tmp_path, demo, monkeypatch):
    """And one that does not hold leaves nothing."""
    source = tmp_path / "canonical"
    source.mkdir()
    canonical.write(demo.model, source)
    report = port(source, tmp_path / "exported", "onnx")
    assert set(report.proof.errors) == {"encoder", "logits"} and "onnxruntime" in report.proof.result_ran
    assert any(report.proof.tokens)
    monkeypatch.setattr(onnx_builder, "sinusoid_table", lambda *sizes: np.zeros(sizes[:2]))
    refused("does not hold, and nothing is written: the error of encoder is", port, source, tmp_path / "wrong", "onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"canonical", "exported"}


def test_five_hundred_unseen_sentences(tmp_path, demo, record_property):
    right = np.mean([one == other for one, other in zip(demo.translations, demo.right, strict=True)])
    assert right > 0.6, "the model has learned nothing worth comparing"
    onnx_export.write(demo.model, tmp_path)
    logit_error, ties, clear = compared(demo, run(tmp_path, demo.model.config, demo.batch, STEPS))
    record_property("figures", str({"right": right, "logit error": logit_error, "near-ties": ties}))
    print(f"{right:.1%} right; logit error {logit_error:.1e} (NumPy {demo.logit_error:.1e}); near-ties: {ties or 'none'}")
    assert logit_error <= 4 * demo.logit_error
    assert not clear
    assert len(ties) <= 5


PAGE = Path(__file__).parents[2] / "docs" / "PORTING.md"


def test_the_lines_of_the_page_decode_as_greedy_does(tmp_path, monkeypatch):
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 4, "max_len": 20}
    sizes |= {"head_size": 6, "num_kv_heads": 2}  # caches of another shape than num_hiddens and the heads say
    config = tmb.presets.d2l(11, 13, suppress_ids=(5,), **sizes)
    backend = tmb.get_backend("numpy")
    model = backend.build(config, seed=2)
    tmb.save(model, tmp_path / "model")
    tmb.port(tmp_path / "model", tmp_path / "exported", to="onnx")
    monkeypatch.chdir(tmp_path)
    (lines,) = re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("## Decode with an exported ONNX folder")[2], re.S)
    names: dict = {}
    exec(lines, names)
    rows = names["tokens"].tolist()
    ended = [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]
    assert ended == backend.greedy(model, names["source"], names["lens"], 10)
    assert len({token for row in ended for token in row}) > 2 and np.shape(rows) == (2, 10)
