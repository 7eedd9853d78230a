"""A study in a file: what --json writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...files.regular import read_regular_text
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
    """Raises ConfigError for a file that holds no such record, OSError for none that can be read."""
    known = {effect.name: effect for effect in EFFECTS}
    try:
        content = json.loads(read_regular_text(path, "facts"))
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
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} must be what `compare effects --json` writes, got {type(error).__name__}: {error}."
        ) from None
