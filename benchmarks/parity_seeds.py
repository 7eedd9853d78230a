"""Runs the matrix for several seeds, and prints what failed and which cells came closest to their limits.

    python benchmarks/parity_seeds.py 0-49 --backends numpy,torch --cases 'layer *|model *' --json build/parity/seeds.json

Exit status: 0 nothing failed in any of them, 1 something did.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from transformer_mb.files.whole_file import write_whole
from transformer_mb.parity.seeds import DRAWN, Seeds, run_seeds
from transformer_mb.parity.selection import Selection
from transformer_mb.registry import BUILT_IN, EVERY_DTYPE

SHOWN = 25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", help="one seed, or the first and the last: 0-49")
    parser.add_argument("--backends", default=",".join(BUILT_IN), help="names separated by commas")
    parser.add_argument("--dtype", default=",".join(EVERY_DTYPE), help="dtypes separated by commas")
    parser.add_argument("--cases", default=DRAWN, help="as transformer-mb parity takes them")
    parser.add_argument("--json", type=Path, help="a file for what was found")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    selection = Selection(tuple(given.dtype.split(",")), given.cases)
    found = Seeds()
    for seed in seeds:
        run_seeds(given.backends.split(","), [seed], selection, found, lambda line: print(line, flush=True))
        if given.json is not None:  # after each seed: a run of hours may be cut
            given.json.parent.mkdir(parents=True, exist_ok=True)
            write_whole(given.json, json.dumps({"backends": given.backends.split(","), **found.to_json()}, indent=1) + "\n")
    print("\n".join([*found.lines(SHOWN), *(f"FAILED {line}" for line in found.failed)]))
    print(f"{found.cells:,} cells over {len(found.seeds)} seeds, {len(found.failed)} failed")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
