"""docs/SPEED.md holds what `make bench` and `make curves` measured, row by row and point by point."""

import json
import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEED = ROOT / "benchmarks" / "speed"
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"


def wanted():
    work = tomllib.loads((ROOT / "benchmarks" / "speed" / "rows.toml").read_text())["work"]
    return [{"title": job["title"], "job": job["job"], **row} for job in work for row in job["rows"]]


@pytest.mark.parametrize("table", ["rows.toml", "gpu_rows.toml"])
def test_every_row_has_its_job_and_its_peer(table):
    work = tomllib.loads((SPEED / table).read_text())["work"]
    jobs = (SPEED / "jobs.py").read_text()
    peers = {row["peer"].split()[0] for job in work for row in job["rows"]}
    assert work and all(f'"{job["job"]}": ' in jobs for job in work)
    assert all((SPEED / "contestants" / f"{peer}.py").is_file() for peer in peers)


def test_a_gpu_that_is_not_there_is_one_sentence():
    command = [sys.executable, SPEED.parent / "bench.py", "--device", "cuda"]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=hidden, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.endswith("error: --device must be one that PyTorch has here, got 'cuda'\n")


def test_products_of_a_step_are_counted_by_hand():
    """Of one layer on each side, 4 wide and 8 inside, on 3 tokens: 2 FLOP a multiplication, and the backward pass twice."""
    code = """
from speed.asked import training_flop
from transformer_mb.config import TransformerConfig
both = {f"{side}_{name}": 1 for side in ("encoder", "decoder") for name in ("num_heads", "num_layers")}
config = TransformerConfig(source_vocab_size=10, target_vocab_size=10, num_hiddens=4, ffn_num_hiddens=8, **both)
print(training_flop(config, 3))
"""
    paths = os.pathsep.join(map(str, (SPEED.parent, ROOT)))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    attention = 4 * (4 * 4) + 2 * (3 * 4)  # four projections, and 3 keys and 3 values of 4 numbers
    inside, output = 2 * (4 * 8), 4 * 10
    assert int(done.stdout) == 3 * 2 * (attention + inside + 2 * attention + inside + output)


@pytest.mark.parametrize(
    ("theirs", "margin", "told"),
    [
        ([[5, 6], [7, 8]], None, "{}"),
        ([[5, 6], [7, 9]], 1e-6, "{'equal_tokens': 0.75}"),
        ([[5, 6], [7, 9]], 1e-3, "Disagreement"),
        ([[5, 6], [7, 9]], math.nan, "Disagreement"),
        ([[5, 6], [7]], 0.0, "Disagreement"),
        (9.0, 0.0, "Disagreement"),
    ],
)
def test_tokens_of_a_row_may_part_at_a_near_tie_alone(theirs, margin, told):
    code = f"""
from math import nan
from types import SimpleNamespace as Contestant
from speed.turns import Disagreement, check
ours = Contestant(computes=[[5, 6], [7, 8]], margins=lambda parted: [{margin} for row, step, token in parted])
try:
    print(check(ours, Contestant(computes={theirs})))
except Disagreement:
    print("Disagreement")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=SPEED.parent, capture_output=True, text=True, check=True)
    assert done.stdout == f"{told}\n"


def test_every_row_was_measured():
    measured = json.loads(RESULTS.read_text())["rows"]
    assert [{name: row[name] for name in expected} for row, expected in zip(measured, wanted(), strict=True)] == wanted()
    assert not [row["failed"] for row in measured if "failed" in row]
    assert all(row[side]["rounds"] >= 5 for row in measured for side in ("ours_measured", "peer_measured"))


def test_every_point_of_the_curves_was_measured():
    settings = tomllib.loads((ROOT / "benchmarks" / "speed" / "curves.toml").read_text())
    measured = json.loads(RESULTS.with_name("curves.json").read_text())["results"]
    assert not [one["failed"] for one in measured if "failed" in one]
    found = {(one["backend"], one["axis"], one["value"]) for one in measured}
    moved = {(axis, value) for axis, values in settings["axes"].items() for value in values if value != settings["point"][axis]}
    assert found == {(backend, *each) for backend in settings["backends"] for each in {(None, None), *moved}}


@pytest.mark.parametrize(
    ("module", "results", "part"),
    [
        ("speed.table", "speed.json", "found['rows']"),
        ("speed.table", "speed_NVIDIA_H200.json", "found['rows']"),
        ("first_answer", "first_answer.json", "found['seconds']"),
        ("curves", "curves.json", "found"),
    ],
)
def test_the_page_holds_the_tables(module, results, part):
    code = f"""
import json, sys
from {module} import table
found = json.load(open(sys.argv[1]))
print("\\n".join(table({part})), end="")
"""
    command = [sys.executable, "-c", code, RESULTS.with_name(results)]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert len(done.stdout) > 300 and done.stdout in (ROOT / "docs" / "SPEED.md").read_text()


def test_the_page_has_what_bfloat16_costs_in_training():
    """The interval follows from the losses, and lies within one percent."""
    measured = json.loads(RESULTS.with_name("bf16_loss.json").read_text())
    bf16, full = measured["losses"]["bf16"], measured["losses"]["full"]
    ratios = [low / high for low, high in zip(bf16, full, strict=True)]
    assert abs(math.prod(ratios) ** (1 / len(ratios)) - measured["ratio"]) < 1e-9
    found = "{ratio:.3f} times float32's ({from:.3f} to {to:.3f}".format(**measured)
    page = (ROOT / "docs" / "SPEED.md").read_text()
    assert found in page and f"over {len(ratios)} seeds of both" in " ".join(page.split())
    assert 0.99 < measured["from"] < measured["to"] < 1.01
