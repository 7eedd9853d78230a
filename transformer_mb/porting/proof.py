"""The proof: source and result run on the same padded batch, and every tensor is read back."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..config import TransformerConfig
from ..errors import PortError
from ..registry import entries
from . import worker
from .exports import Export
from .families import Family
from .formats import FORMATS
from .ported import Arrays, PortedModel
from .probe import END, max_steps, probe_batch, run_oracle
from .sources import Source, read_native
from .targets import Target

LIMIT = 1e-5  # of an output's error in float32, see DESIGN's verdict: ||a - r|| / max(||r||, 1e-2 sqrt(n))
TIE = 10.0  # a choice between tokens that lie closer than so many times the logits' error may go either way
ORACLE = "NumPy float64 on the tensors as read"


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What was compared.

    Attributes:
        source_ran, result_ran: what computed each side.
        errors: by output, relative; ``logits`` also in absolute numbers as ``largest logit difference``.
        tokens: the source's greedy ids, row by row. near_ties: rows where the result chose another token at a tie.
        checksums: SHA-256 (16 digits) of each tensor in canonical layout. changed: tensors that came back different.
        failures: why it does not hold; empty when it does.
    """

    source_ran: str
    result_ran: str
    errors: Mapping[str, float]
    tokens: list[list[int]]
    near_ties: tuple[str, ...]
    checksums: Mapping[str, str]
    changed: tuple[str, ...]
    failures: tuple[str, ...]


def prove(source: Source, family: Family, target: Target, place: Path, settings: Mapping[str, Any]) -> Proof:
    """Run both sides and compare; the result is what was written at ``place``."""
    model = source.model
    batch = probe_batch(model.config)
    expected, source_ran = _run(model, family, source.format, source.path, batch, settings)
    result = _read_back(model, target, place)
    if target.export:
        expected, got, result_ran = _run_export(model.config, target.export, place, batch, expected)
    else:
        assert target.family is not None
        got, result_ran = _run(result, target.family, target.format or target.name, place, batch, {})
    return _compared(model, result, batch, (expected, source_ran), (got, result_ran))


def _run_export(
    config: TransformerConfig, export: Export, place: Path, batch: Arrays, expected: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], str]:
    """What of ``expected`` its engine shows, what that shows, and what it is called."""
    got, facts = worker.call(export.runner, batch, _request(config, place, None, {}))
    hidden = [name for name in export.hides if name in expected and name not in got]
    sides = [{name: output for name, output in expected.items() if name not in hidden}, got]
    if all("logits" in side for side in sides):
        # An engine may rule these out in the logits; what it makes of them is in the tokens.
        never = list(config.suppress_ids)
        sides = [{**side, "logits": np.delete(side["logits"], never, axis=-1)} for side in sides]
    ran = _described(export.runner.split(":")[0], facts) + "".join(f"; it does not show {name}" for name in hidden)
    return sides[0], sides[1], ran


def _run(
    model: PortedModel, family: Family, format_name: str, path: Path, batch: Arrays, settings: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], str]:
    """By its own framework when that is installed, else by the oracle."""
    runner, requires = family.runner, family.requires
    backend = FORMATS[format_name].backend if format_name in FORMATS else None
    if family.name == "d2l" and backend is not None:
        runner, requires = "backends:run", entries()[backend].requires
    if runner is None or any(importlib.util.find_spec(package) is None for package in requires):
        return run_oracle(model, batch), ORACLE
    given = {name: value for name, value in settings.items() if name not in ("source_vocabulary", "target_vocabulary")}
    request = _request(model.config, path, format_name, given)
    if model.native is not None:
        tensors = {f"tensor.{name}": array for name, array in model.native.tensors.items()}
        batch = {f"batch.{name}": array for name, array in batch.items()} | tensors
        request = {**request, "native_settings": dict(model.native.settings)}
    got, facts = worker.call(runner, batch, request)
    return got, _described((backend or "") if runner == "backends:run" else runner.split(":")[0], facts)


def _request(config: TransformerConfig, path: Path, format_name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "path": str(path.resolve()),
        "format": format_name,
        "config": config.to_dict(),
        "max_steps": max_steps(config),
        "given": dict(given),
    }


def _described(name: str, facts: Mapping[str, Any]) -> str:
    return f"{name} {facts.get('version', '')}".strip() + " itself, in a process of its own"


def _read_back(model: PortedModel, target: Target, place: Path) -> PortedModel:
    """What a reader finds in the file that was written; an export is not read."""
    if target.export:
        return model
    assert target.family is not None
    if target.format is None:
        return target.family.module.read(place, {})
    if not FORMATS[target.format].writable:
        raise PortError(f"{target.title} cannot be read back.")
    native = read_native(place, target.format)
    return target.family.module.read(native, model.config.to_dict())


