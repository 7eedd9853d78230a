"""The proof: source and result run on the same padded batch, and every tensor is read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...printable import counted
from ..exports.ctranslate2 import adds_source_eos
from ..families import FAMILIES
from ..files.sources import Source
from ..files.targets import Target
from ..loading import loading_of
from ..model import Arrays, PortedModel
from ..origins import fields_on_trust
from . import agreement, d2l_classes
from .compared_part import finite_part
from .expected_outputs import Expected, Met, held_against
from .greedy_tokens import token_differences
from .probe import END, probe_batch
from .read_back import Comparison, compared_export, compared_file, read_back
from .running import run_export, run_result, run_source

LIMIT = 1e-5  # of an output's error in float32, see ``agreement``


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What was compared.

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


def prove(source: Source, target: Target, place: Path, settings: Mapping[str, Any], expected: Expected | None = None) -> Proof:
    """Run both sides and compare; the result is what was written at ``place``. ``expected``: outputs that the user brought."""
    proof = _proof(source, target, place, settings)
    # D2L's own classes have these from nobody's settings.
    fixed = (*d2l_classes.FIXED, "norm_eps") if proof.source_ran.startswith("d2l ") else ()
    on_trust = fields_on_trust(source.model, source.native, settings, fixed)
    met = None if expected is None else held_against(expected, source.model, on_trust)
    on_trust = tuple(name for name in on_trust if met is None or name not in met.borne_out)
    return replace(proof, on_trust=on_trust, expected=met, failures=(*proof.failures, *(met.failures if met else ())))


def _proof(source: Source, target: Target, place: Path, settings: Mapping[str, Any]) -> Proof:
    model = source.model
    ended = target.name == "ctranslate2" and adds_source_eos(model)
    batch = probe_batch(model.config, ended=ended)
    expected, source_ran = run_source(model, FAMILIES[source.family], source.native, batch, settings)
    if target.family.kind == "export":
        got, result_ran = run_export(model.config, target.family, place, batch)
        hidden = [name for name in target.family.hides if name in expected and name not in got]
        # An engine may rule these out in the logits; what it makes of them is in the tokens.
        expected, got = (_without(side, hidden, model.config.suppress_ids) for side in (expected, got))
        result_ran += "".join(f"; it does not show {name}" for name in hidden)
        comparison = compared_export(model, target.family, place)
    else:
        result, native = read_back(target, place)
        lines = loading_of(model, target, settings, place.resolve(), optimizer=False).lines
        got, result_ran = run_result(result, native, target.family, target.format, place, batch, lines)
        comparison = compared_file(model, result, target)
    return _compared(model, batch, (expected, source_ran), (got, result_ran), comparison)


def _without(outputs: Arrays, hidden: list[str], never: tuple[int, ...]) -> dict[str, np.ndarray]:
    kept = {name: output for name, output in outputs.items() if name not in hidden}
    return {**kept, "logits": np.delete(kept["logits"], list(never), axis=-1)} if "logits" in kept else kept


def _compared(
    model: PortedModel,
    batch: Arrays,
    source: tuple[dict[str, np.ndarray], str],
    other: tuple[dict[str, np.ndarray], str],
    comparison: Comparison,
) -> Proof:
    (expected, source_ran), (got, result_ran) = source, other
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
    if comparison.changed:
        listed = ", ".join(comparison.changed[:5])
        failures.append(f"{counted(len(comparison.changed), 'tensor')} read back different: {listed}")
    return Proof(
        source_ran=source_ran,
        result_ran=result_ran,
        errors=errors,
        tokens=[[int(token) for token in row if token != END] for row in expected.get("tokens", [])],
        near_ties=ties,
        checksums=comparison.checksums,
        changed=comparison.changed,
        failures=(*failures, *comparison.failures, *differing),
    )
