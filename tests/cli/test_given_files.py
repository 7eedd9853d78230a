"""Files of ``translate`` and ``evaluate``: input, output, given translations, further references; and several models."""

import json

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

import transformer_mb as tmb
from transformer_mb.decoding.beam_search import LARGEST_BEAM

PAIRS = "go .\tVa !\n\tblank\nhe is tired .\tIl est fatigué.\n"


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    return tmp_path / "pairs.tsv"


def test_translate_reads_and_writes_files(cli, fails, trained, lines, tmp_path):
    stdin = "".join(f"{line}\n" for line in lines)
    (tmp_path / "in.txt").write_text(stdin, encoding="utf-8")
    expected = cli("translate", trained, stdin=stdin).out
    files = "--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt"
    outcome = cli("translate", trained, *files)
    assert outcome.status == 0 and outcome.out == "" and (tmp_path / "out.txt").read_text(encoding="utf-8") == expected
    assert "out.txt" in fails("translate", trained, *files) and cli("translate", trained, *files, "--force").status == 0
    assert "in.txt" in fails("translate", trained, *files[:3], tmp_path / "in.txt", "--force")
    said = f"DIR must be a checkpoint folder, got a file, {tmp_path / 'in.txt'}: lines to translate come by --input"
    assert said in fails("translate", trained, tmp_path / "in.txt")


def test_a_file_of_pairs_is_noticed_once(cli, trained):
    err = cli("translate", trained, stdin="go .\na\tb\nc\td\n").err
    assert err.count("Line 2 has a tab") == 1 and "cut -f1" in err and "Line 3" not in err


def test_translations_without_an_end_are_told(cli, trained, tmp_path):
    backend = tmb.get_backend("numpy")
    saved = tmb.Translator.load(trained)
    weights = backend.get_weights(saved.model)
    weights["decoder.dense.bias"][saved.model.config.eos_id] = -1e3
    backend.set_weights(saved.model, weights)
    tmb.save(saved.model, tmp_path / "endless", vocabularies=(saved.source_vocabulary, saved.target_vocabulary))
    said = "Note: 2 of 3 translations have no end"
    assert said in cli("translate", tmp_path / "endless", stdin="go .\n\nhe is tired .\n").err
    assert "Note" not in cli("translate", tmp_path / "endless", "--max-steps", 4, stdin="go .\n").err
    assert "Note" not in cli("translate", trained, stdin="go .\n").err


def test_a_beam_has_a_limit_and_n_best_needs_one(fails, trained):
    assert f"beam must be from 1 to {LARGEST_BEAM}, got 1000000." in fails(
        "translate", trained, "--beam", 1000000, stdin="go .\n"
    )
    assert "--n-best 2 needs --beam 2 or more" in fails("translate", trained, "--n-best", 2, stdin="go .\n")


def test_several_models_translate_as_one(cli, fails, trained, lines, tmp_path):
    stdin = "".join(f"{line}\n" for line in lines)
    for words in ((), ("--beam", 3)):
        alone = cli("translate", trained, *words, stdin=stdin).out
        assert cli("translate", trained, trained, *words, stdin=stdin).out == alone
    saved = tmb.Translator.load(trained)
    other = saved.backend.build(saved.model.config, seed=9)
    tmb.save(other, tmp_path / "other", vocabularies=(saved.source_vocabulary, saved.target_vocabulary))
    both = tmb.Translator.load([trained, tmp_path / "other"])
    assert cli("translate", trained, tmp_path / "other", stdin=stdin).out.splitlines() == both.translate(lines)
    assert "2 models" in repr(both)
    pair = [(lines[0], saved.translate(lines[0]))]
    one, two, mean = (translator.score(pair)[0] for translator in (saved, tmb.Translator.load(tmp_path / "other"), both))
    expected = np.log((np.exp(one.log_probabilities) + np.exp(two.log_probabilities)) / 2)
    assert mean.log_probabilities == pytest.approx(expected.tolist(), rel=1e-4)
    assert "--attention must be given with one DIR" in fails(
        "translate", trained, trained, "--attention", tmp_path / "a.jsonl", stdin="go .\n"
    )
    turned = saved.target_vocabulary, saved.source_vocabulary
    config = saved.model.config.replace(
        source_vocab_size=saved.model.config.target_vocab_size, target_vocab_size=saved.model.config.source_vocab_size
    )
    tmb.save(saved.backend.build(config), tmp_path / "turned", vocabularies=turned)
    assert "must have the same vocabularies, got others in" in fails("translate", trained, tmp_path / "turned", stdin="go .\n")


