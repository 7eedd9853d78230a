"""Run demonstrations by name, and print what each measures; status 1 if a claim does not hold."""

from __future__ import annotations

import sys

from . import d2l_models, d2l_text, fused, notes, stepwise
from .figure import show

MODULES = (d2l_models, d2l_text, notes, stepwise, fused)
DEMONSTRATIONS = {name: show for module in MODULES for name, show in module.DEMONSTRATIONS.items()}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in DEMONSTRATIONS]
    if unknown:
        print(f"The demonstrations are {', '.join(DEMONSTRATIONS)}, got {', '.join(unknown)}.", file=sys.stderr)
        return 1
    missed = []
    for name in names or DEMONSTRATIONS:
        print(f"[{name}]")
        missed += [f"{name}: {line}" for line in show(DEMONSTRATIONS[name]())]
    for line in missed:
        print(f"This claim does not hold here: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
