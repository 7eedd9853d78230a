"""``transformer-mb report``, and what becomes of records that hold anything."""

import base64
import json
import re
import zlib

import pytest

from reports.records import ATTENTION, CHECK, COMMITTED, EVIL, RESULTS, WITHIN, failing_run
from transformer_mb.cli.commands.report import recognized
from transformer_mb.errors import PictureError
from transformer_mb.parity.report_page import section
from transformer_mb.reports.page import Section, page_text, write_page
from transformer_mb.reports.page.attention import attention_section
from transformer_mb.reports.page.checked import certificate_section

MOST = 5_000_000  # bytes of the whole page


def data(page):
    """The sections that a page holds."""
    packed = re.search(r'id="data">([^<]*)<', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))["sections"]


def test_the_whole_committed_matrix_with_behaviours_and_runs_is_one_small_file(report):
    assert 100_000 < report.stat().st_size <= MOST
    kinds = [one["kind"] for one in data(report.read_text())]
    assert kinds == ["matrix", "matrix", "behaviours", "tables", "runs", "speed", "costs", "check", "checks", "attention"]


def test_every_committed_cell_is_in_the_page(report):
    found = data(report.read_text())[0]["data"]
    run = json.loads((RESULTS / "parity_cpu.json").read_text())
    names = found["names"]
    cells = {
        (names["row"][one[0]], names["case"][one[1]], names["dtype"][one[2]], names["backend"][one[3]])
        for one in found["cells"]
    }
    assert cells == {(one["row"], one["case"], one["dtype"], one["backend"]) for one in run["results"]}
    assert len(found["controls"]) == run["controls"]["planted"]


def test_a_page_loads_nothing_and_its_policy_permits_only_its_own_script_and_style(report):
    text = report.read_text()
    assert "default-src 'none'" in text and "unsafe" not in text
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#|data:,)', markup) and " style=" not in markup and "onclick" not in markup


def test_a_failed_cell_makes_the_verdict_and_has_its_tree():
    found = section(failing_run())
    assert found.holds is False and found.sentence == "1 of 2 cells failed; 1 of 1 planted mistake were caught."
    page = page_text([found])
    assert "<title>Not all that was judged holds." in page
    assert data(page)[0]["data"]["trees"] == {f"torch, layer forward: {EVIL} [float64]": "encoder.blks.0: own 2e-3  <- first"}


def test_words_of_a_record_are_text_and_never_markup(visit, tmp_path):
    page = visit(write_page(tmp_path, [section(failing_run())]).as_uri())
    assert page.locator("img").count() == 0
    page.locator(".figure.failed").first.click()
    assert EVIL in page.locator("dialog h2").inner_text()
    assert "own 2e-3" in page.locator("pre.tree").inner_text()
    assert "output at [0, 1]: 1.002, and 1 in the reference" in page.locator("dialog").inner_text()
    assert page.get_by_role("img", name="Quantiles of the errors of single numbers").locator("path.line").count() == 2
    assert page.locator(".panels svg .band").count() == 1  # of the training by itself
    page.get_by_role("button", name="Farther").click()
    assert "ffn relu" in page.locator("dialog h2").inner_text()


def test_a_certificate_says_why_there_is_none(tmp_path):
    port = {
        **{
            "certified": False,
            "reasons": ["The inputs were changed."],
            "notes": [],
            "tree": ["-> norm: 2e-3"],
            "seeds": [1, 2],
        },
        **{"figures": CHECK["figures"], "planted": CHECK["planted"], "processes": {"judge": {"python": "3.11"}}, "port": {}},
        **{"reference": {"subject": "torch A"}, "candidate": {"subject": "flax B"}},
    }
    found = certificate_section(port)
    assert found.holds is False and found.sentence.startswith(
        "flax B is not certified to compute the same as torch A, in 2 draws"
    )
    assert found.data["notes"] == ["✗ The inputs were changed."] and found.data["tree"] == {"text": "-> norm: 2e-3"}
    assert certificate_section({**port, "certified": True}).holds is True
    (tmp_path / "port.json").write_text(json.dumps(port))
    assert recognized(tmp_path / "port.json")[0] == "certificate"


def test_a_file_that_is_no_result_is_refused_by_name_and_nothing_is_written(fails, tmp_path):
    wrong = tmp_path / "wrong.json"
    for text, words in (("{", "wrong.json must be JSON"), ('{"a": 1}', "got other JSON"), ("[]", "got other JSON")):
        wrong.write_text(text)
        assert words in fails("report", wrong, "--out", tmp_path / "out") and not (tmp_path / "out").exists()


