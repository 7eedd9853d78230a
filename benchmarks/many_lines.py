"""A million short lines translated by two nodes of Ray on this machine, of which one leaves, and whose command is killed.

    python benchmarks/many_lines.py [--lines 1000000] [--folder FOLDER] [--json FILE] [--page FILE]
    python benchmarks/many_lines.py --measured FILE --page FILE

A small model is trained on the built-in corpus, and lines are drawn from its sentences. First 10,000 of them are translated
undisturbed, whose memory is the measure. Then all: a node is removed once a fifth of the shards is done, the command is killed
once two fifths are, and started again. At the end every line is compared with the translation of its sentence alone. Memory is
the most that a process had (VmHWM), by what it does, looked at five times a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from program import fill, keep, machine, program

YARDSTICK, EPOCHS, SEED = 10_000, 8, 0
MODEL = ("--num-hiddens", "16", "--ffn-num-hiddens", "32", "--num-layers", "1", "--num-heads", "2", "--learning-rate", "0.01")
NODE_LEAVES, COMMAND_ENDS = 0.2, 0.4  # of the shards
ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0f" * 32,
    "RAY_worker_niceness": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
COMMAND = [sys.executable, "-m", "transformer_mb"]


class Peaks(threading.Thread):
    """The most memory of processes: the command, the shards (whose parents are Ray's workers), and these workers, in MiB."""

    def __init__(self):
        super().__init__(daemon=True)
        self.command, self.most, self.ended = None, {}, threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            self.look()

    def look(self):
        told = {int(one.name): read(one) for one in Path("/proc").glob("[0-9]*")}
        for number, (parent, name, peak) in told.items():
            if number == self.command:
                self.note("command", peak)
            elif name.startswith("ray::"):
                self.note("Ray's worker", peak)
            elif told.get(parent, (0, "", 0))[1].startswith("ray::"):
                self.note("shard", peak)

    def note(self, kind, peak):
        self.most[kind] = max(self.most.get(kind, 0), peak)


def read(process):
    """The parent, the command line and the peak of memory in MiB of a process, which may have ended."""
    try:
        fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return int(fields["PPid"]), (process / "cmdline").read_text(), int(fields.get("VmHWM", "0").split()[0]) / 1024
    except (OSError, ValueError, KeyError):
        return 0, "", 0


def drawn(folder, count):
    """Write the lines; returns their file and the sentences that they are drawn from."""
    import numpy as np

    from transformer_mb.data import demo_pairs

    sentences = [source for source, _ in demo_pairs()[0]]
    path = folder / f"{count}.txt"
    with path.open("w", encoding="utf-8") as file:
        for number in np.random.default_rng(SEED).integers(0, len(sentences), count):
            file.write(f"{sentences[number]}\n")
    return path, sentences


def trained(folder):
    from transformer_mb.data import demo_pairs

    data = folder / "pairs.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in demo_pairs()[0]), encoding="utf-8")
    given = ("--data", data, *MODEL, "--epochs", str(EPOCHS), "--out", folder / "model")
    subprocess.run([*COMMAND, "train", *given], check=True, stdout=subprocess.DEVNULL)
    return folder / "model"


def done(out):
    return len(list((out / "units").glob("*.json")))


def until(process, holds):
    """Wait until something holds; raises RuntimeError where the process ends before that."""
    while not holds():
        if process.poll() is not None:
            raise RuntimeError(f"The command ended early, with status {process.returncode}.")
        time.sleep(0.05)


def translated(folder, model, count, disturbed):
    """Translate so many lines on a new cluster; returns what was seen, and the file of the translations."""
    from ray.cluster_utils import Cluster

    from transformer_mb.units.on_ray import same_handler

    path, sentences = drawn(folder, count)
    out, peaks, cluster = folder / f"out{count}", Peaks(), Cluster()
    with same_handler():
        cluster.add_node(num_cpus=0, include_dashboard=False)
        cluster.add_node(num_cpus=1)
        leaving = cluster.add_node(num_cpus=1)
    command = [*COMMAND, "translate", model, "--data", path, "--out", out, "--on", "ray", "--address", cluster.address]
    start, before = time.perf_counter(), 0

    def begun():
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        peaks.command = process.pid
        threading.Thread(target=lambda: told.extend(process.stderr), daemon=True).start()
        return process

    told = []
    peaks.start()
    try:
        process = begun()
        if disturbed:
            until(process, lambda: bool(told))
            planned = len(list((out / "planned").glob("*.json")))
            until(process, lambda: done(out) >= NODE_LEAVES * planned)
            cluster.remove_node(leaving, allow_graceful=False)  # at once, or it may end its shard first
            until(process, lambda: done(out) >= COMMAND_ENDS * planned)
            process.kill()
            process.wait()
            before = done(out)
            process = begun()
        if process.wait():
            raise RuntimeError("".join(told))
    finally:
        cluster.shutdown()
        peaks.ended.set()
    seconds, result = time.perf_counter() - start, folder / f"{count}.translated"
    collecting = subprocess.Popen([*COMMAND, "translate", "--collect", out, "--output", result])
    peaks.command, peaks.most["command, collecting"] = None, 0
    while collecting.poll() is None:
        peaks.note("command, collecting", read(Path("/proc") / str(collecting.pid))[2])
        time.sleep(0.005)
    if collecting.returncode:
        raise RuntimeError("--collect failed.")
    return {
        "seconds": round(seconds),
        "lines_per_second": round(count / seconds),
        "shards": done(out),
        "done_before_the_command_was_killed": before,
        "lost_with_the_node": sum(": lost: " in line for line in told),
        "mib": {kind: round(most, 1) for kind, most in sorted(peaks.most.items())},
        "lines_as_alone": compared(path, result, alone(model, sentences)),
    }


def alone(model, sentences):
    """The translation of each sentence by itself."""
    import transformer_mb as tmb

    translator = tmb.Translator.load(model)
    return {sentence: translator.translate(sentence) for sentence in dict.fromkeys(sentences)}


def compared(path, result, expected):
    """Count translations that are those of their lines; raises RuntimeError where there are more or fewer lines."""
    with path.open(encoding="utf-8") as lines, result.open(encoding="utf-8") as translations:
        pairs = zip(lines, translations, strict=True)
        return sum(expected[line.rstrip("\n")] == translation.rstrip("\n") for line, translation in pairs)


def table(found):
    """The figures as Markdown: one column for the measure, one for all lines."""
    few, many = found["runs"].values()
    rows = [
        (
            "lines that are what their sentence is alone",
            *(f"{run['lines_as_alone']:,} of {run['lines']:,}" for run in (few, many)),
        ),
        ("shards", few["shards"], many["shards"]),
        ("of which were done when the command was killed", "", many["done_before_the_command_was_killed"]),
        ("of which were lost with the node, and begun again", "", many["lost_with_the_node"]),
        *((f"most memory of a process: {kind}, MiB", few["mib"][kind], most) for kind, most in many["mib"].items()),
        ("seconds, the start of Ray among them", few["seconds"], many["seconds"]),
        ("lines a second", few["lines_per_second"], many["lines_per_second"]),
    ]
    yield f"| | {few['lines']:,} lines | {many['lines']:,} lines |"
    yield "|---|---|---|"
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)


def main():
    parser = program(__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the corpora are written; else a temporary one")
    parser.add_argument("--page", type=Path, help="a page with the comments many-lines, to fill in")
    parser.add_argument("--measured", type=Path, help="fill the page in from what --json kept, and translate nothing")
    options = parser.parse_args()
    if options.measured:
        found = json.loads(options.measured.read_text(encoding="utf-8"))
    else:
        os.environ.update(ENVIRONMENT)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            model, runs = trained(Path(folder)), {}
            for count in (YARDSTICK, options.lines):
                seen = translated(Path(folder), model, count, disturbed=count != YARDSTICK)
                runs[str(count)] = {"lines": count, **seen}
                print(runs[str(count)], flush=True)
        found = {"machine": machine(), "runs": runs}
        keep(options.json, found)
    if options.page:
        fill(options.page, "many-lines", "\n".join([*table(found), ""]))


if __name__ == "__main__":
    main()
