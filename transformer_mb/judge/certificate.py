"""The certificate: what was compared, by digests, and what was found, with all that it takes to find it again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import __version__
from ..check import Subject
from ..errors import DataError
from ..files.regular import read_regular_text
from ..parity.worker import source_digest
from ..reports.record import finite
from .judging import Judgement, Seeds, judge
from .port_file import Port
from .sources import Side

KIND = "transformer_mb certificate"
FORMAT = 1
# What is computed again on another processor is rounded otherwise: by so much an error may be another one.
TIMES = 100.0
ROUNDING = {"float64": 1e-14, "float32": 1e-6}


def certificate(judgement: Judgement) -> dict[str, Any]:
    """Return it as JSON; ``certified`` is what counts, ``reasons`` say why not."""
    port, (reference, candidate) = judgement.port, judgement.sides
    content: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "certified": judgement.certified,
        "reasons": judgement.reasons,
        "notes": list(judgement.notes),
        "port": {"file": port.path.name, "sha256": port.digest},
        "transformer_mb": {"version": __version__, "sha256": source_digest()},
        "reference": _side(port, port.reference, reference),
        "candidate": _side(port, port.candidate, candidate),
        "processes": judgement.processes,
        "tree": judgement.tree,
        "landlock": judgement.confined,
        "weights": {"pairs": judgement.weights, "kept": list(judgement.kept)},
        "inputs": {name: {"kind": one.kind, "shape": list(one.shape), **one.options} for name, one in port.inputs.items()},
        "sizes": dict(port.sizes),
        "seeds": [asdict(each) for each in judgement.seeds],
        "figures": [one.to_dict() for one in judgement.figures],
        "planted": [asdict(plant) for plant in judgement.planted],
    }
    content = finite(content)
    return {**content, "sha256": digest(content)}


def _side(port: Port, subject: Subject, side: Side) -> dict[str, Any]:
    """Return a side in words, how it is called and what of its answer is kept, and its files."""
    settings = {name: value for name, value in subject.settings.items() if name not in ("python", "label")}
    return {"subject": _written(port.path.parent, subject), "settings": settings, "files": side.digests()}


def _written(folder: Path, subject: Any) -> str:
    return str(subject).replace(f"{folder}/", "")


def digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a certificate's content, less the digest itself."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate. Raises DataError for what is none."""
    try:
        content = json.loads(read_regular_text(path, "facts"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"A certificate must be a JSON file, got {path}: {error}.") from None
    names = {"kind", "format", "certified", "port", "transformer_mb", "reference", "candidate", "seeds", "figures", "sha256"}
    if not isinstance(content, dict) or content.get("kind") != KIND or not names <= content.keys():
        raise DataError(f"A certificate must be what `transformer-mb check --certificate` writes, got {path}.")
    if content["format"] != FORMAT:
        raise DataError(f"The format of a certificate must be {FORMAT}, got {content['format']!r} in {path}.")
    return content


def verify(path: Path) -> tuple[Judgement, list[str]]:
    """Judge again what a certificate is of, which lies beside it: by its own seeds, and by new ones.

    Returns: the judgement by new seeds, and what does not hold of the certificate, one sentence each.
    Raises: DataError for no certificate; what ``judge`` raises.
    """
    content = read_certificate(path)
    seeds = _seeds(path, content["seeds"])
    port = path.resolve().parent / Path(str(content["port"].get("file", ""))).name
    again, anew = judge(port, seeds), judge(port)
    now = certificate(again)
    wrong = [f"{name} is not what was certified." for name in _differing(content, now)]
    if content["sha256"] != digest(content):
        wrong.insert(0, "The certificate has been changed since it was written.")
    if content["certified"] is not True:
        wrong.append("It certifies nothing.")
    wrong += _figures(content, now)
    wrong += [f"Judged again: {reason}" for reason in again.reasons]
    wrong += [f"Judged by new seeds: {reason}" for reason in anew.reasons]
    return anew, wrong


def _seeds(path: Path, rows: Any) -> tuple[Seeds, ...]:
    try:
        seeds = tuple(Seeds(**row) for row in rows)
        if seeds and all(_is_seeds(one) for one in seeds):
            return seeds
    except TypeError:
        pass
    raise DataError(f"The seeds of a certificate must be rows of values, cotangents and larger, got {rows!r:.80} in {path}.")


def _is_seeds(one: Seeds) -> bool:
    return type(one.values) is type(one.cotangents) is int and type(one.larger) is type(one.wider) is bool


def _differing(content: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, words in (
        ("port", "The port's file"),
        ("reference", "The reference"),
        ("candidate", "The candidate"),
        ("weights", "The weight map"),
        ("inputs", "The inputs"),
        ("sizes", "The sizes"),
    ):
        if content.get(name) != now[name]:
            yield words


def _figures(content: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say which errors are not found again by the same seeds, where the package is the same one."""
    if content["transformer_mb"] != now["transformer_mb"]:
        return []
    here = {(one["dtype"], one["part"]): one for one in now["figures"]}
    wrong = []
    for one in content["figures"]:
        found = here.get((one.get("dtype"), one.get("part")))
        if found is None or not _alike(one.get("error"), found["error"], found["dtype"]):
            wrong.append(
                f"The error of {one.get('dtype')} {one.get('part')} is not found again: {one.get('error')} was certified."
            )
    return wrong


def _alike(one: Any, other: Any, dtype: str) -> bool:
    numbers = [value for value in (one, other) if isinstance(value, int | float) and math.isfinite(value)]
    least = ROUNDING.get(dtype, 1e-2)
    return len(numbers) == 2 and (max(numbers) <= TIMES * min(numbers) or max(numbers) <= least)
