"""A study in a file: what --json writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..records import read_record
from .intervals import Moved
from .measuring import Found, Study
from .switches import EFFECTS


def record(study: Study) -> dict[str, Any]:
    return {
        "backend": study.backend,
        "version": study.version,
        "steps": study.steps,
        "seeds": list(study.seeds),
        "effects": [
            {
                "name": one.effect.name,
                "probes": list(one.effect.probes),
                "one": one.effect.one,
                "other": one.effect.other,
                "logits moved": one.logits,
                "loss moved": one.loss._asdict(),
                "base losses": list(one.base),
                "swapped losses": list(one.swapped),
            }
            for one in study.found
        ],
    }


def read_study(path: Path) -> Study:
    return read_record(path, "effects", _study)


def _study(content: Any) -> Study:
    known = {effect.name: effect for effect in EFFECTS}
    found = [
        Found(
            known[one["name"]],
            tuple(one["base losses"]),
            tuple(one["swapped losses"]),
            Moved(**one["loss moved"]),
            one["logits moved"],
        )
        for one in content["effects"]
    ]
    return Study(tuple(found), tuple(content["seeds"]), content["steps"], content["backend"], content["version"])
