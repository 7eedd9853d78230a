"""Figures of translations by sacreBLEU's signatures, and validations of a training by them."""

import json

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from safetensors.numpy import load_file

import trainings
import transformer_mb as tmb
from trainings import TINY, TRAINED_ON, UNSEEN, InterruptAt, files
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import build_vocabularies
from transformer_mb.distributed import Alone
from transformer_mb.errors import CheckpointError, ConfigError, DataError
from transformer_mb.inference.evaluation import APART, SHORT, TOKENIZATIONS, evaluate, lowers, written_without_spaces
from transformer_mb.training import TrainingInterrupted, TrainingState
from transformer_mb.training.records import ValidationRecord
from transformer_mb.training.validation import Translated, greedy_scores
from transformer_mb.training_options import TRAINING

PAIRS = [("He is here.", "Il est ici, Tom."), ("She is tired now.", "Elle est très fatiguée maintenant.")]
LOWER = ["il est ici , tom .", "elle est fatiguée maintenant ."]
CHINESE = [("a", "你好世界和平"), ("b", "我们都是好学生")]


def settings(signature):
    return dict(part.split(":", 1) for part in signature.split("|"))


def again(signature, translations, *references):
    """The figure that sacreBLEU itself gives for a signature of BLEU."""
    said = settings(signature)
    metric = BLEU(lowercase=said["case"] == "lc", tokenize=said["tok"], force=True)
    return metric.corpus_score(translations, list(references)).score


@pytest.mark.parametrize("pipeline", ["d2l", "words", "characters"])
def test_the_signature_gives_the_figure_of_the_targets_as_they_are_given(pipeline):
    """For who has the translations and the file's own second column, whatever the model's pipeline makes of text."""
    targets = [target for _, target in PAIRS]
    found = evaluate(PAIRS, LOWER, vocabularies=build_vocabularies(PAIRS, pipeline))
    assert found.bleu.value == pytest.approx(again(found.bleu.signature, LOWER, targets))
    case = settings(found.bleu.signature)["case"]
    assert case == settings(found.chrf.signature)["case"] == ("lc" if pipeline == "d2l" else "mixed")
    assert found.chrf.value == pytest.approx(CHRF(lowercase=case == "lc").corpus_score(LOWER, [targets]).score)
    assert lowers(build_vocabularies(PAIRS, pipeline)[1]) == (pipeline == "d2l")


def test_exact_matches_are_of_texts_as_the_pipeline_leaves_them_and_in_lower_case_where_all_else_is():
    pairs = [("He is here.", "Il est ici, Tom."), ("HE IS HERE.", "Il est là.")]
    found = evaluate(pairs, [LOWER[0], "il est là ."], vocabularies=build_vocabularies(pairs, "d2l"))
    assert found.exact_match == 1.0 and found.distinct_sources == 1
    pairs, shouted = [("a", "Va !"), ("b", "Salut.")], ["VA !", "salut ."]
    assert evaluate(pairs, shouted).exact_match == 0.0
    assert evaluate(pairs, shouted, lowercase=True).exact_match == 0.5
    assert evaluate(pairs, shouted, ["x", "SALUT ."], lowercase=True).exact_match == 1.0


def test_several_references_are_sacrebleus():
    more = ["Il est ici.", "Elle est fatiguée maintenant."]
    targets = [target for _, target in PAIRS]
    found = evaluate(PAIRS, LOWER, more, lowercase=True)
    assert settings(found.bleu.signature)["nrefs"] == settings(found.chrf.signature)["nrefs"] == "2"
    assert found.bleu.value == pytest.approx(again(found.bleu.signature, LOWER, targets, more))
    assert found.bleu.value > evaluate(PAIRS, LOWER, lowercase=True).bleu.value
    assert evaluate(PAIRS, more, more).exact_match == 1.0
    with pytest.raises(DataError, match="One text of each reference for each pair was expected, got 1 for 2 pairs"):
        evaluate(PAIRS, LOWER, more[:1])


def test_ter_is_sacrebleus():
    found = evaluate(PAIRS, LOWER, ter=True)
    own = TER()
    assert found.ter.value == pytest.approx(own.corpus_score(LOWER, [[target for _, target in PAIRS]]).score)
    assert found.ter.signature == str(own.get_signature()) and found.to_dict()["ter"]["value"] == found.ter.value
    assert evaluate(PAIRS, LOWER).ter is None


