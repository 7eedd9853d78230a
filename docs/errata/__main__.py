"""Run demonstrations by name, and print what each measures."""

from __future__ import annotations

import sys

from . import d2l_models, d2l_text, fused, notes, stepwise

MODULES = (d2l_models, d2l_text, notes, stepwise, fused)
DEMONSTRATIONS = {name: show for module in MODULES for name, show in module.DEMONSTRATIONS.items()}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in DEMONSTRATIONS]
    if unknown:
        print(f"The demonstrations are {', '.join(DEMONSTRATIONS)}, got {', '.join(unknown)}.", file=sys.stderr)
        return 1
    for name in names or DEMONSTRATIONS:
        print(f"[{name}]")
        for what, value in DEMONSTRATIONS[name]().items():
            print(f"{what}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
