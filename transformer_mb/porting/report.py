"""The report of a port: where from and to, the proof's figures, and what stayed behind."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..printable import counted
from .kinds import Loading
from .origins import Origins, origin_lines
from .proof.agreement import LIMIT
from .proof.proving import Proof


@dataclass(frozen=True, kw_only=True)
class PortReport:
    """``source_kind`` and ``kind`` name format and family; ``loading`` says what the result is for and the lines that load it
    there; ``origins`` as in ``origins``; ``notes`` are one sentence each."""

    source: Path
    destination: Path
    source_kind: str
    kind: str
    tensors: int
    numbers: int
    optimizer: bool
    loading: Loading
    origins: Origins
    notes: tuple[str, ...]
    proof: Proof

    @property
    def holds(self) -> bool:
        return not self.proof.failures

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "source": str(self.source), "destination": str(self.destination), "holds": self.holds}

    def _verdict(self) -> str:
        """Write the verdict; what it rests on comes first."""
        if not self.holds or not self.proof.on_trust:
            return "holds" if self.holds else "fails"
        count = len(self.proof.on_trust)
        fields = f"{count} field{'s' if count > 1 else ''} taken on trust: {', '.join(self.proof.on_trust)}"
        return f"holds for what the file shows; {fields}"

    def lines(self, verbose: bool = False) -> list[str]:
        """Write for people what was done, what the proof found, and what is taken on trust or stayed behind.

        ``verbose`` adds the checksum of each tensor, the greedy tokens and the fields that the source records.
        """
        proof = self.proof
        state = "with" if self.optimizer else "without"
        errors = ", ".join(f"{name} {error:.1e}" for name, error in proof.errors.items())
        ties = f", but for {counted(len(proof.near_ties), 'near-tie')}" if proof.near_ties else ""
        tokens = f"; greedy tokens of {counted(len(proof.tokens), 'sentence')} the same{ties}" if proof.tokens else ""
        lines = [
            f"{self.source} ({self.source_kind}) -> {self.destination} ({self.kind})",
            f"{counted(self.tensors, 'tensor')}, {counted(self.numbers, 'number')}, {state} the optimizer's state; "
            "read back bit for bit",
            f"source run by {proof.source_ran}; result run by {proof.result_ran}",
            f"proof {self._verdict()}: error of {errors} (at most {LIMIT:.0e}){tokens}",
        ]
        if proof.expected is not None:
            errors = ", ".join(f"{name} {error:.1e}" for name, error in proof.expected.errors.items())
            fields = ", ".join(proof.expected.borne_out) or "no field that was on trust"
            lines.append(f"outputs of {proof.expected.name}: error of {errors} (at most {LIMIT:.0e}); they bear out {fields}")
        lines += [f"near-tie, {tie}" for tie in proof.near_ties]
        if verbose:
            lines += [f"{checksum} {name}" for name, checksum in proof.checksums.items()]
            lines += [f"greedy tokens: {' '.join(map(str, row))}" for row in proof.tokens]
        borne_out = proof.expected.borne_out if proof.expected else ()
        rest = {origin: {n: v for n, v in fields.items() if n not in borne_out} for origin, fields in self.origins.items()}
        lines += origin_lines(rest, verbose, proved=True)
        lines += [
            f"for {self.loading.into}{':' if self.loading.lines else ''}",
            *(f"    {line}" for line in self.loading.lines),
        ]
        return [*lines, *(f"note: {note}" for note in self.notes)]