def test_a_damaged_record_is_refused_with_what_is_wrong_in_it(fails, tmp_path):
    for damage, words in (
        (lambda run: run["results"][0].pop("dtype"), "results, number 1, must have dtype"),
        (lambda run: run.update(failed="none"), "failed of the file must be a whole number"),
    ):
        run = failing_run()
        damage(run)
        (tmp_path / "run.json").write_text(json.dumps(run))
        assert words in fails("report", tmp_path / "run.json", "--out", tmp_path / "out")
    (tmp_path / "lines.jsonl").write_text(json.dumps({**ATTENTION, "target": ["il"]}))
    assert "the weights of line 1 must be [layers, heads, 1, 4]" in fails("report", tmp_path / "lines.jsonl", "--out", tmp_path)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda curves: curves["losses"]["torch"][3].pop(), "the curves of torch must have a loss for each of 60 steps"),
        (lambda curves: curves["losses"]["jax"].clear(), "the curves of jax must have a loss"),
        (lambda curves: curves["losses"]["jax"][0].__setitem__(0, "1"), "the curves of jax must hold numbers"),
        (lambda curves: curves.update(steps="60"), "steps of curves must be a list"),
    ],
)
def test_damaged_curves_are_refused(damage, words, fails, tmp_path):
    content = json.loads((RESULTS / "losses.json").read_text())
    damage(content["curves"])
    (tmp_path / "losses.json").write_text(json.dumps(content))
    assert words in fails("report", tmp_path / "losses.json", "--out", tmp_path / "out")


def test_an_earlier_page_is_replaced_with_force_alone(cli, fails, tmp_path):
    lines = tmp_path / "attention.jsonl"
    lines.write_text(json.dumps(ATTENTION))
    assert cli("report", lines, "--out", tmp_path / "out").status == 0
    assert "--force" in fails("report", lines, "--out", tmp_path / "out")
    assert cli("report", lines, "--out", tmp_path / "out", "--force").status == 0


def test_without_jinja_the_install_line_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(PictureError, match="pip install .*jinja2"):
        page_text([Section("attention", "Attention", "One.", {})])


def test_attention_within_a_side_must_fit_its_tokens():
    found = attention_section([ATTENTION | WITHIN]).data["sentences"][0]
    assert found["decoder"] == WITHIN["decoder"] and found["inputs"] == WITHIN["inputs"]
    for field, words in (("encoder", r"\[layers, heads, 4, 4\]"), ("decoder", r"\[layers, heads, 3, 3\]")):
        with pytest.raises(ValueError, match=f"the {field} of line 1 must be {words}"):
            attention_section([ATTENTION | WITHIN | {field: [[[[1.0]]]]}])
    with pytest.raises(ValueError, match=r"the decoder of line 1 must be \[layers, heads, 0, 0\]"):
        attention_section([{name: value for name, value in (ATTENTION | WITHIN).items() if name != "inputs"}])


def test_attention_of_a_line_without_tokens_is_left_out():
    empty = {"source": [], "target": [], "weights": []}
    assert len(attention_section([empty, ATTENTION]).data["sentences"]) == 1
    with pytest.raises(ValueError, match="there must be a sentence"):
        attention_section([empty])


def test_compare_behaviours_and_parity_write_what_report_makes_of_their_files(cli, tmp_path):
    commands = {
        "behaviours": ("compare", "behaviours", "--backends", "numpy", "--only", "a sum of*"),
        "parity": ("parity", "--backends", "numpy", "--cases", "layer forward: ffn relu*", "--dtype", "float32"),
    }
    for name, command in commands.items():
        place, file = tmp_path / name, tmp_path / f"{name}.json"
        cli(*command, "--json", file, "--report", place)
        assert cli("report", file, "--out", tmp_path / f"{name} again").status == 0
        assert (place / "index.html").read_text() == (tmp_path / f"{name} again" / "index.html").read_text()


@pytest.mark.parametrize("name", [*COMMITTED, "versions_jax", "losses"])
def test_each_committed_record_makes_a_page_by_itself(name, cli, tmp_path):
    assert cli("report", RESULTS / f"{name}.json", "--out", tmp_path / "out").status == 0
