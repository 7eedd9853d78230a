"""Writes the tables of docs/MULTI30K.md and draws docs/multi30k.png, of what benchmarks/multi30k*.py measured."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from program import fill

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "MULTI30K.md"
REFERENCE = "numpy float64"
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def named(direction):
    return " to ".join(LANGUAGES[side] for side in direction.split("-"))


def table(head, rows):
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, ["---"] * len(head), *rows))


def directions_table(directions):
    head = ("direction", "minutes of training", "target tokens/s", "BLEU", "chrF", "BLEU of lowercased Moses tokens")
    rows = []
    for name, one in directions.items():
        of = one["scores"][REFERENCE]
        figures = of["bleu"]["value"], of["chrf"]["value"], of["bleu of lowercased Moses tokens"]
        rows.append((named(name), round(one["seconds_of_training"] / 60), f"{one['target_tokens_per_second']:,}", *figures))
    signatures = next(iter(directions.values()))["scores"][REFERENCE]
    return table(head, rows) + f"\nBLEU is `{signatures['bleu']['signature']}`, chrF `{signatures['chrf']['signature']}`.\n"


def backends_table(directions):
    head = ("direction", "backend", "BLEU", "identical lines", "others", "of them near-ties", "seconds")
    rows = []
    for name, one in directions.items():
        for backend, own in one["decoding"].items():
            others = own["differing_lines"]
            ties = sum(line["near_tie"] for line in others)
            figures = one["scores"][backend]["bleu"]["value"], f"{own['identical_lines']:.1%}", len(others), ties
            rows.append((named(name), backend, *figures, own["seconds"][-1]))
    return table(head, rows)


def follow_table(follow):
    steps = list(next(iter(follow.values())))
    rows = [("torch", *(f"{next(iter(follow.values()))[step][0]:.4f}" for step in steps))]
    for name, losses in follow.items():
        rows.append((name, *(f"{own:.4f} ({own / reference - 1:+.2%})" for reference, own in losses.values())))
    return table(("backend", *(f"step {step}" for step in steps)), rows)


def change_table(change):
    """Write a row per way, and per training that was elsewhere what seeds alone make of the means (Student's t, 5 %)."""
    of = change["last_validation_loss"]
    seeds, stayed = list(of["torch"]), list(of["torch"].values())
    rows, sentences = [], []
    for name, losses in of.items():
        way = name if name == "torch" else f"torch, {name}, torch"
        values = list(losses.values())
        spread = statistics.mean(values), statistics.stdev(values)
        rows.append((way, *(f"{one:.4f}" for one in (*values, *spread))))
        if name != "torch":
            apart, noise = statistics.mean(values) - statistics.mean(stayed), seed_noise(stayed, values)
            words = f"With {name} in the middle the mean differs by {apart:+.4f}"
            sentences.append(f"\n{words}. Seeds alone make it differ by up to {noise:.4f} (Student's t, 95 %).\n")
    head = ("trained in", *(f"seed {seed}" for seed in seeds), "mean", "standard deviation")
    return table(head, rows) + "".join(sentences)


def seed_noise(first, second):
    """Return how far the means of two samples of one distribution are apart at most, but for one time in twenty."""
    from scipy.stats import t

    freedom = len(first) + len(second) - 2
    squares = (len(first) - 1) * statistics.variance(first) + (len(second) - 1) * statistics.variance(second)
    return float(t.ppf(0.975, freedom)) * (squares / freedom * (1 / len(first) + 1 / len(second))) ** 0.5


def draw(directions, picture):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, one in directions.items():
        steps, losses, bleus, _ = zip(*one["validations"], strict=True)
        left.plot(steps, losses, marker=".", label=named(name))
        right.plot(steps, bleus, marker=".", label=named(name))
    left.set(xlabel="step", ylabel="validation loss")
    right.set(xlabel="step", ylabel="BLEU of the validation, greedy")
    for axes in (left, right):
        axes.grid(color="0.9")
    right.legend(frameon=False)
    FigureCanvasAgg(figure)
    figure.savefig(picture, dpi=100)


def tables():
    """Return the tables, by the name of their comments."""
    directions = json.loads((RESULTS / "multi30k.json").read_text(encoding="utf-8"))["directions"]
    frameworks = RESULTS / "multi30k_frameworks.json"
    elsewhere = json.loads(frameworks.read_text(encoding="utf-8")) if frameworks.exists() else {}
    makers = {"follow": follow_table, "change": change_table}
    made = {name: make(elsewhere[name]) for name, make in makers.items() if name in elsewhere}
    return {"directions": directions_table(directions), "backends": backends_table(directions), **made}, directions


if __name__ == "__main__":
    made, directions = tables()
    for name, text in made.items():
        fill(PAGE, name, text)
    draw(directions, ROOT / "docs" / "multi30k.png")
