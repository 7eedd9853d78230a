"""The cost of a token, of each backend: against length, batch, width, depth and vocabulary, in training and in decoding.

    python benchmarks/curves.py [--json FILE] [--picture FILE] [--page FILE]

The points are those of speed/curves.toml, each measured in a process of its own, a point of every backend after the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from pictures import costs
from pictures.costs import cost, memory
from pictures.look import save
from speed.limits import limits

from program import fill, keep, machine, program

HERE = Path(__file__).parent
WORK = ("training", "decoding")
ONLY = {"tokens": "training", "rows": "decoding"}  # axes that the other work does not know


def measured(backend, work, point):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(HERE.parent))), "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("XLA_FLAGS", None)
    command = [sys.executable, "-m", "speed.point", backend, work, *map(str, point.values())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def points(settings):
    """Yield each (work, axis, value, point), the common point once for each work."""
    for work in WORK:
        yield work, None, None, settings["point"]
        for axis, values in settings["axes"].items():
            if ONLY.get(axis, work) == work:
                yield from (
                    (work, axis, value, {**settings["point"], axis: value})
                    for value in values
                    if value != settings["point"][axis]
                )


def table(found):
    """Write of each backend the common point and the widest model: a token's cost, and the fraction of the machine's limits."""
    columns = "backend", "training, µs a token", "widest", "of the products' rate", "MiB"
    yield f"| {' | '.join((*columns, 'decoding, µs a token', 'widest', 'of the rate of memory'))} |"
    yield "|---|---|---|---|---|---|---|---|"
    machine = found["machine"]
    limits = {"training": machine["float32_GFLOP_per_s"] * 1e9, "decoding": machine["memory_GB_per_s"] * 1e9}
    for backend in dict.fromkeys(one["backend"] for one in found["results"]):
        cells = [backend]
        for work in WORK:
            own = [one for one in found["results"] if (one["backend"], one["work"]) == (backend, work)]
            common = next(one for one in own if one["axis"] is None)
            widest = max((one for one in own if one["axis"] == "width"), key=lambda one: one["value"])
            steps = 1 if work == "training" else widest["tokens"]
            reached = steps * widest["asked"] / widest["seconds"] / limits[work]
            cells += [f"{cost(common):,.0f}", f"{cost(widest):,.0f}", f"{reached:.0%}"]
            cells += [f"{memory(widest):,}"] if work == "training" else []
        yield f"| {' | '.join(cells)} |"


def main():
    parser = program(__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--page", type=Path, help="a page with the comments curves, to fill in")
    options = parser.parse_args()
    with open(HERE / "speed" / "curves.toml", "rb") as file:
        settings = tomllib.load(file)
    found = {"machine": {**machine(), **limits()}, "point": settings["point"], "results": []}
    for work, axis, value, point in points(settings):
        for backend in settings["backends"]:
            one = {"backend": backend, "work": work, "axis": axis, "value": value, **measured(backend, work, point)}
            found["results"].append(one)
            print(one.get("failed") or f"{work}, {axis} {value}: {backend} {cost(one):.1f} µs a token", flush=True)
        # Anew, since a virtual machine's processors may share a core for a while.
        found["machine"] |= {name: rate for name, rate in limits().items() if rate > found["machine"][name]}
        keep(options.json, found)
    if options.picture:
        save(costs.draw(found), options.picture)
    if options.page:
        fill(options.page, "curves", "".join(f"{line}\n" for line in table(found)))
    sys.exit(any("failed" in one for one in found["results"]))


if __name__ == "__main__":
    main()