@pytest.mark.parametrize("tokenize", ["zh", "char"])
def test_text_without_spaces_is_parted_by_the_tokenization_asked_for(tokenize):
    """One character of 13 is another: by words between spaces nothing is found."""
    wrong = ["你好世界和平", "我们都是好老师"]
    found = evaluate(CHINESE, wrong, tokenize=tokenize)
    assert settings(found.bleu.signature)["tok"] == tokenize and found.bleu.value > 60 and not found.remarks
    plain = evaluate(CHINESE, wrong)
    assert plain.bleu.value < 1 and any("--tokenize zh, ja-mecab or char" in remark for remark in plain.remarks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("你好", True), ("ありがとう", True), ("ขอบคุณ", True), ("안녕하세요 여러분", False), ("Привет", False), ("9 , 3", False)],
)
def test_which_scripts_part_no_words(text, expected):
    assert written_without_spaces([text, "OK"[: len(text) // 3]]) == expected


def test_a_bleu_of_0_is_explained():
    assert evaluate([("go .", "va !")], ["va !"]).remarks == (SHORT,)
    far = evaluate([("a", "Schlaf ist schön")], ["alles ging gut aus"])
    assert far.bleu.value == 0.0 and far.chrf.value > 0.0 and far.remarks == (APART,)


def test_a_tokenization_is_one_of_sacrebleus_that_can_be_used_here():
    assert set(TOKENIZATIONS) < set(BLEU.TOKENIZERS)
    with pytest.raises(ConfigError, match="tokenize must be one of 13a, intl, zh, .*, got 'moses'"):
        evaluate(PAIRS, LOWER, tokenize="moses")
    try:
        BLEU(tokenize="ja-mecab")
    except RuntimeError:
        with pytest.raises(ConfigError, match=r"tokenize ja-mecab must be installed: pip install 'sacrebleu\[ja\]'"):
            evaluate(PAIRS, LOWER, tokenize="ja-mecab")


def test_a_validation_has_the_figures_of_evaluate():
    """Train on targets with upper case too."""
    pairs = [(source, target.capitalize()) for source, target in tmb.data.demo_pairs()[0][:40]]
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2}
    trained = tmb.train(pairs, validation=pairs[:8], validation_lines=8, epochs=8, learning_rate=0.01, **sizes)
    texts = trained.translator.translate([source for source, _ in pairs[:8]])
    sides = trained.translator.source_vocabulary, trained.translator.target_vocabulary
    found = evaluate(pairs[:8], texts, vocabularies=sides)
    assert trained.validations[-1].chrf == pytest.approx(found.chrf.value) and found.chrf.value > 0
    assert trained.validations[-1].bleu == pytest.approx(found.bleu.value)


# Validations by steps and by translations, and the weights that are kept for them.

WIDER = {**TINY, "num_hiddens": 16, "ffn_num_hiddens": 16, "learning_rate": 0.02}


def train(*arguments, **options):
    return trainings.train(*arguments, **{**WIDER, "validation": UNSEEN, **options})


def test_a_validation_comes_every_so_many_steps():
    trained = train(epochs=4, validate_every_steps=5)
    assert [(record.step, record.epoch) for record in trained.validations] == [(5, 2), (10, 4), (12, 4)]
    assert [record.validation_loss for record in trained.history[:3]] == [None] * 3
    shorter = train(epochs=4, validate_every_steps=6)
    assert [(record.step, record.epoch) for record in shorter.validations] == [(6, 2), (12, 4)]
    assert [record.validation_loss for record in shorter.history][1::2] == [
        record.validation_loss for record in shorter.validations
    ]
    every_epoch = train(epochs=4)
    assert [(record.step, record.epoch) for record in every_epoch.validations] == [(3, 1), (6, 2), (9, 3), (12, 4)]
    # Measuring changes nothing that is computed.
    assert every_epoch.validations[1].validation_loss == shorter.validations[0].validation_loss


def test_bleu_and_chrf_are_sacrebleus_of_greedy_translations():
    trained = train(epochs=25, validation_lines=7, keep="last", dropout=0.0)
    last = trained.validations[-1]
    pairs = UNSEEN[:7]  # the demo corpus is lower case, its marks apart: what the pipeline leaves is what it holds
    translations = trained.translator.translate([source for source, _ in pairs])
    references = [[target for _, target in pairs]]
    assert last.bleu == pytest.approx(BLEU(force=True).corpus_score(translations, references).score) and last.bleu > 5
    assert last.chrf == pytest.approx(CHRF().corpus_score(translations, references).score)
    assert train(epochs=1).validations[0].bleu is None


def test_processes_translate_their_lines_and_score_all():
    trained = train(epochs=25, dropout=0.0)
    model = trained.translator
    translations = model.translate([source for source, _ in UNSEEN[:7]])
    assert len(set(translations)) > 3
    shares = [json.dumps(translations[rank::2]) for rank in range(2)]
    translated = Translated(UNSEEN[:7], (model.source_vocabulary, model.target_vocabulary))
    alone = greedy_scores(model.backend, model.model, translated, Alone())
    for rank in range(2):
        processes = Alone()
        processes.rank, processes.size = rank, 2
        processes.gather_text = lambda own, rank=rank: shares if own == shares[rank] else None
        assert greedy_scores(model.backend, model.model, translated, processes) == alone


def test_the_metric_says_which_is_best_and_when_to_stop():
    records = [ValidationRecord(step, step, loss, bleu, 50.0 - bleu) for step, (loss, bleu) in
               enumerate(((3.0, 10.0), (2.0, 30.0), (1.0, 20.0), (2.5, 30.0)), start=1)]  # fmt: skip
    for metric, ranked in (("loss", [3, 2, 4, 1]), ("bleu", [2, 4, 3, 1]), ("chrf", [1, 3, 2, 4])):
        state = TrainingState(validations=records, validation_metric=metric)
        assert [record.step for record in state.ranked] == ranked
        later = 4 - ranked[0]
        assert state.is_stopped_early(later) and not state.is_stopped_early(later + 1)
    assert not TrainingState().is_stopped_early(1)


def test_early_stopping_counts_validations():
    trained = train(epochs=60, validate_every_steps=2, early_stopping=3, dropout=0.2, learning_rate=0.1)
    losses = [record.validation_loss for record in trained.validations]
    assert losses.index(min(losses)) == len(losses) - 4
    assert trained.state.step == 2 * len(losses) < 180


OPTIONS = {"epochs": 6, "validate_every_steps": 2, "validation_metric": "chrf", "validation_lines": 6, "dropout": 0.1,
           "keep_best": 3}  # fmt: skip


@pytest.mark.parametrize("stop", [1, 7, 8])
@pytest.mark.parametrize("keep", ["best", "last"])
def test_a_resume_between_validations_is_bit_for_bit_the_whole(tmp_path, stop, keep):
    whole = train(tmp_path / "whole", **OPTIONS, keep=keep)
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", progress=InterruptAt(stop), **OPTIONS, keep=keep)
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", resume=True, validation=UNSEEN)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and parts.validations == whole.validations
    records = whole.state.ranked if keep == "best" else whole.validations[::-1]
    kept = {f"kept-{record.step}.safetensors" for record in records[:3]}
    assert {name for name in files(tmp_path / "whole") if name.startswith("kept")} == kept


def test_the_kept_weights_are_those_of_their_steps(tmp_path):
    trained = train(tmp_path / "model", **OPTIONS)
    kept = read_checkpoint(tmp_path / "model").kept
    for step in (record.step for record in trained.state.ranked[:3]):
        with pytest.raises(TrainingInterrupted):
            train(tmp_path / f"at-{step}", progress=InterruptAt(step), **{**OPTIONS, "keep": "last", "keep_best": 1})
        for name, array in load_file(tmp_path / f"at-{step}" / "model.safetensors").items():
            np.testing.assert_array_equal(kept[step][name], array)
    best = load_file(tmp_path / "model" / "model.safetensors")
    assert all(np.array_equal(kept[trained.best.step][name], array) for name, array in best.items())


def test_kept_weights_belong_to_their_training(tmp_path):
    train(tmp_path / "model", **OPTIONS)
    first, *_ = kept = sorted((tmp_path / "model").glob("kept-*"))
    other = kept[1].read_bytes()
    saved = first.read_bytes()
    first.write_bytes(other)
    with pytest.raises(CheckpointError, match=rf"{first.name} must be the one that optimizer.safetensors was saved with"):
        tmb.train(TRAINED_ON, tmp_path / "model", resume=True, validation=UNSEEN)
    first.unlink()
    with pytest.raises(CheckpointError, match=rf"{first.name} is missing"):
        tmb.train(TRAINED_ON, tmp_path / "model", resume=True, validation=UNSEEN)
    first.write_bytes(saved)
    with pytest.raises(ConfigError, match="keep_best was 3 and is 2"):
        train(tmp_path / "model", resume=True, **{**OPTIONS, "keep_best": 2})
    train(tmp_path / "model", force=True, epochs=1)
    assert not list((tmp_path / "model").glob("kept-*"))


def test_options_of_validation_need_pairs_to_measure():
    for option in ({"validate_every_steps": 2}, {"validation_metric": "bleu"}, {"validation_lines": 3}, {"keep_best": 2}):
        with pytest.raises(ConfigError, match=f"{next(iter(option))} needs pairs that are measured"):
            train(validation=None, **option)
    with pytest.raises(ConfigError, match="validation_metric must be one of loss, bleu, chrf, got 'ter'"):
        train(validation_metric="ter")


def test_an_older_checkpoint_tells_its_validations_by_its_epochs(tmp_path):
    """Without the fields that are new; its recipe lacks the new options too."""
    whole = train(tmp_path / "whole", epochs=6)
    train(tmp_path / "parts", epochs=4)
    path = tmp_path / "parts" / "trainer.json"
    trainer = json.loads(path.read_text())
    for name in ("validations", "validation_metric", "saved_with"):
        del trainer[name]
    for name in ("validate_every_steps", "validation_metric", "validation_lines", "keep_best"):
        del trainer["recipe"][name]
    path.write_text(json.dumps(trainer))
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", epochs=6, resume=True, validation=UNSEEN)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and parts.validations == whole.validations


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"validations": [{"step": 1}]}, "must hold rows with step, epoch, validation_loss and bleu, chrf as validations"),
        ({"validations": [{"step": 1, "epoch": 1, "validation_loss": "low"}]}, "a number of at least 0 as validation_loss"),
        ({"validation_metric": "ter"}, "must name one of loss, bleu, chrf as validation_metric, got 'ter'"),
    ],
)
def test_damaged_records_of_validations_are_said_to_be_damaged(fails, checkpoint, damage, words):
    trainer = json.loads((checkpoint / "trainer.json").read_text())
    (checkpoint / "trainer.json").write_text(json.dumps({**trainer, **damage}))
    assert words in fails("train", "--resume", "--out", checkpoint, "--epochs", 61)


