"""``transformer-mb check``: a port judged where it cannot reach the judge, and the certificate of what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .. import options
from ..options import argument, option
from ..reporting import say

NAME = "check"
SHOWN = 8  # lines, or names, of a kind
PORT = "The file that names both sides, their weights and inputs."
CERTIFICATE = "Write the certificate here, which --verify runs again; only of a port that is certified."


def command(
    port: Annotated[Path | None, argument("PORT.py", PORT)] = None,
    json_text: Annotated[bool, option("--json", "Print all that was found as JSON.")] = False,
    certificate_file: Annotated[Path | None, option("--certificate", CERTIFICATE)] = None,
    verified: Annotated[Path | None, option("--verify", "Judge again the port that a certificate names.")] = None,
    report: options.Report = None,
    force: options.Force = False,
) -> None:
    """Judge whether a port computes what its original computes; exit status 0 only if it is certified."""
    import typer

    from ...errors import ConfigError
    from ...judge.certificate import certificate, verify
    from ...judge.judging import judge
    from ...reports.output import Output
    from ...reports.page.checked import certificate_section

    if (port is None) == (verified is None):
        raise ConfigError("check must be given either PORT.py or --verify FILE, got both or neither of them.")
    output = Output(certificate_file, force=force, report=report)
    output.check(port, verified)
    if port is not None:
        judgement, wrong = judge(port), list[str]()
    else:
        assert verified is not None
        judgement, wrong = verify(verified)
    content = certificate(judgement)
    _show(content, wrong, json_text)
    holds = judgement.certified and not wrong
    shown = {**content, "certified": holds, "reasons": wrong or content["reasons"]}
    output = output if holds else output._replace(json_file=None)
    output.write(content, sections=lambda: [certificate_section(shown)])
    raise typer.Exit(0 if holds else 1)


def _show(content: dict[str, Any], wrong: list[str], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps({**content, **({"verification": wrong} if wrong else {})}, indent=2))
        return
    from ...printable import printable

    reasons, figures, planted = wrong or content["reasons"], content["figures"], content["planted"]
    head = f"{content['candidate']['subject']} against {content['reference']['subject']}"
    lines = [f"{'NOT CERTIFIED' if reasons else 'certified'}: {head}", *(f"  {line}" for line in content["tree"])]
    for dtype in dict.fromkeys(one["dtype"] for one in figures if one["passed"]):
        rows = [one for one in figures if one["dtype"] == dtype and one["passed"]]
        lines.append(f"  {dtype}: {len(rows)} arrays agree, the nearest to its limit: {_nearest(rows)}")
    if planted:
        lines.append(f"  {sum(one['status'] == 'caught' for one in planted)} of {len(planted)} planted mistakes were noticed")
        lines += [f"  not noticed, {why}: {_few(what)}" for why, what in _unnoticed(planted) if what]
    lines += [*(f"  wrong: {reason}" for reason in reasons[:SHOWN])]
    lines += [f"  and {len(reasons) - SHOWN} more, which --json lists"] if len(reasons) > SHOWN else []
    say(*map(printable, [*lines, *(f"  note: {note}" for note in content["notes"])]))


def _unnoticed(planted: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return why mistakes were not noticed, and which."""
    reasons = {"blind": "which the comparison is blind to", "no effect": "since it changes no answer of either side"}
    return [(why, [one["what"] for one in planted if one["status"] == status]) for status, why in reasons.items()]


def _few(names: list[str]) -> str:
    return "; ".join([*names[:SHOWN], *([f"{len(names) - SHOWN} more"] if len(names) > SHOWN else [])])


def _nearest(rows: list[dict[str, Any]]) -> str:
    one = sorted(rows, key=lambda row: (row["error"] or 0.0) / (row["limit"] or 1.0))[-1]
    return f"{one['part']}, {one['reason']}"
