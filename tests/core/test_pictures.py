"""Pictures: the right tokens at the axes, blank cells where masked, and files written whole or not at all."""

import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest

from transformer_mb.errors import PictureError
from transformer_mb.figures.attention import attention_figure
from transformer_mb.figures.curves import divergence_figure, loss_figure
from transformer_mb.figures.files import DOTS, save_figure
from transformer_mb.figures.kind import Attention
from transformer_mb.files.whole_file import replaced_file

QUERIES, KEYS = ["<bos>", "j'ai", "$5$"], ["i", "lost", "<eos>", "<pad>"]
ALLOWED = np.array([[True, True, True, False]] * 3)
LAYERS = [np.where(ALLOWED, np.random.default_rng(layer).random((2, 3, 4)), 0.0) for layer in range(3)]
KIND = Attention("cross-attention", QUERIES, KEYS, LAYERS, ALLOWED)


def panels(figure):
    return [axes for axes in figure.get_axes() if axes.get_images()]


def test_a_panel_for_each_head_of_each_layer_with_its_weights():
    found = panels(attention_figure([KIND]))
    assert len(found) == 6
    for panel, (layer, head) in zip(found, np.ndindex(3, 2), strict=True):
        cells = panel.get_images()[0].get_array()
        np.testing.assert_array_equal(cells.mask, ~ALLOWED)
        np.testing.assert_array_equal(cells.data, LAYERS[layer][head])
        assert panel.get_images()[0].get_clim() == (0.0, 1.0)


def test_the_axes_carry_the_tokens():
    figure = attention_figure([KIND])
    first = panels(figure)[0]
    assert [text.get_text() for text in first.get_yticklabels()] == ["<bos>", "j'ai", r"\$5\$"]
    assert [text.get_text() for text in panels(figure)[4].get_xticklabels()] == KEYS
    assert first.get_title() == "head 1" and first.get_ylabel() == "layer 1"


ODD = ["a\x00b", "\x1b[2J", "\ufffe", "\udc80", "]]>", "<script>", "$x$", "\n"]


def test_tokens_that_no_document_holds_are_escaped(tmp_path, capfd):
    kind = Attention("cross-attention", ODD, ODD, [np.full((1, 8, 8), 0.5)])
    figure = attention_figure([kind], "\x07 title")
    for ending in (".svg", ".html", ".png"):
        save_figure(figure, tmp_path / f"a{ending}")
    ElementTree.parse(tmp_path / "a.svg")
    for ending in (".svg", ".html"):
        text = (tmp_path / f"a{ending}").read_text(encoding="utf-8")
        assert all(character.isprintable() or character == "\n" for character in text) and r"\x1b[2J" in text
        assert "<script>" not in text
    assert capfd.readouterr().err == ""


def test_masked_cells_are_white_and_zeros_are_not():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = attention_figure([KIND._replace(layers=[np.zeros((1, 3, 4))])])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels, (panel,) = np.asarray(canvas.buffer_rgba()), panels(figure)

    def color(row, column):
        x, y = panel.transData.transform((column, row))
        return tuple(pixels[len(pixels) - 1 - round(y), round(x), :3])

    for row in range(3):
        assert color(row, 3) == (255, 255, 255)
        assert all(sum(color(row, column)) < 400 for column in range(3))


def test_several_kinds_in_one_picture():
    other = Attention("encoder self-attention", KEYS, KEYS, [np.full((2, 4, 4), 0.25)])
    assert len(panels(attention_figure([KIND, other], "i lost"))) == 6 + 2


def test_weights_that_do_not_fit_the_tokens_are_refused():
    with pytest.raises(PictureError, match=r"'cross-attention' must end in the sizes \[3, 3\].*got .*\[2, 3, 4\]"):
        attention_figure([KIND._replace(keys=KEYS[:3])])


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_files(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    save_figure(attention_figure([KIND], "i lost"), path)
    content = path.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if ending == "png":
        assert content.startswith(b"\x89PNG\r\n")
    if ending == "svg":
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    if ending == "html":
        text = content.decode("utf-8")
        assert text.startswith("<!DOCTYPE html>") and all(word in text for word in ("lost", "&lt;pad&gt;", "head 2", "layer 3"))


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(PictureError, match=r"must end in one of \.png, \.svg, \.html, got .*a\.gif'"):
        save_figure(loss_figure([1.0, 0.5], "Training", "loss"), tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_what_was_there_stays_when_drawing_fails(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError), replaced_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"before" and [one.name for one in tmp_path.iterdir()] == ["a.png"]


def test_a_loss_curve():
    losses = [2.0 * 0.9**epoch for epoch in range(60)]
    (axes,) = loss_figure(losses, "Training, 60 epochs", "loss per target token").get_axes()
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 61))
    np.testing.assert_array_equal(line.get_ydata(), losses)
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "loss per target token" and axes.get_xlabel() == "epoch"
    assert loss_figure([1.0, 0.9], "Training", "loss").get_axes()[0].get_yscale() == "linear"


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PictureError, match=r"matplotlib, which is not installed.*pip install .matplotlib>="):
        attention_figure([KIND])


def test_how_far_runs_stray(tmp_path):
    """A panel per run with its band and limit, and the reference's loss."""
    run = SimpleNamespace(divergence=np.array([0.0, 1e-9, 1e-6]), band=np.array([1e-15, 1e-9, 1e-7]))
    figure = divergence_figure("float64", {"torch": run, "jax": run}, np.array([3.0, 2.0, 1.5]), 10.0)
    first, second, losses, empty = figure.get_axes()
    assert [axes.get_title() for axes in (first, second, losses)] == ["torch", "jax", "loss of the reference"]
    limit, line = first.get_lines()
    np.testing.assert_array_equal(limit.get_ydata(), 10.0 * run.band)
    np.testing.assert_array_equal(line.get_ydata(), [1e-17, 1e-9, 1e-6])
    np.testing.assert_array_equal(losses.get_lines()[0].get_ydata(), [3.0, 2.0, 1.5])
    assert not empty.axison
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


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
