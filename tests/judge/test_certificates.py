"""A certificate is run again: one that was edited, or whose files are others by now, does not hold."""

import json
import re

import pytest
from judge import cheats

from transformer_mb.judge import confine
from transformer_mb.judge.certificate import digest

pytestmark = pytest.mark.skipif(not confine.version(), reason="without Landlock nothing is certified at all")


@pytest.fixture
def port(tmp_path):
    for name, text in (("ffn.py", cheats.REFERENCE), ("port.py", cheats.HONEST), ("PORT.py", cheats.PORT)):
        (tmp_path / name).write_text(text)
    return tmp_path / "PORT.py"


@pytest.fixture
def certificate(port, cli):
    path = port.with_name("certificate.json")
    outcome = cli("check", port, "--certificate", path)
    assert outcome.status == 0 and outcome.out.startswith("certified: "), outcome
    return path


def title(folder):
    """The title of a report."""
    return re.search("<title>(.*) - ", (folder / "index.html").read_text())[1]


def test_a_certificate_holds_when_it_is_run_again(certificate, cli, tmp_path):
    outcome = cli("check", "--verify", certificate, "--report", tmp_path / "report")
    assert outcome.status == 0 and outcome.out.startswith("certified: ")
    assert title(tmp_path / "report") == "All that was judged holds."
    content = json.loads(certificate.read_text())
    assert content["landlock"] >= 1 and len(content["seeds"]) >= 5 and content["reference"]["files"].keys() == {"ffn.py"}
    assert all(plant["status"] == "caught" for plant in content["planted"]) and len(content["planted"]) >= 7


def signed(content):
    """As a forger does who has read our source."""
    return {**content, "sha256": digest(content)}


def other_error(content):
    figures = [{**one, "error": one["error"] * 1e-6} for one in content["figures"]]
    return {**content, "figures": figures}


def wrong_figure(content):
    return {**content, "figures": [{**one, "error": 1e-3} for one in content["figures"]]}


EDITS = {
    "an error, unsigned": (lambda content: other_error(content), "has been changed since it was written"),
    "an error, signed anew": (lambda content: signed(wrong_figure(content)), "is not found again"),
    "another candidate": (
        lambda content: signed({**content, "candidate": {**content["candidate"], "files": {"port.py": "0" * 64}}}),
        "The candidate is not what was certified",
    ),
    "other inputs": (lambda content: signed({**content, "inputs": {}}), "The inputs is not what was certified"),
    "not certified": (lambda content: signed({**content, "certified": False}), "It certifies nothing"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_certificate_does_not_hold(edit, certificate, cli):
    change, why = EDITS[edit]
    certificate.write_text(json.dumps(change(json.loads(certificate.read_text()))))
    outcome = cli("check", "--verify", certificate)
    assert outcome.status == 1 and outcome.out.startswith("NOT CERTIFIED") and why in outcome.out, outcome.out


def test_a_port_that_was_changed_afterwards_does_not_hold(certificate, port, cli):
    port.with_name("port.py").write_text(cheats.ANSWERS["zeros"])
    outcome = cli("check", "--verify", certificate)
    assert outcome.status == 1 and "The candidate is not what was certified" in outcome.out


def test_nothing_but_its_report_is_written_for_a_port_that_is_not_certified(port, cli, tmp_path):
    port.with_name("port.py").write_text(cheats.ANSWERS["nothing masked"])
    outcome = cli("check", port, "--certificate", port.with_name("c.json"), "--report", tmp_path / "report")
    assert outcome.status == 1 and not port.with_name("c.json").exists()
    assert title(tmp_path / "report") == "Not all that was judged holds."
    assert "NOT CERTIFIED" in outcome.out and "float64 output" in outcome.out and "modules in float64" in outcome.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "A certificate must be what `transformer-mb check --certificate` writes"),
        ("{", "A certificate must be a JSON file"),
        ('{"kind": "transformer_mb certificate"}', "A certificate must be what"),
    ],
)
def test_what_is_no_certificate_is_refused(content, said, fails, tmp_path):
    (tmp_path / "c.json").write_text(content)
    assert said in fails("check", "--verify", tmp_path / "c.json")


def test_a_call_names_a_port_or_a_certificate(fails, tmp_path):
    assert "either PORT.py or --verify FILE" in fails("check")


REFUSED = {
    "a call of anything else": ("SIZES = {}", "SIZES = dict()", "unknown name dict"),
    "an import": ("SIZES = {}", "import os", "import os"),
    "a private name": ("SIZES = {}", "SIZES = check.__dict__", "check.__dict__"),
    "a lambda": ("SIZES = {}", "SIZES = lambda: {}", "lambda"),
    "a comparison by itself": ("SIZES = {}", 'check.check("a", "b")', "check.check"),
    "a number too large": ("SIZES = {}", "SIZES = [0 for i in range(10**9)]", "10 ** 9"),
    "text that grows": ("SIZES = {}", 'SIZES = "a" * 1000000000', "'a' * 1000000000"),
    "many values": ("SIZES = {}", "SIZES = [0 for i in range(9999) for j in range(9999)]", "more than"),
    "a name that nothing uses": ("SIZES = {}", 'DROPOUT = "same masks"', "sets DROPOUT, which nothing uses"),
    "a missing argument": (
        "SIZES = {}",
        'SIZES = {"T": check.ids("T")}',
        "check.linen and so on, got ids() missing 1 required",
    ),
    "no reference": ("REFERENCE =", "OTHER =", "must set REFERENCE"),
    "sizes that are none": ("SIZES = {}", "SIZES = 3", "SIZES in"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_port_file_is_read_and_not_run(case, tmp_path, fails):
    before, after, said = REFUSED[case]
    text = f"{cheats.PORT}SIZES = {{}}\n"
    assert before in text
    (tmp_path / "PORT.py").write_text(text.replace(before, after))
    message = fails("check", tmp_path / "PORT.py")
    assert said in message and "got Line" not in message
