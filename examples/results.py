"""Results of an example: a checkpoint, a probe for other backends, its figures, and its exit status.

A result folder holds ``checkpoint/`` and ``probe.json`` for each model, ``figures.json``, and pictures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformer_mb as tmb
from transformer_mb.registry import requested_name

RESULTS = Path("build") / "examples"


def arguments(document: str, name: str, *, data: bool = False) -> argparse.Namespace:
    """``--out`` of every example, and the corpus of those that need one."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / name, help=f"where results go; {RESULTS / name} unless told")
    if data:
        parser.add_argument("data", type=Path, help="a file of English, tab, French")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"{name}, backend {requested_name()}")
    return options


def keep(model: Any, folder: Path, probe: Mapping[str, Any], vocabularies: Any = None) -> None:
    """Save a model, and beside it the token arrays and the number of steps with which ``check.py`` probes it."""
    folder.mkdir(parents=True, exist_ok=True)
    tmb.save(model, folder / "checkpoint", vocabularies=vocabularies)
    plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in probe.items()}
    (folder / "probe.json").write_text(json.dumps(plain) + "\n", encoding="utf-8")


def finish(folder: Path, figures: Mapping[str, Any], targets: Mapping[str, Any]) -> None:
    """Write the figures, say which targets hold, and leave with status 1 when one does not."""
    held = {target: bool(value) for target, value in targets.items()}
    content = {"backend": requested_name(), **figures, "targets": held}
    (folder / "figures.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for target, value in held.items():
        print(f"{'holds' if value else 'MISSED'}: {target}")
    sys.exit(0 if all(held.values()) else 1)