def test_bleu_counts_by_the_tokenization_that_is_asked_for():
    """13a makes one word of a line without spaces, which is right or wrong as a whole."""
    pairs = [(source, target.replace(" ", "")) for source, target in UNSEEN]
    options = {**WIDER, "validation": pairs, "pipeline": "characters", "epochs": 30, "dropout": 0.0}
    trained = tmb.train(pairs, validation_tokenize="char", validation_metric="bleu", **options)
    translations = trained.translator.translate([source for source, _ in pairs])
    expected = BLEU(tokenize="char", force=True).corpus_score(translations, [[target for _, target in pairs]]).score
    assert trained.best.bleu == pytest.approx(expected) and expected > 5
    assert BLEU(force=True).corpus_score(translations, [[target for _, target in pairs]]).score != pytest.approx(expected)


def test_a_tokenization_is_one_of_sacrebleus_and_stays(tmp_path):
    with pytest.raises(ConfigError, match="validation_tokenize must be one of 13a, intl, zh, .*, got 'klingon'"):
        train(validation_tokenize="klingon")
    with pytest.raises(ConfigError, match="validation_tokenize needs pairs that are measured"):
        train(validation=None, validation_tokenize="zh")
    train(tmp_path / "model", epochs=1, validation_lines=2, validation_tokenize="intl")
    with pytest.raises(ConfigError, match="validation_tokenize was 'intl' and is 'zh'"):
        train(tmp_path / "model", epochs=2, resume=True, validation_lines=2, validation_tokenize="zh")
    words = TRAINING["validation_tokenize"].words
    assert words.endswith(f"{', '.join(list(TOKENIZATIONS)[:-1])} or {list(TOKENIZATIONS)[-1]}")
