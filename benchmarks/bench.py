"""Speed beside others: ours and a peer in turns, with equal weights and equal results, each in a process of its own.

    python benchmarks/bench.py [DATA.tsv] [--only TEXT] [--seconds SECONDS] [--folder build/speed] [--json FILE] [--page FILE]
    python benchmarks/bench.py --measured FILE --page FILE [--readme FILE]
    python benchmarks/bench.py [DATA.tsv] --device cuda ...
    python benchmarks/bench.py [DATA.tsv] --before CHECKOUT ...

The rows are those of speed/rows.toml, on another device those of speed/gpu_rows.toml; environments for peers of old are made
in the folder. What is timed is whole rounds as users run them: an epoch or a step, translated sentences. Ratios are taken
round by round, so that a machine whose speed drifts favors neither. A target is met or missed where the whole interval of its
figure (95 %, by the bootstrap over rounds) is on one side of it, and undecided elsewhere. Rounds during which something else
used the processors are repeated. With ``--before`` the peer of each row is the same side of ours in another checkout: what a
change made faster or slower. With ``--measured`` nothing is timed: the pages are filled in from a record.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import environment_making
from speed.jobs import made, read_by
from speed.limits import has, limits
from speed.table import page, table, targets
from speed.turns import PAUSE, race

from program import fill, keep, machine, program

TABLES = Path(__file__).parent / "speed"

NEEDED = ("execnet", "rich", "sacrebleu", "safetensors", "scipy", "typer")  # what importing this project's own files needs


def main():
    parser = program(__doc__)
    parser.add_argument("data", nargs="?", help="a file of English, tab, French; default: the built-in corpus")
    parser.add_argument("--only", default="", help="rows whose job, side or peer holds this text")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda, as PyTorch and JAX both name it")
    parser.add_argument("--seconds", type=float, help="of rounds in a row; default: 10, on another device than the CPU 2")
    parser.add_argument("--folder", type=Path, default=TABLES.parents[1] / "build" / "speed")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit, which is then the peer of each row")
    parser.add_argument("--page", type=Path, help="a page with the comments speed, on a GPU speed-gpu, to fill in")
    parser.add_argument("--readme", type=Path, help="a page with the comments speed, into which the count of targets goes")
    parser.add_argument("--measured", type=Path, help="fill the pages in from what --json kept, and time nothing")
    options = parser.parse_args()
    if options.measured:
        return fill_in(json.loads(options.measured.read_text()), options)
    if not has(options.device):
        parser.error(f"--device must be one that PyTorch has here, got {options.device!r}")
    folder = options.folder.resolve()
    jobs = folder / ("jobs-before" if options.before else "jobs")
    with open(TABLES / ("rows.toml" if options.device == "cpu" else "gpu_rows.toml"), "rb") as file:
        work = tomllib.load(file)["work"]
    if options.before:
        work = [{**job, "rows": beside_itself(job["rows"])} for job in work]
    peers = {row["column"]: row for row in environment_making.rows(TABLES / "environments.toml")}
    # Where another device computes, no thread of a processor spins on after its work, and a row that hangs is not waited for.
    seconds, *rest = (10.0, PAUSE, None) if options.device == "cpu" else (2.0, 0.0, 240.0)
    timing = options.seconds or seconds, *rest
    reached = limits(options.device)
    measured = {"machine": {**machine(), **reached}, "rows": []}
    for job in work:
        for row in job["rows"]:
            if not any(options.only in text for text in (job["job"], row["ours"], row["peer"])):
                continue
            column = row.get("environment")
            python = sys.executable if column is None else environment_making.made(peers[column], folder, *NEEDED)[0]
            backend, *words = row["ours"].split()
            place = [] if options.device == "cpu" else [f"device={options.device}"]
            sides = [
                (sys.executable, ["ours", f"backend={backend}", *words, *place]),
                (python, [*row["peer"].split(), *place], *([options.before.resolve()] if options.before else [])),
            ]
            told = {"title": job["title"], "job": job["job"], **row}
            try:
                made_here = made(job["job"], jobs, options.data)
                if options.before:
                    read_by(options.before.resolve(), made_here)
                (told["ours_measured"], told["peer_measured"]), told["disturbance"] = race(made_here, sides, *timing)
                told |= share(told, made_here, reached)
            except Exception as error:
                told["failed"] = f"{type(error).__name__}: {error}"
                errors = (jobs / job["job"]).glob("errors*.txt")
                told["errors"] = {path.name: path.read_text()[-3000:] for path in errors}
            measured["rows"].append(told)
            print(*table([told], heading=len(measured["rows"]) == 1), sep="\n", flush=True)
            keep(options.json, measured)  # after each row: the whole takes long
    fill_in(measured, options)
    sys.exit(any("failed" in row for row in measured["rows"]))


def fill_in(measured, options):
    rows = measured["rows"]
    if options.page:
        fill(options.page, "speed-gpu" if "device" in measured["machine"] else "speed", page(rows))
    if options.readme:
        fill(options.readme, "speed", f"{targets(rows)}\n")


def beside_itself(rows):
    """Return each side of ours once, with itself as the peer."""
    sides = dict.fromkeys(row["ours"] for row in rows)
    return [{"ours": side, "peer": " ".join(["ours", f"backend={side}"])} for side in sides]


def share(row, folder, reached):
    """Return, where a row is about it, which fraction of the device's rate of products a training reaches, in its precision."""
    if row.get("of") != "products":
        return {}
    flop = json.loads((folder / "job.json").read_text())["flop_per_token"]
    rate = reached["bfloat16_GFLOP_per_s" if "precision=bf16" in row["ours"] else "float32_GFLOP_per_s"]
    return {"share": round(row["ours_measured"]["tokens_per_s"][0] * flop / (rate * 1e9), 3)}


if __name__ == "__main__":
    main()
