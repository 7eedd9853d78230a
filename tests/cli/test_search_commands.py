"""``translate`` with its options of search, ``score`` and ``generate``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import ConfigError, DataError, TokenError
from transformer_mb.inference.evaluation import bleu
from transformer_mb.inference.search_options import EXTRA_STEPS


@pytest.fixture(scope="module")
def translator(trained):
    return tmb.Translator.load(trained, "numpy", dtype="float64", batch_size=3)


@pytest.fixture(scope="module")
def lines(pairs):
    return [source for source, _ in pairs[:12]]


@pytest.mark.parametrize("limit", [4, 24])
def test_a_score_is_that_of_the_search(trained, lines, limit):
    """Of greedy search's and of beam search's own hypotheses, which the search scores by another way, with a cache.

    One that reached the limit has no <eos>, which the score of its text counts.
    """
    translator = tmb.Translator.load(trained, "numpy", dtype="float64", batch_size=3, max_steps=limit)
    for beam in (1, 4):
        found = translator.hypotheses(lines, beam)
        flat = [(line, one) for line, hypotheses in zip(lines, found, strict=True) for one in hypotheses]
        scores = translator.score([(line, one.text) for line, one in flat])
        for (_, one), score in zip(flat, scores, strict=True):
            assert score.tokens == [*one.tokens, "<eos>"]
            counted = score.log_probabilities[: min(limit, len(score.tokens))]
            assert one.log_probability == pytest.approx(sum(counted), rel=1e-5)
            assert score.log_probability == pytest.approx(sum(score.log_probabilities))
            assert score.per_token == pytest.approx(score.log_probability / len(score.tokens))


def test_a_score_by_hand(translator, pairs):
    """And an unknown word, which no translation holds, by its share of all tokens."""
    model, (source, target) = translator.model, pairs[0]
    suppressed = list(model.config.suppress_ids)
    (known, unknown) = translator.score([(source, target), (source, f"xyzzy {target}")])
    for score, text in ((known, target), (unknown, f"xyzzy {target}")):
        ids = [*translator.target_vocabulary.encode(text), model.config.eos_id]
        fed = [[*translator.source_vocabulary.encode(source), model.config.eos_id]]
        logits = translator.backend.logits(model, fed, [[model.config.start_id, *ids[:-1]]])[0]
        for row, token, got in zip(logits, ids, score.log_probabilities, strict=True):
            among = row if token in suppressed else np.delete(row, suppressed)
            assert got == pytest.approx(row[token] - np.log(np.exp(among).sum()), rel=1e-9)
    assert unknown.tokens[0] == "<unk>" and unknown.log_probability < known.log_probability


def test_score_prints_a_line_per_pair(cli, trained, pairs, translator, tmp_path):
    stdin = "".join(f"{source}\t{target}\n" for source, target in pairs[:5]) + "\tva !\ngo .\t\n"
    given = [*pairs[:5], ("", "va !"), ("go .", "")]
    outcome = cli("score", trained, "--dtype", "float64", "--tokens", stdin=stdin)
    assert outcome.status == 0 and outcome.err == ""
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    for row, score in zip(rows, translator.score(given), strict=True):
        assert row[0] == f"{score.log_probability:.6f}" and row[1] == f"{score.per_token:.6f}"
        assert row[2] == " ".join(f"{one:.6f}" for one in score.log_probabilities) and row[3] == " ".join(score.tokens)
    for side, name in enumerate(("a.en", "a.fr")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in given), encoding="utf-8")
    (tmp_path / "both.tsv").write_text(stdin, encoding="utf-8")
    short = [line.rsplit("\t", 2)[0] for line in outcome.out.splitlines()]
    for data in (("--data", tmp_path / "both.tsv"), ("--data", tmp_path / "a.en", "--target", tmp_path / "a.fr")):
        assert cli("score", trained, "--dtype", "float64", *data).out.splitlines() == short


def test_score_of_what_is_too_long_or_no_pair(cli, fails, trained, translator):
    long = " ".join(["go"] * 40)
    outcome = cli("score", trained, "--too-long", "skip", stdin=f"go .\tva !\n{long}\tva !\n")
    assert outcome.status == 0 and outcome.out.splitlines()[1] == "nan\tnan" and "Pair 2 has a side of 40 tokens" in outcome.err
    message = "Pair 2 must have at most 29 tokens on each side (max_len = 30, <eos> counted), but one has 40."
    assert fails("score", trained, "--too-long", "stop", stdin=f"go .\tva !\ngo .\t{long}\n").endswith(message)
    assert "Standard input, line 1: SOURCE TAB TARGET was expected" in fails("score", trained, stdin="go .\n")
    with pytest.raises(DataError, match="pair 1 is 'go'"):
        translator.score(["go"])


def test_evaluate_searches_as_translate_does(cli, fails, trained, translator, pairs, data, tmp_path):
    """With a penalty under which other hypotheses win."""
    command = ("evaluate", trained, "--data", data, "--dtype", "float64", "--num-examples", 12, "--beam", 3, "--batch-size", 3)
    assert cli(*command, "--coverage-penalty", 10, "--json", tmp_path / "scores.json").status == 0
    measured = json.loads((tmp_path / "scores.json").read_text())
    sources = [source for source, _ in pairs[:12]]
    with_it, without = (translator.translate(sources, 3, coverage_penalty=penalty) for penalty in (10.0, 0.0))
    references = [translator.target_vocabulary.normalized(target) for _, target in pairs[:12]]
    assert with_it != without and measured["bleu"]["value"] == pytest.approx(bleu(with_it, references).value)
    assert "coverage_penalty must be" in fails(*command, "--coverage-penalty", 11)


def test_prefixes(cli, trained, translator, lines, pairs, tmp_path):
    prefixes = [" ".join(target.split()[:2]) for _, target in pairs[20 : 20 + len(lines)]]  # of other sentences
    prefixes[1] = ""
    greedy = {"max_ratio": 1.5}  # else a limit is that of the batch
    for options, words in (
        (greedy, ()),
        ({**greedy, "beam": 3, "coverage_penalty": 0.2}, ("--beam", 3, "--coverage-penalty", 0.2)),
    ):
        texts = translator.translate(lines, prefixes=prefixes, **options)
        assert all(text.startswith(prefix) for text, prefix in zip(texts, prefixes, strict=True))
        alone = [translator.translate(line, prefixes=prefix, **options) for line, prefix in zip(lines, prefixes, strict=True)]
        assert texts == alone and texts[1] == translator.translate(lines[1], **options)
        assert texts != translator.translate(lines, **options)
        (tmp_path / "prefixes").write_text("\n".join(prefixes) + "\n", encoding="utf-8")
        stdin = "".join(f"{line}\n" for line in lines)
        arguments = (
            "translate",
            trained,
            "--dtype",
            "float64",
            "--max-ratio",
            1.5,
            "--prefix-file",
            tmp_path / "prefixes",
            *words,
        )
        assert cli(*arguments, stdin=stdin).out.splitlines() == texts
    with pytest.raises(TokenError, match="The prefix of line 1 must be at most 29 tokens long, got 30"):
        translator.translate("go .", prefixes=" ".join(["il"] * 30))
    with pytest.raises(DataError, match="prefixes must be a text for one line, and for a list one text per line"):
        translator.translate(["go .", "go ."], prefixes=["il"])


def test_a_prefix_file_of_other_length(cli, trained, tmp_path):
    (tmp_path / "prefixes").write_text("il\nil\n", encoding="utf-8")
    for count, words in ((1, "got more than 1"), (3, "got 2 for at least 3")):
        outcome = cli("translate", trained, "--prefix-file", tmp_path / "prefixes", stdin="go .\n" * count)
        assert outcome.status == 2 and words in outcome.err and outcome.err.startswith("Error: ")


def test_max_ratio_is_of_each_sentence(translator, lines):
    """A model that never ends: each translation is as long as it may be."""
    model, backend = translator.model, translator.backend
    weights = backend.get_weights(model)
    endless = backend.create_empty(model.config.replace(suppress_ids=(0, 1, 2)))
    backend.set_weights(
        endless, {**weights, "decoder.dense.bias": np.where(np.arange(len(weights["decoder.dense.bias"])) == 3, -1e3, 0.0)}
    )
    both = translator.source_vocabulary, translator.target_vocabulary
    for beam in (1, 2):
        found = tmb.Translator(backend, endless, *both).hypotheses(lines, beam, 1, max_ratio=1.5)
        expected = [min(30, int(1.5 * len(line.split())) + EXTRA_STEPS) for line in lines]
        assert [len(row[0].tokens) for row in found] == expected and len(set(expected)) > 1
    limited = tmb.Translator(backend, endless, *both, max_steps=12).hypotheses(lines, 1, max_ratio=0.5)
    assert [len(row[0].tokens) for row in limited] == [min(12, len(line.split()) // 2 + EXTRA_STEPS) for line in lines]


def test_sampling(cli, fails, trained, translator, lines):
    stdin = "".join(f"{line}\n" for line in lines)
    # The ratio is below the limit of every batch, which follows from its longest line.
    sampling = "translate", trained, "--sample", "--temperature", 3, "--max-ratio", 1
    drawn = cli(*sampling, "--seed", 4, stdin=stdin).out
    assert cli(*sampling, "--seed", 4, "--batch-size", 5, stdin=stdin).out == drawn
    assert cli(*sampling, stdin=stdin).out != drawn
    greedy = cli("translate", trained, stdin=stdin).out
    assert drawn != greedy and cli("translate", trained, "--sample", "--top-k", 1, stdin=stdin).out == greedy
    assert translator.translate(lines, sample=tmb.Sampling(top_p=1e-6)) == translator.translate(lines)
    hot = tmb.Sampling(temperature=3.0, seed=1)
    all_of_them = translator.translate(lines, sample=hot, max_ratio=1.0)
    assert all_of_them[5:] == translator.translate(lines[5:], sample=hot, first=5, max_ratio=1.0)
    assert "--sample must be given with --temperature, --top-k" in fails("translate", trained, "--temperature", 2, "--top-k", 3)
    assert "--sample must be given without --beam" in fails("translate", trained, "--sample", "--beam", 3)
    assert "top_p must be from 1e-06 to 1, got 2.0" in fails("translate", trained, "--sample", "--top-p", 2)
    with pytest.raises(ConfigError, match="beam must be 1 where tokens are drawn, got 3"):
        translator.translate(lines, 3, sample=hot)
    with pytest.raises(ConfigError, match="sample must be None or a Sampling, got True"):
        translator.translate(lines, sample=True)


@pytest.fixture(scope="module")
def continued(tmp_path_factory):
    """A decoder alone with a vocabulary, and its folder."""
    backend = tmb.get_backend("numpy")
    vocabulary = tmb.Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", *"abcdefgh"])
    config = tmb.presets.d2l(None, len(vocabulary), architecture="decoder", num_hiddens=16, ffn_num_hiddens=32, max_len=12)
    model = backend.build(config, seed=4)
    folder = tmp_path_factory.mktemp("decoder")
    tmb.save(model, folder / "model", vocabularies=(None, vocabulary))
    return backend, model, vocabulary, folder / "model"


def test_generate(cli, fails, continued):
    backend, model, vocabulary, folder = continued
    texts = ["a b c", "", "d", "e f g h a b c d", "b b"]
    ids = [[2, *vocabulary.encode(text)] for text in texts]
    for words, search in (
        ((), backend.greedy),
        (("--beam", 3), lambda *inputs: backend.beam(*inputs, 3)),
        (("--sample", "--top-k", 1, "--seed", 3), backend.greedy),
    ):
        expected = [search(model, [row], None, min(6, 13 - len(row)))[0] for row in ids]
        outcome = cli("generate", folder, "--max-steps", 6, "--batch-size", 2, *words, stdin="\n".join(texts) + "\n")
        assert outcome.out.splitlines() == [vocabulary.decode(row) for row in expected] and outcome.err == ""
        stdin = "".join(f"{' '.join(map(str, row))}\n" for row in ids)
        outcome = cli("generate", folder, "--ids", "--max-steps", 6, *words, stdin=stdin)
        assert outcome.out.splitlines() == [" ".join(map(str, row)) for row in expected]
    generator = tmb.Generator.load(folder, "numpy", max_steps=6)
    assert [row[0].ids for row in generator.hypotheses(ids, 3)] == generator.generate(ids, 3)
    best = generator.hypotheses(ids, 3, 2)
    command = ("generate", folder, "--max-steps", 6, "--beam", 3)
    for words, stdin, text in (
        ((), "\n".join(texts) + "\n", generator.text),
        (("--ids",), "".join(f"{' '.join(map(str, row))}\n" for row in ids), lambda row: " ".join(map(str, row))),
    ):
        rows = [
            f"{number}\t{one.score:.6f}\t{one.log_probability:.6f}\t{text(one.ids)}"
            for number, found in enumerate(best, start=1)
            for one in found
        ]
        assert cli(*command, "--n-best", 2, "--dtype", "float32", *words, stdin=stdin).out.splitlines() == rows
        assert cli(*command, "--scores", *words, stdin=stdin).out.splitlines() == rows[::2]
    assert "n_best must be from 1 to the beam's 3, got 4" in fails(*command, "--n-best", 4, stdin="a\n")
    hot = tmb.Sampling(temperature=5.0)
    assert generator.generate(ids, sample=hot)[2:] == generator.generate(ids[2:], sample=hot, first=2)
    assert "Line 2 must hold token ids with spaces between" in fails("generate", folder, "--ids", stdin="2 5\n2 x\n")
    assert "Prompt 1 must be at most max_len = 12 tokens long, got 13" in fails("generate", folder, stdin="a " * 12)


def test_generate_refuses_another_model(fails, trained, continued):
    assert "Generating needs a model of architecture decoder, got encoder_decoder" in fails("generate", trained, stdin="a")
    backend, model, _, _ = continued
    with pytest.raises(DataError, match="must be lists of ids for a model without vocabulary, got texts"):
        tmb.Generator(backend, model).generate(["a"])
    with pytest.raises(DataError, match="by a model with a vocabulary, got one without"):
        tmb.Generator(backend, model).text([4])
    with pytest.raises(DataError, match="prompt 2 is 'b'"):
        tmb.Generator(backend, model).generate([[2, 4], "b"])


@pytest.mark.parametrize("command", ["translate", "score", "generate"])
def test_a_reader_that_leaves_ends_it_quietly(command, trained, continued):
    folder = continued[3] if command == "generate" else trained
    reader, writer = os.pipe()
    os.close(reader)
    code = [sys.executable, "-m", "transformer_mb", command, str(folder), "--backend", "numpy"]
    line = b"go .\tva !\n" if command == "score" else b"go .\n"
    done = subprocess.run(code, input=line * 3, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 1 and done.stderr == b""
