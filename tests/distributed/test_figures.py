"""The figures of docs/DISTRIBUTED.md are those that were measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_results():
    page = (ROOT / "docs" / "DISTRIBUTED.md").read_text()
    results = json.loads((ROOT / "benchmarks" / "results" / "several_processes.json").read_text())["results"]
    assert len(results) == 6
    for name, one in results.items():
        first, second = one["tokens_per_second"].values()
        row = f"| {name} | {first:,} | {second:,} | {one['bytes_summed_per_step']:,} | {one['ms_of_the_sum']} |"
        assert row in page, row
