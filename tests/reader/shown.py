"""What the pages of docs/ and the README need so that their commands run here: a row for each page that shows any.

A page's blocks run in its order, in one folder. Its row says what lies in that folder before, what stands here for words of the
page, which commands cannot run here and why, and which test runs the page's Python where that is not this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SMALL = "--epochs 1 --num-hiddens 16 --ffn-num-hiddens 16"


@dataclass(frozen=True)
class Page:
    """``needs``: names of makers in ``made.py``; ``here``: words of the page, and what runs in their place."""

    needs: tuple[str, ...] = ()
    here: Mapping[str, str] = field(default_factory=dict)
    not_here: Mapping[str, str] = field(default_factory=dict)  # the beginning of a command, and why it does not run
    python: str = ""  # the test that runs the page's Python; "": this one
    abridged: bool = False  # the page leaves lines out without saying so
    long: bool = False


PAGES = {
    "README.md": Page(
        needs=("corpus", "bart-folder", "lines.txt"),
        python="tests/meta/test_readme.py",
        abridged=True,
        long=True,
    ),
    "docs/CORPORA.md": Page(
        needs=("model", "lines.txt"),
        not_here={"sbatch": "there is no Slurm"},
        long=True,
    ),
    "docs/DISTRIBUTED.md": Page(
        needs=("pairs.tsv",),
        here={
            "--out model": f"--out model {SMALL}",
            "HOST": "127.0.0.1",
            "-n 8": "-n 2",
            "--backend numpy": "--backend numpy --force",
        },
        not_here={"torchrun": "it waits for a second machine: tests/distributed runs it on one"},
        long=True,
    ),
    "docs/MULTI30K.md": Page(
        needs=("multi30k", "examples"),
        here={"--vocab-size 8000": "--vocab-size 300", "--out model": f"--out model {SMALL}"},
        long=True,
    ),
    "docs/PORTING.md": Page(needs=("mine.py", "bart-folder", "bert-folder", "lines.txt"), long=True),
    "docs/PYTHON.md": Page(needs=("model",), python="tests/meta/test_python_page.py"),
    "docs/PYTEST.md": Page(needs=("port",), long=True),
    "docs/REPORT.md": Page(
        needs=("port", "results"),
        here={
            "--backends numpy,torch": "--backends numpy --cases 'layer forward: layer norm*'",
            "compare behaviours": "compare behaviours --backends numpy",
        },
        long=True,
    ),
    "docs/SWEEPS.md": Page(
        here={"0-49": "0-1", "parity --seeds": "parity --backends numpy --cases 'layer forward: layer norm*' --seeds"},
        not_here={
            "transformer-mb parity --seeds 0-49 --out sweep --on ray": "tests/parity/sweeps/test_on_ray.py starts a cluster",
            "sbatch": "there is no Slurm",
        },
        long=True,
    ),
    "docs/TEXT.md": Page(
        needs=("pairs.tsv",),
        here={"--vocab-size 8000": "--vocab-size 300", "--out model": f"--out model {SMALL}"},
        python="tests/meta/test_python_page.py",
    ),
    "docs/TRAINING.md": Page(
        needs=("pairs.tsv", "unseen.tsv"),
        here={"--epochs 12": SMALL},
        not_here={"transformer-mb train examples/multi30k.toml": "docs/MULTI30K.md, below"},
        python="tests/meta/test_python_page.py",
    ),
}

# Pages whose blocks another test runs, all of them.
ELSEWHERE = {
    "docs/AGENTS.md": "tests/judge/test_agents_page.py",
    "docs/CHECK.md": "tests/check/test_page.py",
    "docs/ERRATA.md": "tests/errata/test_errata.py",
    "docs/VARIANTS.md": "tests/meta/test_python_page.py",
}
# Pages that show pieces of what a reader writes anew: they cannot run before it is written.
OF_THE_READER = {
    "docs/OWN_BACKENDS.md": "tests/examples runs the suite and the matrix on a package that was begun so",
    "docs/extend/backend.md": "the same",
    "docs/extend/layer.md": "the cases are the reader's own",
    "examples/autograd_backend/README.md": "tests/meta/test_other_packages.py installs it and runs both",
    "examples/mlx_backend/README.md": "MLX is no package of the tests",
}
