"""What any page tells a reader to type exists: commands with their options, make's targets, programs and tests by path."""

import re

import pytest

from site_pages import DOCS

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
OPTIONS = (ROOT / "tests" / "meta" / "frozen" / "options.txt").read_text().splitlines()
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
TYPED = re.compile(r"(?:(?<=\$ )|(?<=`)|(?<=^))(transformer-mb [^`\n]*(?:\\\n[^`\n]*)*)", re.MULTILINE)


def known():
    """The options of each command; a group of commands has none of its own."""
    found = {}
    for line in OPTIONS:
        name, _, option = line.rpartition(" ")
        found.setdefault(name, set()).update(option.split("/"))
    groups = {name.partition(" ")[0] for name in found if " " in name}
    return {name: set() for name in groups} | found


KNOWN = known()


def faults(text):
    """Commands of the text that there are not, and options that a command does not take."""
    wrong = []
    for typed in TYPED.findall(text):
        command = re.split(r" #|\|", typed)[0]
        words = re.split(r"[\s\\]+", command)[1:]
        if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
            continue
        name = next((name for n in (2, 1) if (name := " ".join(words[:n])) in KNOWN), None)
        if name is None:
            wrong.append(typed)
            continue
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", command)) - KNOWN[name] - {"--help", "--debug"}
        wrong += [f"{option} in {typed}" for option in sorted(options)]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_on_a_page_exists_with_its_options(page):
    assert faults(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_target_of_make_and_a_program_on_a_page_exist(page):
    text = page.read_text()
    targets = set(re.findall(r"[`$] ?make ([a-z-]+)", text))
    programs = set(re.findall(r"python (?!-)([\w/]+\.py)", text))
    assert targets <= TARGETS and not [path for path in programs if "/" in path and not (ROOT / path).exists()], (
        targets - TARGETS
    )


def test_what_is_planted_is_found():
    assert len(KNOWN) > 12 and len(TARGETS) > 10
    assert faults("$ transformer-mb parity --cases 'x' --controls\n`transformer-mb train --data a \\\n    --epochs 3`") == []
    assert faults("$ transformer-mb parity --case 'x'\n") == ["--case in transformer-mb parity --case 'x'"]
    assert faults("`transformer-mb pairity`") == ["transformer-mb pairity"]
