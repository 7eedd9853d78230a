"""Checks of other people's layers, and certificates of them, as a tab of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...printable import counted
from .section import Section

SENTENCES = {
    "passed": "computes the same as",
    "different": "differs from",
    "blind": "is not shown to be the same, since planted mistakes went unnoticed, as",
    "refused": "is not certified to compute the same as",
    "broken": "is not shown to be the same, since a change that cannot matter was called a mistake, as",
}


class Checked(TypedDict):
    """The fields that are read of a check; it holds more."""

    verdict: str
    reference: str
    candidate: str
    draws: int
    figures: list[Any]
    planted: list[Any]
    notes: list[str]
    processes: dict[str, Any]
    seconds: float | None


class Figure(TypedDict):
    """The worst of an array in a dtype; error and limit are null where they are no numbers."""

    part: str
    dtype: str
    passed: bool
    error: float | None
    limit: float | None
    reason: str


class Plant(TypedDict):
    """A planted mistake and its fate."""

    what: str
    status: str


class Certificate(TypedDict):
    """The fields that are read of a certificate; it holds more."""

    certified: bool
    reasons: list[str]
    notes: list[str]
    reference: dict[str, Any]
    candidate: dict[str, Any]
    processes: Any
    tree: list[str]
    seeds: list[Any]
    figures: list[Any]
    planted: list[Any]


def certificate_section(content: Any) -> Section:
    """Return the tab of a port that was judged, certified or not. Raises ValueError for a record that is none."""
    check_record(Certificate, content, "the file", others=True)
    processes = content["processes"]
    return check_section(
        {
            **{name: content[name] for name in ("figures", "planted")},
            "verdict": "passed" if content["certified"] else "refused",
            **{role: str(content[role].get("subject")) for role in ("reference", "candidate")},
            "draws": len(content["seeds"]),
            "notes": [*(f"✗ {reason}" for reason in content["reasons"]), *content["notes"]],
            "processes": processes if isinstance(processes, dict) else {},
            "seconds": None,
            "tree": content["tree"],
        }
    )


class Compared(TypedDict):
    """The fields that are read of a comparison that a test has run; it holds more."""

    test: str
    name: str
    verdict: str
    report: dict[str, Any]


def comparisons_section(rows: Any) -> Section:
    """Return the tab of what ``pytest --parity-report`` gathered. Raises ValueError for a record that is none."""
    listed = []
    for number, row in enumerate(rows, 1):
        check_record(Compared, row, f"comparison {number}", others=True)
        one = check_section(row["report"])
        listed.append(
            {"test": row["test"], "name": row["name"], "sentence": one.sentence, "holds": one.holds, "data": one.data}
        )
    wrong = sum(not one["holds"] for one in listed)
    return Section(
        kind="checks",
        title="Comparisons",
        sentence=f"{counted(len(listed), 'comparison')}, {wrong} did not pass.",
        holds=bool(listed) and not wrong,
        data={"checks": sorted(listed, key=lambda one: bool(one["holds"]))},
    )


def check_section(content: Any) -> Section:
    """Return the tab of what ``Report.to_dict`` of a check holds. Raises ValueError for a record that is none."""
    check_record(Checked, content, "the file", others=True)
    for number, one in enumerate(content["figures"], 1):
        check_record(Figure, one, f"figure {number}", others=True)
    for number, one in enumerate(content["planted"], 1):
        check_record(Plant, one, f"planted mistake {number}", others=True)
    counts = [sum(one["status"] == status for one in content["planted"]) for status in ("caught", "blind")]
    words = SENTENCES.get(content["verdict"], "is compared with")
    caught = f"; {counts[0]} of {counted(sum(counts), 'planted mistake')} were caught" if sum(counts) else ""
    told = f"{content['candidate']} {words} {content['reference']}, in {counted(content['draws'], 'draw')}{caught}."
    return Section(
        kind="check",
        title="Check",
        sentence=told,
        holds=content["verdict"] == "passed",
        facts={role.capitalize(): _process(greeting) for role, greeting in content["processes"].items()}
        | ({"Took": f"{content['seconds']:.1f} s"} if content["seconds"] is not None else {}),
        data={"figures": content["figures"], "planted": content["planted"], "notes": content["notes"], "tree": _tree(content)},
    )


def _process(greeting: Any) -> str:
    if not isinstance(greeting, dict):
        return str(greeting)
    return ", ".join(f"{name} {value}" for name, value in greeting.items() if isinstance(value, str | int | float))


def _tree(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the lines of the modules, how deep each lies, and where the first is wrong by itself; of text the text."""
    tree = content.get("tree")
    if isinstance(tree, list) and tree:
        return {"text": "\n".join(map(str, tree))}
    if not isinstance(tree, dict):
        return None
    lines = []
    for node in tree["nodes"]:
        own = [f"{name} {one['reason']}" for name in ("forward", "backward") if (one := node.get(name))]
        wrong = any((one := node.get(name)) and not one["passed"] for name in ("forward", "backward"))
        depth = node["reference"].count(".") + 1 if node["reference"] else 0
        own += [f"inherited {node['inherited']:.1e}"] if node.get("inherited") is not None else []
        name = node["reference"] or "the whole"
        lines.append({"depth": depth, "name": name, "text": "; ".join(own), "wrong": wrong})
    return {"first": tree.get("first"), "course": tree.get("course") or "", "lines": lines}
