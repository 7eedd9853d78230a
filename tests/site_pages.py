"""The pages of the site as their source has them, and the directives in it."""

import re
from pathlib import Path

from docs.site.differences import differences, read_notes
from docs.site.recurring import add_recurring
from docs.site.six_ways import read_cuts
from docs.site.twins import NAMES

DOCS = Path(__file__).parents[1] / "docs"
SIX_WAYS = sorted(path for path in (DOCS / "six_ways").glob("*.md") if path.stem != "index")
DIRECTIVE = re.compile(r"^```\{six-ways\} (.+)\n((?::\w+: .+\n)*)((?:(?!```).*\n)*)```$", re.MULTILINE)


def six_ways(page):
    """Each directive of the page: its argument, its options and its notes."""
    found = []
    for argument, options, notes in DIRECTIVE.findall(page.read_text()):
        given = dict(re.findall(r"^:(\w+): (.+)$", options, re.MULTILINE))
        found.append((argument, given, [line for line in notes.splitlines() if line.strip()]))
    return found


def explained(argument, options, notes):
    """The cuts of a directive, and where they differ with all their sentences."""
    cuts = read_cuts(argument, options)
    found = differences(cuts, read_notes(notes, list(NAMES)))
    add_recurring(found)
    return cuts, found
