"""The proof: source and result run on the same padded batch, and every tensor is read back and compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...files.tensors import digest
from ...printable import counted
from ..files.sources import Source, read_file
from ..files.targets import Target, fields_at
from ..kinds import Family, Loading, Settings
from ..model import Arrays, NativeFile, PortedModel
from ..origins import fields_on_trust
from ..settings import FIELDS
from . import agreement
from .agreement import LIMIT, finite_part, token_differences
from .expected_outputs import Expected, Met, held_against
from .probe import END, HEAD, probe_batch
from .running import Ran, run_export, run_result, run_source


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """The checksum of each tensor read back; names of those that did not, or not the same; what else is wrong."""

    checksums: dict[str, str]
    changed: tuple[str, ...]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of a comparison.

    Attributes:
        source_ran, result_ran: what computed each side.
        errors: by output, see ``agreement``.
        tokens: the source's greedy ids, row by row. near_ties: rows where the result chose another token at a tie.
        checksums: SHA-256 (16 digits) of each tensor in canonical layout, of those that were read back.
        changed: tensors read back different. failures: why it does not hold; empty when it does.
        on_trust: fields that the outputs depend on, that no tensor shows and that nothing which ran bears out.
        expected: what became of the outputs that the user brought.
    """

    source_ran: str
    result_ran: str
    errors: Mapping[str, float]
    tokens: list[list[int]]
    near_ties: tuple[str, ...]
    checksums: Mapping[str, str]
    changed: tuple[str, ...]
    failures: tuple[str, ...]
    on_trust: tuple[str, ...] = ()
    expected: Met | None = None


def prove(
    source: Source, target: Target, place: Path, settings: Settings, loading: Loading, expected: Expected | None = None
) -> Proof:
    """Run both sides and compare; the result is what was written at ``place``, and loaded by the lines of ``loading``.

    ``expected``: outputs that the user brought.
    """
    proof, fixed = _proof(source, target, place, settings, loading)
    on_trust = fields_on_trust(source.model, source.native, settings, fixed)
    met = None if expected is None else held_against(expected, source.model, on_trust)
    on_trust = tuple(name for name in on_trust if met is None or name not in met.borne_out)
    return replace(proof, on_trust=on_trust, expected=met, failures=(*proof.failures, *(met.failures if met else ())))


def _proof(source: Source, target: Target, place: Path, settings: Settings, loading: Loading) -> tuple[Proof, tuple[str, ...]]:
    """Return the proof, and the fields that whatever ran the source has without any settings."""
    model, family = source.model, target.family
    batch = probe_batch(model.config, ended=family.ends_sources(model))
    of_source = run_source(model, source.family, source.native, batch, settings)
    if family.kind == "export":
        of_result = run_export(model.config, family, place, batch)
        hidden = [name for name in family.hides if name in of_source.outputs and name not in of_result.outputs]
        # An engine may rule these out in the logits; what it makes of them is in the tokens.
        of_source, of_result = (
            ran._replace(outputs=_without(ran.outputs, hidden, model.config.suppress_ids)) for ran in (of_source, of_result)
        )
        of_result = of_result._replace(by=of_result.by + "".join(f"; it does not show {name}" for name in hidden))
        stored = compared_export(model, family, place)
    else:
        result, native = read_back(target, place)
        lines = loading.at(fields_at(place.resolve(), model, target), optimizer=False).lines
        of_result = run_result(result, native, target, place, batch, lines)
        stored = compared_file(model, result, target)
    if not family.holds_heads(model):
        of_source = of_source._replace(outputs={n: a for n, a in of_source.outputs.items() if not n.startswith(HEAD)})
    return _compared(model, batch, of_source, of_result, stored), of_source.fixed


def _without(outputs: Arrays, hidden: list[str], never: tuple[int, ...]) -> dict[str, np.ndarray]:
    kept = {name: output for name, output in outputs.items() if name not in hidden}
    return {**kept, "logits": np.delete(kept["logits"], list(never), axis=-1)} if "logits" in kept else kept


