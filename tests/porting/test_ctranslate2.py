"""The CTranslate2 export, run by its own engine: the switches that it knows, refusals, and a trained model."""

import json
from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from porting.demo_model import STEPS, compared
from porting.on_backend import sentences
from porting.small_model import made, on_numpy
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import encode_pairs
from transformer_mb.errors import PortError
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, DECODER, ENCODER
from transformer_mb.parity.verdict.limits import error
from transformer_mb.porting import worker
from transformer_mb.porting.exports import ctranslate2 as export
from transformer_mb.porting.families import canonical
from transformer_mb.porting.port import port
from transformer_mb.porting.proof.reference_runs.engines import GREEDY, ONE_THREAD

# Few models that hold all switches between them: each takes two processes of seconds.
CASES = {
    "book": CONFIGS["d2l"],
    "pre-norm, biases, gelu, interleaved": CONFIGS["pre-norm, final norm"].replace(
        encoder_attention_bias=True, decoder_attention_bias=True, activation="gelu", norm_eps=1e-3
    ),
    "pre-norm without final norm, silu, halves, uneven": CONFIGS["silu, uneven sides"].replace(
        norm_position="pre", sinusoid_layout="halves", position_offset=1, embedding_norm=True
    ),
    "post-norm with final norm, learned positions from 2": CONFIGS["post-norm, biases, final norm"].replace(
        position="learned", position_offset=2, embedding_scale=False, output_bias=False
    ),
    "shared and tied, one token never": CONFIGS["shared and tied, padding"],
    "no affine, no ffn bias": CONFIGS["no affine, no ffn bias"],
    "encoder": ENCODER,
    "encoder, scaled, without pooler": ENCODER.replace(embedding_scale=True, pooler=False, final_norm=True),
    "decoder": DECODER,
}
QUICK = ("post-norm with final norm, learned positions from 2", "shared and tied, one token never", "encoder")
LIMIT = 1e-6  # four times what NumPy's float32 is off here at most


def run(folder, config, batch, max_steps=8):
    settings = {"path": str(folder), "config": config.to_dict(), "max_steps": max_steps}
    return worker.call(
        "proof.reference_runs.engines:run_ctranslate2", {f"batch.{name}": array for name, array in batch.items()}, settings
    )[0]


def errors(got, model, batch):
    """How far every output is from the reference, where it means something; 1 for other tokens."""
    config, never = model.config, list(model.config.suppress_ids)
    exact = on_numpy(model, batch, "float64", 8 if config.architecture == "encoder_decoder" else 0)
    if not config.has_decoder:
        valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
        return {"encoder": error(got["encoder"][valid], exact["encoder"][valid])}
    found = {"logits": error(*(np.delete(outputs["logits"], never, axis=-1) for outputs in (got, exact)))}
    if config.has_encoder:
        found["tokens"] = float(sentences(got["tokens"]) != exact["tokens"])
    return found


def batch_for(config):
    batch = {"source": BATCH["source"], "source_valid_lens": BATCH["source_valid_lens"], "target": BATCH["target_in"]}
    if config.token_types:
        batch["token_types"] = 1 - (BATCH["source"] > 4)
    return batch


@pytest.mark.long(but=1)
@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES])
def test_every_switch(name, tmp_path):
    model = made(CASES[name])
    export.write(model, tmp_path)
    batch = batch_for(model.config)
    found = errors(run(tmp_path, model.config, batch), model, batch)
    assert found and max(found.values()) <= LIMIT


def test_a_difference_shows(tmp_path):
    model = made(CASES["book"])
    export.write(replace(model, config=model.config.replace(norm_eps=2e-5)), tmp_path)
    found = errors(run(tmp_path, model.config, batch_for(model.config)), model, batch_for(model.config))
    assert np.max(list(found.values())) > LIMIT


def test_what_the_engine_cannot_compute(tmp_path):
    config = CONFIGS["std norm"].replace(compat_decode="d2l")
    with pytest.raises(PortError, match="norm_kind must be 'layer_norm', got 'std_norm'; compat_decode must be 'correct'"):
        export.write(made(config), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_port_proves_it(tmp_path):
    """Also where the engine rules a token out in its logits."""
    (tmp_path / "canonical").mkdir()
    canonical.write(made(CASES["shared and tied, one token never"]), tmp_path / "canonical")
    report = port(tmp_path / "canonical", tmp_path / "exported", "ctranslate2")
    assert set(report.proof.errors) == {"logits"} and "does not show encoder" in report.proof.result_ran
    assert any(report.proof.tokens)


def test_five_hundred_unseen_sentences(tmp_path, demo, record_property):
    export.write(demo.model, tmp_path)
    logit_error, ties, clear = compared(demo, run(tmp_path, demo.model.config, demo.batch, STEPS))
    record_property("figures", str({"logit error": logit_error, "near-ties": ties}))
    print(f"logit error {logit_error:.1e} (NumPy {demo.logit_error:.1e}); near-ties: {ties or 'none'}")
    assert logit_error <= 4 * demo.logit_error
    assert not clear
    assert len(ties) <= 5


def test_ctranslate2_ends_the_sources_itself(checkpoint, tmp_path, pairs):
    """The engine's own Translator is given the words as they are, and gives what ``translate`` gives."""
    import ctranslate2

    report = tmb.port(checkpoint, tmp_path / "engine", to="ctranslate2")
    assert report.holds and json.loads((tmp_path / "engine" / "config.json").read_text())["add_source_eos"] is True
    engine = ctranslate2.Translator(str(tmp_path / "engine"), **ONE_THREAD)
    found = read_checkpoint(checkpoint)
    sentences = [source.split() for source, _ in pairs[:8]]
    got = [one.hypotheses[0] for one in engine.translate_batch(sentences, max_decoding_length=12, **GREEDY)]
    backend = tmb.get_backend("numpy")
    batch = encode_pairs(pairs[:8], found.source_vocabulary, found.target_vocabulary, num_steps=12)
    tokens = backend.greedy(tmb.load(checkpoint), batch.source, batch.source_valid_lens, 12)
    assert got == [[found.target_vocabulary.entries[number] for number in row] for row in tokens] and any(got)


def test_without_vocabularies_ctranslate2_leaves_sources_as_they_are(small, tmp_path):
    tmb.port(small, tmp_path / "engine", to="ctranslate2")
    assert not json.loads((tmp_path / "engine" / "config.json").read_text()).get("add_source_eos")
