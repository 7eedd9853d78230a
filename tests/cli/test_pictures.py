"""``translate --attention`` and ``train --loss-curve`` as pictures."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.figures import curves
from transformer_mb.figures.attention_files import sentence_figure
from transformer_mb.inference.attention import attention_of


def test_html_holds_every_sentence(cli, trained, pairs, tmp_path):
    lines = [source for source, _ in pairs[:3]]
    outcome = cli("translate", trained, "--attention", tmp_path / "a.html", stdin="".join(f"{line}\n" for line in lines))
    assert outcome.status == 0 and outcome.err == "" and len(outcome.out.splitlines()) == 3
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3 and page.count("cross-attention") == 3
    shown = set(re.findall(r">([^<>]+)</text>", page))
    assert {word for line in lines for word in line.split()} <= shown and "&lt;eos&gt;" in shown


@pytest.mark.long
def test_png_and_svg_number_their_lines(cli, trained, pairs, tmp_path):
    stdin = f"{pairs[0][0]}\n\n{pairs[1][0]}\n"
    for ending in ("png", "svg"):
        assert cli("translate", trained, "--attention", tmp_path / f"a.{ending}", stdin=stdin).status == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a-3.png", "a-3.svg", "a.png", "a.svg"]


def test_what_is_drawn_is_what_the_model_weighs(trained, pairs):
    source, target = pairs[0]
    translator = tmb.Translator.load(trained)
    found = attention_of(translator, source, target)
    assert found.source == [*source.split(), "<eos>"] and found.target == [*target.split(), "<eos>"]
    assert found.inputs == ["<bos>", *target.split()]
    images = [axes.get_images()[0] for axes in sentence_figure(found, target).get_axes() if axes.get_images()]
    expected = [
        head for kind in ("decoder_cross", "encoder", "decoder_self") for layer in found.weights[kind] for head in layer
    ]
    assert len(images) == len(expected) == 3 * 4
    for image, weights in zip(images, expected, strict=True):
        np.testing.assert_allclose(image.get_array().filled(0.0), weights, atol=1e-7)
    steps = len(found.inputs)
    np.testing.assert_array_equal(images[-1].get_array().mask, ~np.tri(steps, dtype=bool))


def test_a_file_for_programs_holds_all_three_kinds(cli, trained, pairs, tmp_path):
    source, target = pairs[0]
    assert cli("translate", trained, "--attention", tmp_path / "a.jsonl", stdin=f"{source}\n\n").status == 0
    row, empty = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    found = attention_of(tmb.Translator.load(trained), source, target)
    assert (row["source"], row["inputs"], row["target"]) == (found.source, found.inputs, found.target)
    for field, kind in (("weights", "decoder_cross"), ("encoder", "encoder"), ("decoder", "decoder_self")):
        np.testing.assert_allclose(row[field], found.weights[kind], atol=1e-6)
    assert empty.keys() == row.keys() and not any(empty.values())


def test_a_wrong_file_is_refused_before_anything_is_translated(fails, trained, tmp_path):
    assert "--attention must end in one of .jsonl" in fails("translate", trained, "--attention", tmp_path / "a.gif")
    (tmp_path / "file").touch()
    assert "Not a directory" in fails("translate", trained, "--attention", tmp_path / "file" / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_too_many_sentences_leave_no_page(cli, trained, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr("transformer_mb.figures.attention_files.MOST", 1)
    stdin = f"{pairs[0][0]}\n{pairs[1][0]}\n"
    outcome = cli("translate", trained, "--attention", tmp_path / "a.html", stdin=stdin)
    assert outcome.status == 2 and "At most 1 sentences are drawn, got line 2" in outcome.err
    assert not list(tmp_path.iterdir())


def test_the_loss_curve_of_a_training_and_of_its_resume(cli, settings_file, tmp_path, monkeypatch):
    drawn = []
    original = curves.loss_figure
    monkeypatch.setattr(curves, "loss_figure", lambda losses, *labels: drawn.append(losses) or original(losses, *labels))
    command = ("train", settings_file, "--out", tmp_path / "model", "--loss-curve", tmp_path / "loss.svg")
    assert cli(*command, "--epochs", 2).status == 0
    assert cli(*command, "--epochs", 5, "--resume", "--force").status == 0
    history = json.loads((tmp_path / "model" / "trainer.json").read_text())["history"]
    assert [len(losses) for losses in drawn] == [2, 5]
    assert drawn[1] == [row["loss"] for row in history]
    assert (tmp_path / "loss.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(("name", "words"), [("loss.gif", "must end in one of .png"), ("file/loss.png", "Not a directory")])
def test_a_curve_that_cannot_be_drawn_is_refused_before_training(fails, settings_file, tmp_path, name, words):
    (tmp_path / "file").touch()
    assert words in fails("train", settings_file, "--out", tmp_path / "model", "--loss-curve", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_pictures_without_matplotlib_say_what_to_install(fails, trained, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "Install it with: pip install 'matplotlib>=" in fails("translate", trained, "--attention", tmp_path / "a.png")


@pytest.mark.long
def test_unknown_words_appear_as_typed_and_ids_do_not_repeat(cli, trained, pairs, tmp_path):
    assert (
        cli("translate", trained, "--attention", tmp_path / "a.html", stdin=f"xyzzy {pairs[0][0]}\n{pairs[1][0]}\n").status == 0
    )
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert len(ids) == len(set(ids)) > 100 and set(used) <= set(ids) and used
    assert ">xyzzy<" in page


def test_a_translation_that_fills_the_model_is_drawn_too(trained, pairs):
    """Then no <eos> has a position."""
    translator = tmb.Translator.load(trained)
    found = attention_of(translator, pairs[0][0], " ".join(["le"] * 30))
    assert found.target == ["le"] * 30 and len(found.inputs) == 30
