"""Five runs with one thread and one with two find the same facts."""

import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare import behaviours
from transformer_mb.compare.facts import same
from transformer_mb.compare.probes import PROBES

THREADS = (1, 1, 1, 1, 1, 2)


@pytest.mark.long
def test_every_exact_fact_is_the_same_in_every_run():
    """``-s`` shows what was counted, and what moved among the facts that are no labels."""
    runs = [{(fact.framework, fact.probe): fact.value for fact in behaviours(list(BUILT_IN), threads=n)} for n in THREADS]
    assert all(run.keys() == runs[0].keys() for run in runs)
    kinds = {key: PROBES[key[1]].kind for key in runs[0]}
    moved = [key for key in runs[0] if any(not same("exact", run[key], runs[0][key]) for run in runs[1:])]
    for kind in dict.fromkeys(kinds.values()):
        facts = [key for key in kinds if kinds[key] == kind]
        others = {key: [run[key] for run in runs] for key in facts if key in moved}
        print(f"{kind}: {len(facts)} facts, {len(facts) - len(others)} the same in {len(runs)} runs; others: {others}")
    assert sum(kind == "exact" for kind in kinds.values()) > 500
    assert [key for key in moved if kinds[key] == "exact"] == []
    assert [key for key in moved if not all(same(kinds[key], run[key], runs[0][key]) for run in runs)] == []