def test_evaluate_keeps_translations_and_takes_them(cli, fails, trained, raw, tmp_path):
    """The file has a line for each line of the data; sacreBLEU itself says the same of it by the signature."""
    kept = tmp_path / "kept.txt"
    outcome = cli("evaluate", trained, "--data", raw, "--output", kept, "--json", tmp_path / "a.json")
    assert outcome.status == 0
    texts = kept.read_text(encoding="utf-8").splitlines()
    assert len(texts) == 3 and texts[1] == ""
    again = cli("evaluate", "--translations", kept, "--data", raw, "--lowercase", "--json", tmp_path / "b.json")
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert again.status == 0 and first["bleu"] == second["bleu"] and first["chrf"] == second["chrf"]
    own = BLEU(lowercase=True, force=True).corpus_score([texts[0], texts[2]], [["Va !", "Il est fatigué."]])
    assert first["bleu"]["value"] == pytest.approx(own.score) and "|case:lc|" in first["bleu"]["signature"]
    assert "got both" in fails("evaluate", trained, "--translations", kept, "--data", raw)
    assert "got neither" in fails("evaluate", "--data", raw)
    said = "must be given with a checkpoint folder, got --translations."
    for options in (("--beam", 3), ("--length-penalty", 1), ("--max-steps", 3, "--backend", "torch"), ("--output", "x")):
        wrong = fails("evaluate", "--translations", kept, "--data", raw, *options)
        assert f"{', '.join(options[::2])} {said}" in wrong
    kept.write_text("va !\n", encoding="utf-8")
    assert f"must have one line per line of {raw}, 3, got 1." in fails("evaluate", "--translations", kept, "--data", raw)


def test_evaluate_with_further_references_ter_and_a_tokenization(cli, fails, raw, tmp_path):
    (tmp_path / "more.txt").write_text("Pars !\nblank\nIl est très fatigué.\n\n", encoding="utf-8")
    (tmp_path / "texts.txt").write_text("Pars !\n\nIl est très fatigué.\n", encoding="utf-8")
    command = ("evaluate", "--data", raw, "--translations", tmp_path / "texts.txt")
    out = cli(*command, "--reference", tmp_path / "more.txt", "--ter", "--tokenize", "char").out
    assert "BLEU         100.00   nrefs:2|case:mixed|eff:no|tok:char|" in out and "exact match  100.0%" in out
    assert "TER            0.00   nrefs:2|case:lc|tok:tercom|" in out
    assert cli(*command).out.splitlines()[0].split()[1] != "100.00"
    assert "tokenize must be one of 13a, intl, zh" in fails(*command, "--tokenize", "moses")


def test_unknown_words_are_replaced_by_those_of_the_source_attended_to(trained, cli):
    """Where all of the attention lies on one token, and a model that has nothing but <unk> to say."""
    saved = tmb.Translator.load(trained, replace_unknown=True)
    backend, unk = saved.backend, saved.target_vocabulary.unk_id
    weights = backend.get_weights(saved.model)
    weights["decoder.dense.bias"][unk] = 1e3
    backend.set_weights(saved.model, weights)
    saved.max_steps = 3
    line = "Zorglub is here ."
    texts = saved.translate([line, "go ."])
    attended = backend.attention(saved.model, [[*saved.ids(line), 3]], [[2, unk, unk]])["decoder_cross"][-1][0].mean(axis=0)
    words = ["zorglub", "is", "here", "."]
    assert texts[0].split() == [words[place] for place in attended[:, :4].argmax(axis=-1)]
    assert set(texts[1].split()) <= {"go", "."} and saved.hypotheses(line, 2)[0].tokens[0] == "<unk>"
    assert cli("translate", trained, "--replace-unknown", stdin="go .\n").status == 0


def test_lines_before_one_that_is_refused_are_answered(cli, trained, tmp_path):
    """By ``score`` and ``generate`` as by ``translate``."""
    long = " ".join(["go"] * 40)
    scored = cli("score", trained, "--too-long", "stop", stdin=f"go .\tva !\nhe is tired .\tva !\n{long}\tva !\n")
    alone = cli("score", trained, stdin="go .\tva !\nhe is tired .\tva !\n").out
    assert scored.status == 2 and scored.out == alone and "Pair 3" in scored.err
    backend = tmb.get_backend("numpy")
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 9}
    tmb.save(backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **sizes)), tmp_path / "decoder")
    command = ("generate", tmp_path / "decoder", "--ids", "--max-steps", 3)
    alone = cli(*command, stdin="2 5\n2 6 7\n").out
    for wrong, said in (
        ("2 12", "Prompt 3 must hold token ids from 0 to 11, got 12."),
        ("2 " * 12, "Prompt 3 must be at most"),
    ):
        outcome = cli(*command, stdin=f"2 5\n2 6 7\n{wrong}\n2 5\n")
        assert outcome.status == 2 and outcome.out == alone and said in outcome.err
