"""Figures of translations: what their signatures say is what was compared, in sacreBLEU's own words."""

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

import transformer_mb as tmb
from transformer_mb.data import build_vocabularies
from transformer_mb.errors import ConfigError, DataError
from transformer_mb.inference.evaluation import APART, SHORT, TOKENIZATIONS, evaluate, lowers, written_without_spaces

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


def test_exact_matches_are_of_texts_as_the_pipeline_leaves_them():
    pairs = [("He is here.", "Il est ici, Tom."), ("HE IS HERE.", "Il est là.")]
    found = evaluate(pairs, [LOWER[0], "il est là ."], vocabularies=build_vocabularies(pairs, "d2l"))
    assert found.exact_match == 1.0 and found.distinct_sources == 1


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
    sources, vocabularies = [source for source, _ in pairs[:8]], trained.translator
    texts = trained.translator.translate(sources)
    sides = vocabularies.source_vocabulary, vocabularies.target_vocabulary
    found = evaluate(pairs[:8], texts, vocabularies=sides)
    assert trained.validations[-1].chrf == pytest.approx(found.chrf.value) and found.chrf.value > 0
    assert trained.validations[-1].bleu == pytest.approx(found.bleu.value)


def test_exact_matches_are_compared_in_lower_case_where_all_else_is():
    pairs, shouted = [("a", "Va !"), ("b", "Salut.")], ["VA !", "salut ."]
    assert evaluate(pairs, shouted).exact_match == 0.0
    assert evaluate(pairs, shouted, lowercase=True).exact_match == 0.5
    assert evaluate(pairs, shouted, ["x", "SALUT ."], lowercase=True).exact_match == 1.0
