"""The table of docs/PORTING.md is that of its records, and what it says of them holds."""

import copy
import json
from pathlib import Path

import pytest

from families.__main__ import BEGIN, END, fill, joined, record_holds, table, text
from families.published import PUBLISHED
from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
KEPT = sorted((ROOT / "benchmarks" / "results").glob("families*.json"))


@pytest.fixture(scope="module")
def records():
    return [json.loads(path.read_text()) for path in KEPT]


def test_the_page_has_the_kept_records(records):
    page = (ROOT / "docs" / "PORTING.md").read_text()
    assert f"{BEGIN}{text(records)}{END}" in page, (
        f"python -m tools.families --read {' '.join(map(str, KEPT))} --page docs/PORTING.md"
    )


def test_every_cell_holds_of_every_family_on_every_framework(records):
    assert all(map(record_holds, records))
    first = records[0]
    assert set(first["backends"]) == set(BUILT_IN) and len(BUILT_IN) == 6
    assert set(first["classes"]) == set(PUBLISHED) and len(PUBLISHED) >= 16
    assert all(set(column["models"]) == set(PUBLISHED) for column in first["backends"].values())


def test_a_cell_that_does_not_hold_shows(records):
    for spoil in (
        lambda record: record["backends"]["jax"]["models"]["gpt2"]["errors"].update(logits=1e-11),
        lambda record: record["backends"]["jax"]["models"]["gpt2"]["tokens"].update(beam=1),
        lambda record: record["changed"].update(gpt2=["wte.weight"]),
    ):
        record = copy.deepcopy(records[0])
        spoil(record)
        assert not record_holds(record) and table(record) != table(records[0])


def test_parts_of_a_run_are_joined(records):
    """By models and by backends, whichever came first; what was measured otherwise stays apart."""
    whole, names = copy.deepcopy(records[0]), list(PUBLISHED)

    def part(models, backends):
        columns = {
            one: {**whole["backends"][one], "models": {n: whole["backends"][one]["models"][n] for n in models}}
            for one in backends
        }
        kept = {what: {name: whole[what][name] for name in models} for what in ("classes", "changed")}
        return copy.deepcopy({**whole, **kept, "backends": columns})

    few, rest = ["numpy", "torch"], [one for one in BUILT_IN if one not in ("numpy", "torch")]
    parts = [part(names[4:], few), part(names[:4], few), part(names[4:], rest), part(names[:4], rest)]
    (found,) = joined(parts)
    assert table(found) == table(whole) and found["backends"]["jax"]["models"] == whole["backends"]["jax"]["models"]
    assert len(joined([part(names, few), {**part(names, few), "layers": 99}])) == 2
    with pytest.raises(ValueError, match="Parts must have other models, and one version of numpy, got"):
        joined([part(names, few), part(names[:1], few)])


def test_a_page_without_its_comments_is_refused(tmp_path):
    (tmp_path / "page.md").write_text("words")
    with pytest.raises(ValueError, match="must have the comments"):
        fill(tmp_path / "page.md", "table")
