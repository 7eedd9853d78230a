"""Pictures of attention that can be read: bounded, with the words that were typed, on one page."""

from __future__ import annotations

import re

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.figures.attention import Attention, attention_figure
from transformer_mb.figures.files import DOTS
from transformer_mb.figures.sentences import attention_of


def test_a_long_answer_is_a_readable_picture_of_bounded_size():
    tokens = {count: [f"word{number}" for number in range(count)] for count in (6, 35, 300)}
    for count, words in tokens.items():
        weights = [np.full((4, count, count), 1 / count)] * 2
        kinds = [Attention(kind, words, words, weights) for kind in ("cross", "encoder", "decoder")]
        figure = attention_figure(kinds, " ".join(words))
        width, height = figure.get_size_inches() * DOTS
        panels = [axes for axes in figure.get_axes() if axes.get_images()]
        assert width <= 1920 and height <= 2880
        assert len(panels) == {6: 3 * 2 * 4, 35: 3 * 2, 300: 3}[count]  # heads, then their mean, then the last layer's
        labels = panels[0].get_yticklabels()
        # Labels of eight points, the first of them at every token where there is place.
        assert (len(labels) == count) == (count < 300) and labels[0].get_fontsize() == 8
        rows = panels[0].get_position().height * height / DOTS * 72 / len(labels)
        assert rows >= 8
        assert panels[-1].get_title() == {6: "", 35: "layer 2, mean of 4 heads", 300: "layer 2, mean of 4 heads"}[count]


@pytest.mark.further
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