def _compared(model: PortedModel, batch: Arrays, source: Ran, result: Ran, stored: ReadBack) -> Proof:
    expected, got = source.outputs, result.outputs
    errors, failures = {}, []
    for name in sorted({*expected, *got} - {"tokens"}):
        if name not in expected or name not in got or expected[name].shape != got[name].shape:
            shapes = [list(side[name].shape) if name in side else "nothing" for side in (expected, got)]
            failures.append(f"{name} of the source is {shapes[0]}, of the result {shapes[1]}")
            continue
        sides, sentences = finite_part(name, batch, model.config.suppress_ids, got[name], expected[name])
        odd = {whose: agreement.not_finite(side) for whose, side in zip(("result", "source"), sides, strict=True)}
        failures += [
            f"{name} of the {whose} holds {counted(count, 'number that is', 'numbers that are')} not finite"
            for whose, count in odd.items()
            if count
        ]
        if any(odd.values()):
            continue
        errors[name] = agreement.error(sides[0], sides[1], sentences)
        if not errors[name] <= LIMIT:
            failures.append(f"the error of {name} is {errors[name]:.1e}, above {LIMIT:.0e}")
    if not errors:
        failures.append("no output was compared")
    ties, differing = token_differences(model, batch, expected, got)
    if stored.changed:
        listed = ", ".join(stored.changed[:5])
        failures.append(f"{counted(len(stored.changed), 'tensor')} read back different: {listed}")
    return Proof(
        source_ran=source.by,
        result_ran=result.by,
        errors=errors,
        tokens=[[int(token) for token in row if token != END] for row in expected.get("tokens", [])],
        near_ties=ties,
        checksums=stored.checksums,
        changed=stored.changed,
        failures=(*failures, *stored.failures, *differing),
    )


def read_back(target: Target, place: Path) -> tuple[PortedModel, NativeFile | None]:
    """Read the file there, without settings: the configuration too must come from what was written; and the tensors."""
    if target.format is None:
        model = target.family.read(place, {})
        return model, model.native
    native = read_file(place, target.format.name)
    return target.family.read(native, {}), native


def compared_file(model: PortedModel, result: PortedModel, target: Target) -> ReadBack:
    """Weights, and the optimizer's state as far as the result holds it; and what a file or checkpoint of ours records."""
    checksums, changed = _checksums(model.weights, result.weights)
    if target.family.holds_heads(model):
        heads = [{name: array for head in one.heads for name, array in head.tensors.items()} for one in (model, result)]
        changed += [f"head {name}" for name in _checksums(*heads)[1]]
    if model.optimizer is not None and result.optimizer is not None:
        changed += [f"optimizer {name}" for name in _checksums(model.optimizer, result.optimizer)[1]]
    failures = []
    if target.format is not None or target.family.records:
        other = [name for name in FIELDS if getattr(model.config, name) != getattr(result.config, name)]
        failures = [f"the configuration read back is different: {', '.join(other)}"] if other else []
    return ReadBack(checksums=checksums, changed=tuple(changed), failures=tuple(failures))


def compared_export(model: PortedModel, export: Family, place: Path) -> ReadBack:
    """Engines compute in float32, and so it is stored; what a file holds beyond the weights must be explained."""
    weights = {name: np.asarray(array, np.float32) for name, array in model.weights.items()}
    stored, unexplained = export.read_back(model, place)
    checksums, changed = _checksums(weights, stored)
    what = counted(len(unexplained), "stored tensor is", "stored tensors are")
    failures = (f"{what} not of the model: {', '.join(unexplained[:5])}",) if unexplained else ()
    return ReadBack(checksums=checksums, changed=tuple(changed), failures=failures)


def checksum(array: np.ndarray) -> str:
    return digest({"": array}).hex()[:16]


def _checksums(before: Arrays, after: Arrays) -> tuple[dict[str, str], list[str]]:
    wanted = {name: checksum(array) for name, array in before.items()}
    got = {name: checksum(array) for name, array in after.items()}
    return got, [name for name in {**wanted, **got} if wanted.get(name) != got.get(name)]
