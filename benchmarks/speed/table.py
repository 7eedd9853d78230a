"""The rows as a Markdown table."""

from __future__ import annotations

HEADING = (
    "| work | ours | tokens/s | MiB | peer | tokens/s | MiB | ratio (lowest to highest) | target |",
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
        ratio, lowest, highest = ours["ratio"]
        sides = f"{row['ours']} | {side(ours)} | {named(row)} | {side(peer)}"
        yield f"| {row['title']} | {sides} | {ratio:.2f} ({lowest:.2f} to {highest:.2f}) | {target(row)} |"


def side(measured):
    return f"{measured['tokens_per_s'][0]:,.0f} | {measured['memory_MiB']:,}"


def named(row):
    name, *words = row["peer"].split()
    words = [word.partition("=")[2] if word.startswith(("framework", "backend")) else word for word in words]
    return " ".join([name, *words])


def reached(row):
    """The figure that the row's target is about: a ratio, tokens per second, or a fraction of the rate of products."""
    measured = row["ours_measured"]
    return {"tokens/s": measured["tokens_per_s"][0], "products": row.get("share")}.get(row.get("of"), measured["ratio"][0])


def target(row):
    products = row.get("of") == "products"
    if "target" not in row:
        return f"{row['share']:.0%} of the rate of products" if "share" in row else ""
    words = f"{row['target']:.0%} of the rate of products" if products else f"{row['target']:,} {row.get('of', '')}".strip()
    if "failed" in row:
        return words
    figure = f", {row['share']:.0%}" if products else ""
    return f"{words}: {'met' if reached(row) >= row['target'] else 'missed'}{figure}"
