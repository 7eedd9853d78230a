"""Writes transformer_mb/parity/rows/covering_arrays.json: python tests/parity/make_covering_arrays.py"""

import json
from itertools import combinations, product

from covertable import make

from transformer_mb.parity.rows import caches, drawn_layers, drawn_models, trained_steps
from transformer_mb.parity.rows.drawn_values import STORED
from transformer_mb.random_streams import stream

ARRAYS = [
    *(family.array for family in drawn_layers.FAMILIES),
    caches.CACHES,
    drawn_models.MODELS,
    drawn_models.SEARCHES,
    trained_steps.UPDATES,
    trained_steps.RECIPES,
]


def made(array):
    """Of each row the place of its value in each setting."""
    places = {name: list(range(size)) for name, size in array.sizes}
    rows = make(places, strength=array.strength, constraints=[apart(*pair) for pair in impossible(array)])
    order = stream("covering", array.name).permutation(len(rows))
    return [[rows[i][name] for name in array.settings] for i in order]


def impossible(array):
    pairs = []
    for (first, ours), (second, theirs) in combinations(array.settings.items(), 2):
        for i, j in product(range(len(ours)), range(len(theirs))):
            if not array.possible({first: ours[i], second: theirs[j]}):
                pairs.append(((first, i), (second, j)))
    return pairs


def apart(first, second):
    """As covertable reads it: not both."""
    conditions = [{"operator": "ne", "left": name, "value": place} for name, place in (first, second)]
    return {"operator": "or", "conditions": conditions}


def text():
    """A line for each row."""
    parts = []
    for array in ARRAYS:
        rows = ",\n".join(f"   {json.dumps(row)}" for row in made(array))
        parts.append(f' {json.dumps(array.name)}: {{\n  "settings": {json.dumps(array.sizes)},\n  "rows": [\n{rows}\n  ]\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    STORED.write_text(text(), encoding="utf-8")
