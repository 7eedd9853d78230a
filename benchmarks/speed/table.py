"""The rows as a Markdown table."""

from __future__ import annotations

from transformer_mb.reports.targets import interval, verdict, verdicts_in_words

HEADING = (
    "| work | ours | tokens/s | MiB | peer | tokens/s | MiB | ratio (interval) | target |",
    "|---|---|---|---|---|---|---|---|---|",
)


def table(rows, heading=True):
    if heading:
        yield from HEADING
    for row in rows:
        if "failed" in row:
            yield f"| {row['title']} | {row['ours']} | {row['failed'][:200]} | | {row['peer']} | | | | {target(row)} |"
            continue
        ours, peer = row["ours_measured"], row["peer_measured"]
        sides = f"{row['ours']} | {side(ours)} | {named(row)} | {side(peer)}"
        yield f"| {row['title']} | {sides} | {ratio(row)} | {target(row)} |"


def page(rows):
    """The table, and the count of targets below it."""
    return "\n".join([*table(rows), "", targets(rows), ""])


def side(measured):
    return f"{measured['tokens_per_s'][0]:,.0f} | {measured['memory_MiB']:,}"


def named(row):
    name, *words = row["peer"].split()
    words = [word.partition("=")[2] if word.startswith(("framework", "backend")) else word for word in words]
    return " ".join([name, *words])


def ratio(row):
    """The median with its interval; and how much of it was measured while something else used the processors."""
    measured, other = row["ours_measured"], row.get("disturbance", {})
    low, high = interval(measured, "ratio")
    ends = f"{measured['ratio'][0]:.2f} ({low:.2f} to {high:.2f})"
    kept = other.get("kept_disturbed")
    return f"{ends}, {kept} of {measured['rounds']} rounds disturbed" if kept else ends


def target(row):
    products = row.get("of") == "products"
    if "target" not in row:
        return f"{row['share']:.0%} of the rate of products" if "share" in row else ""
    words = f"{row['target']:.0%} of the rate of products" if products else f"{row['target']:,} {row.get('of', '')}".strip()
    if "failed" in row:
        return words
    figure = f", {row['share']:.0%}" if products else ""
    return f"{words}: {verdict(row)}{figure}"


def targets(rows):
    """The sentence that counts them, for pages."""
    return f"{verdicts_in_words(list(map(verdict, rows)))}."
