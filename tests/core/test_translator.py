"""Translating: nothing is lost on the way, every text that can be read is, and a user of Python gets what a command gives."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb import registry
from transformer_mb.cli.evaluate import described
from transformer_mb.errors import BackendError, CheckpointError, ConfigError, DataError, TokenError
from transformer_mb.evaluation import evaluate

LONG = "he " * 40 + "."
BOM = "\ufeff"


@pytest.fixture(scope="session")
def translator(trained):
    return tmb.Translator.load(trained)


@pytest.fixture
def lines(pairs):
    return [source for source, _ in pairs[:6]]


def test_a_long_line_loses_no_other(cli, trained, lines, translator):
    outcome = cli("translate", trained, stdin="\n".join([*lines[:3], LONG, *lines[3:]]) + "\n")
    cut = translator.translate(" ".join(LONG.split()[:29]))
    assert outcome.status == 0
    assert outcome.out.splitlines() == [*translator.translate(lines[:3]), cut, *translator.translate(lines[3:])]
    assert outcome.err == "Warning: Line 4 has 41 tokens and the model takes 29: only the first 29 were translated.\n"


def test_a_long_line_can_be_skipped_or_end_the_run_after_the_lines_before_it(cli, trained, lines, translator):
    text = "\n".join([*lines[:3], LONG, *lines[3:]]) + "\n"
    skipped = cli("translate", trained, "--too-long", "skip", stdin=text)
    assert skipped.status == 0 and skipped.out.splitlines()[3] == "" and len(skipped.out.splitlines()) == 7
    assert "Line 4 has 41 tokens" in skipped.err and "its output is an empty line" in skipped.err
    stopped = cli("translate", trained, "--too-long", "stop", stdin=text)
    assert stopped.status == 2 and stopped.out.splitlines() == translator.translate(lines[:3])
    assert "Line 4 must be at most 29 tokens long (max_len = 30, <eos> counted), but it has 41" in stopped.err


def test_a_long_line_can_be_drawn(cli, trained, lines, tmp_path):
    """The picture shows what the model read."""
    outcome = cli("translate", trained, "--attention", tmp_path / "a.jsonl", stdin=f"{LONG}\n{lines[0]}\n")
    rows = [json.loads(row) for row in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert outcome.status == 0 and [len(row["source"]) for row in rows] == [30, len(lines[0].split()) + 1]
    again = "--attention", tmp_path / "a.jsonl", "--force"
    assert cli("translate", trained, "--too-long", "skip", *again, stdin=f"{LONG}\n").status == 0
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"source": [], "target": [], "weights": []}


def test_evaluate_scores_the_pairs_beside_a_long_one(cli, trained, pairs, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in [*pairs[:9], (LONG, "x")]), encoding="utf-8")
    outcome = cli("evaluate", trained, "--data", path)
    assert outcome.status == 0 and "of 10 pairs" in outcome.out and "Line 10 has 41 tokens" in outcome.err
    assert "Line 10 must be" in cli("evaluate", trained, "--data", path, "--too-long", "stop").err


def test_a_long_line_raises_in_python_unless_told_otherwise(trained, translator, lines):
    with pytest.raises(TokenError, match="Line 2 must be at most 29 tokens long"):
        translator.translate([lines[0], LONG])
    for too_long, expected in (("cut", translator.translate(" ".join(LONG.split()[:29]))), ("skip", "")):
        tolerant = tmb.Translator.load(trained, too_long=too_long)
        assert tolerant.translate([lines[0], LONG]) == [translator.translate(lines[0]), expected]
    with pytest.raises(ConfigError, match="too_long must be one of stop, cut, skip, got 'drop'"):
        tmb.Translator.load(trained, too_long="drop")


def test_a_line_that_is_no_utf_8_loses_none_before_it(cli, trained, lines, translator):
    outcome = cli("translate", trained, stdin=f"{lines[0]}\n{lines[1]}\n".encode() + b"d\xe9j\xe0 vu\ngo .\n")
    assert outcome.status == 2 and outcome.out.splitlines() == translator.translate(lines[:2])
    place = len(f"{lines[0]}\n{lines[1]}\n") + 1
    assert f"Standard input must be UTF-8 text, but line 3, byte {place} of the whole, is not" in outcome.err


def test_a_byte_order_mark_is_no_word(cli, trained, lines, checkpoint, tmp_path):
    assert cli("translate", trained, stdin=f"{BOM}{lines[0]}\n").out == cli("translate", trained, stdin=f"{lines[0]}\n").out
    before = cli("translate", checkpoint, stdin=f"{lines[0]}\n").out
    for name in ("config.json", "source_vocabulary.json"):
        path = checkpoint / name
        path.write_text(BOM + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert cli("translate", checkpoint, stdin=f"{lines[0]}\n").out == before


def test_a_byte_order_mark_in_settings_is_ignored(cli, settings_file, checkpoint, tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(BOM + settings_file.read_text(encoding="utf-8"), encoding="utf-8")
    assert cli("train", path, "--epochs", 1, "--out", tmp_path / "new").status == 0
    (tmp_path / "settings.json").write_text(f"{BOM}{{}}", encoding="utf-8")
    (tmp_path / "settings.toml").write_text(f"{BOM}", encoding="utf-8")
    for ending in ("json", "toml"):
        config = ("--config", tmp_path / f"settings.{ending}")
        assert cli("port", checkpoint, tmp_path / f"{ending}.npz", "--to", "npz", *config).status == 0


def test_closed_standard_input_is_one_paragraph(trained):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m transformer_mb translate {trained} <&-"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("Error: Standard input must be open, got it closed")
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_bleu_without_four_words_to_count_is_explained(cli, trained, data):
    said = "BLEU has no sequence of four words to count: no translation is that long."
    perfect = evaluate([("go .", "va !"), ("hi .", "salut !")], ["va !", "salut !"])
    assert perfect.bleu.value == 0.0 and perfect.exact_match == 1.0 and described(perfect)[-1] == said
    assert said in cli("evaluate", trained, "--data", data, "--max-steps", 3).out
    assert said not in cli("evaluate", trained, "--data", data).out


def test_a_checkpoint_without_vocabularies_says_how_to_give_them(fails, checkpoint, trained, translator, lines, tmp_path):
    kept = {}
    for side in ("source", "target"):
        kept[f"{side}_vocabulary"] = str(tmp_path / f"{side}.json")
        (checkpoint / f"{side}_vocabulary.json").rename(tmp_path / f"{side}.json")
    message = fails("translate", checkpoint)
    assert "tmb.save(model, folder, vocabularies=(source, target))" in message
    assert '{"source_vocabulary": FILE, "target_vocabulary": FILE} in --config' in message
    with pytest.raises(CheckpointError, match="needs the vocabularies of both sides"):
        tmb.Translator.load(checkpoint)
    tmb.port(checkpoint, tmp_path / "with", to="canonical", config=kept)
    assert tmb.Translator.load(tmp_path / "with").translate(lines) == translator.translate(lines)


def test_a_text_gives_a_text_and_a_list_a_list(translator, lines):
    assert translator.translate(lines[0]) == translator.translate([lines[0]])[0] == translator.translate(iter(lines))[0]
    assert translator.translate("") == "" and translator.translate([]) == [] and translator.hypotheses([]) == []
    for wrong, got in (
        (b"go .", "got a bytes"),
        (3, "got a int"),
        ({"go .": 1}, "got a dict"),
        ([lines[0], None], "line 2 is a"),
    ):
        with pytest.raises(DataError, match=f"must be a str or a list of str.*{got}"):
            translator.translate(wrong)


def test_hypotheses_have_scores_that_order_them(trained, lines):
    translator = tmb.Translator.load(trained, max_steps=12)  # else the longest line of a batch says where one is cut
    both = translator.hypotheses(lines, beam=4)
    assert [found[0].text for found in both] == translator.translate(lines, beam=4)
    for line, found in zip(lines, both, strict=True):
        alone = translator.hypotheses(line, beam=4)
        assert [one.tokens for one in found] == [one.tokens for one in alone] and len({one.text for one in found}) == 4
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], rel=1e-4)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        for one in found:
            assert one.text == " ".join(one.tokens) and one.log_probability <= 0
            ended = len(one.tokens) < 12  # by a token more
            penalty = ((5 + len(one.tokens) + ended) / 6) ** 0.6
            assert one.score == pytest.approx(one.log_probability / penalty)
    assert translator.hypotheses(lines, beam=4, n_best=2)[0] == both[0][:2]
    assert [one.text for one in translator.hypotheses("")] == [""]
    with pytest.raises(ConfigError, match="must be from 1 to the beam's 2, got 3"):
        translator.hypotheses(lines, beam=2, n_best=3)


def test_without_a_penalty_the_score_is_the_probability(translator, lines):
    for one in translator.hypotheses(lines[0], beam=3, length_penalty=0.0):
        assert one.score == one.log_probability and 0 < math.exp(one.score) < 1


def test_the_command_prints_hypotheses_with_their_scores(cli, fails, trained, translator, lines):
    text = f"{lines[0]}\n\n{lines[1]}\n"
    outcome = cli("translate", trained, "--beam", 3, "--n-best", 2, "--length-penalty", 1, stdin=text)
    rows = [row.split("\t") for row in outcome.out.splitlines()]
    expected = translator.hypotheses([lines[0], "", lines[1]], 3, 2, 1.0)
    assert [(int(row[0]), row[3]) for row in rows] == [(n, one.text) for n, found in enumerate(expected, 1) for one in found]
    flat = [one for found in expected for one in found]
    np.testing.assert_allclose([[float(row[1]), float(row[2])] for row in rows], [one[2:] for one in flat], atol=1e-5)
    (scored,) = (row.split("\t") for row in cli("translate", trained, "--scores", stdin=lines[0]).out.splitlines())
    assert scored[3] == translator.translate(lines[0]) and float(scored[2]) == pytest.approx(
        translator.hypotheses(lines[0], beam=1)[0].log_probability, abs=1e-5
    )
    assert "must be from 1 to the beam's 1, got 2" in fails("translate", trained, "--n-best", 2)
    assert "length_penalty at least 0" not in cli("translate", trained, "--length-penalty", -1).out


def test_a_checkpoint_translates_on_any_backend_object(trained, translator, lines):
    backend = tmb.get_backend("numpy", dtype="float64")
    assert tmb.Translator.load(trained, backend).translate(lines) == translator.translate(lines)
    with pytest.raises(ConfigError, match="has its own device and dtype"):
        tmb.Translator.load(trained, backend, dtype="float32")


def test_dir_shows_public_names_alone():
    code = "import transformer_mb as tmb; print(*dir(tmb)); print(*dir(tmb.presets))"
    top, presets = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(top.split()) == {"__version__", *tmb.__all__} and {"Translator", "Vocabulary", "Batches"} <= set(top.split())
    assert set(presets.split()) == {"ARCHITECTURES", "PRESETS", "RECIPES", *tmb.presets.PRESETS}
    assert all(getattr(tmb, name) is not None for name in tmb.__all__)


@pytest.mark.parametrize("name", ["NumPy", "np", "NUMPY", "numpy"])
def test_a_backend_by_the_names_that_people_use(name, cli, trained, settings_file, tmp_path):
    assert tmb.get_backend(name).name == "numpy"
    if name == "np":  # what is recorded is its one name
        assert cli("train", settings_file, "--epochs", 1, "--backend", name, "--out", tmp_path / "model").status == 0
        assert json.loads((tmp_path / "model" / "trainer.json").read_text())["data"]["run"]["backend"] == "numpy"


def test_every_other_name_of_a_backend_means_one_that_is_there():
    assert set(registry.OTHER_NAMES.values()) == set(registry.BUILT_IN) and not set(registry.OTHER_NAMES) & set(
        registry.BUILT_IN
    )
    for given, canonical in {
        "Torch": "torch",
        "pytorch": "torch",
        "keras": "tensorflow",
        "flax": "jax",
        "MXNet": "mxnet",
    }.items():
        assert registry.canonical_name(given) == canonical
    for given, meant in (("troch", "torch"), ("tensorfow", "tensorflow"), ("kears", "tensorflow")):
        with pytest.raises(BackendError, match=f"must be one of numpy, .*, got '{given}'. Did you mean {meant}?"):
            tmb.get_backend(given)
    with pytest.raises(BackendError, match=r"got 'caffe'\.$"):
        tmb.get_backend("caffe")


def test_presets_are_listed_with_their_sizes_and_recipes(cli, tmp_path):
    outcome = cli("presets", "--json", tmp_path / "presets.json")
    listed = {one["name"]: one for one in json.loads((tmp_path / "presets.json").read_text())}
    assert outcome.status == 0 and set(listed) == set(tmb.presets.PRESETS)
    for name, one in listed.items():
        config = tmb.presets.PRESETS[name](50, 50)
        assert f"{name}: " in outcome.out and one["model"]["num_hiddens"] == config.num_hiddens
    assert "num_hiddens=32, ffn_num_hiddens=64" in outcome.out and "epochs=200, batch_size=64, num_steps=10" in outcome.out
    assert "`transformer-mb presets` describes them" in cli("train", "--preset", "gpt", "--data", "x", "--out", "y").err


TALKS = """
import logging, os, sys, warnings
from transformer_mb.cli import main, presets
def talkative():
    os.write(2, b"native\\n")
    warnings.warn("warned", UserWarning)
    logging.getLogger("framework").error("logged")
    print("ours", file=sys.stderr)
    if "crash" in sys.argv:
        os.abort()
    return []
presets.names = talkative
sys.exit(main.main(sys.argv[1:2] + ["presets"] if sys.argv[1:2] == ["--debug"] else ["presets"]))
"""


def test_what_frameworks_say_is_kept_away_and_shown_for_debugging():
    def run(*words):
        return subprocess.run([sys.executable, "-c", TALKS, *words], capture_output=True, text=True)

    assert run().stderr == "ours\n"
    assert all(word in run("--debug").stderr for word in ("native\n", "warned", "logged", "ours\n"))
    assert "Fatal Python error: Aborted" in run("crash").stderr