def _compared(
    model: PortedModel,
    result: PortedModel,
    batch: Arrays,
    source: tuple[dict[str, np.ndarray], str],
    other: tuple[dict[str, np.ndarray], str],
) -> Proof:
    (expected, source_ran), (got, result_ran) = source, other
    errors, failures = {}, []
    for name in sorted({*expected, *got} - {"tokens"}):
        if name not in expected or name not in got or expected[name].shape != got[name].shape:
            shapes = [list(side[name].shape) if name in side else "nothing" for side in (expected, got)]
            failures.append(f"{name} of the source is {shapes[0]}, of the result {shapes[1]}")
            continue
        errors[name] = relative_error(*_valid(name, batch, got[name], expected[name]))
        if not errors[name] <= LIMIT:
            failures.append(f"the error of {name} is {errors[name]:.1e}, above {LIMIT:.0e}")
    if not errors:
        failures.append("no output was compared")
    ties, differing = _token_differences(model, batch, expected, got)
    checksums, changed = _checksums(model, result)
    if changed:
        failures.append(f"{len(changed)} tensors came back different: {', '.join(changed[:5])}")
    return Proof(
        source_ran=source_ran,
        result_ran=result_ran,
        errors=errors,
        tokens=[[int(token) for token in row if token != END] for row in expected.get("tokens", [])],
        near_ties=ties,
        checksums=checksums,
        changed=changed,
        failures=(*failures, *differing),
    )


def relative_error(got: np.ndarray, reference: np.ndarray) -> float:
    """||a - r|| / max(||r||, 1e-2 sqrt(n)); NaN on either side gives NaN, which no limit admits."""
    got, reference = np.asarray(got, np.float64), np.asarray(reference, np.float64)
    floor = 1e-2 * np.sqrt(max(reference.size, 1))
    return float(np.linalg.norm(got - reference) / max(np.linalg.norm(reference), floor))


def _valid(name: str, batch: Arrays, *outputs: np.ndarray) -> list[np.ndarray]:
    """Encoder states at padding mean nothing, and foreign code may leave anything there."""
    if name != "encoder" or "source_valid_lens" not in batch:
        return list(outputs)
    valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
    return [output[valid] for output in outputs]


def _token_differences(
    model: PortedModel, batch: Arrays, expected: Arrays, got: Arrays
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rows where the greedy tokens part: at a near-tie, and at none."""
    if "tokens" not in expected and "tokens" not in got:
        return (), ()
    if "tokens" not in expected or "tokens" not in got or expected["tokens"].shape != got["tokens"].shape:
        return (), ("the greedy tokens of one side are missing or of another length",)
    ties: list[str] = []
    failures: list[str] = []
    for row in np.flatnonzero((expected["tokens"] != got["tokens"]).any(axis=1)):
        step = int(np.flatnonzero(expected["tokens"][row] != got["tokens"][row])[0])
        margin, noise = _margin(model, batch, expected, got, int(row), step)
        text = f"row {row}, step {step}: {expected['tokens'][row, step]} or {got['tokens'][row, step]}, margin {margin:.1e}"
        (ties if margin <= TIE * noise else failures).append(text)
    return tuple(ties), tuple(f"greedy tokens differ at {text}" for text in failures)


def _margin(model: PortedModel, batch: Arrays, expected: Arrays, got: Arrays, row: int, step: int) -> tuple[float, float]:
    """How far the oracle's two best tokens lie apart after the tokens that both sides chose, and the logits' error."""
    prefix = [model.config.start_id, *expected["tokens"][row, :step].tolist()]
    one = {name: array[row : row + 1] for name, array in batch.items()}
    oracle = run_oracle(model, {**one, "target": np.array([prefix], np.int64)})
    allowed = np.delete(oracle["logits"][0, -1], list(model.config.suppress_ids))
    best = np.sort(allowed)[-2:]
    noise = float(np.abs(np.asarray(expected["logits"], np.float64) - got["logits"]).max())
    return float(best[1] - best[0]), noise


def checksum(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes() + str((array.dtype, array.shape)).encode()).hexdigest()[:16]


def _checksums(model: PortedModel, result: PortedModel) -> tuple[dict[str, str], tuple[str, ...]]:
    """Weights, and the optimizer's state as far as the result holds it."""
    before = {name: checksum(array) for name, array in model.weights.items()}
    after = {name: checksum(array) for name, array in result.weights.items()}
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if model.optimizer is not None and result.optimizer is not None:
        changed += [
            f"optimizer {name}"
            for name in {**model.optimizer, **result.optimizer}
            if name not in model.optimizer
            or name not in result.optimizer
            or checksum(model.optimizer[name]) != checksum(result.optimizer[name])
        ]
    return before, tuple(changed)
