"""``python -m docs.site``: build the site into build/site, every warning an error, and check what came out.

Sphinx checks links between pages; afterwards every link, anchor and picture of the finished HTML is followed, every public name
must have an entry, and nothing may be asked of another server.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from .finished import complaints
from .notebooks import forget_older_outputs

ROOT = Path(__file__).parents[2]
OUT = ROOT / "build" / "site"


def quiet_kernel(folder: Path) -> Path:
    """Write the kernel of the notebooks with a log of errors alone: it warns at each start that it listens on the loopback."""
    there = folder / "kernels" / "python3"
    there.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    kernel = {"argv": command, "display_name": "Python 3", "language": "python"}
    (there / "kernel.json").write_text(json.dumps(kernel), encoding="utf-8")
    return folder


def main() -> int:
    """Build and check; the exit status."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["PYTHONPATH"] = str(ROOT)  # for the commands of notebooks
    os.environ["JUPYTER_PATH"] = str(quiet_kernel(OUT.parent / "jupyter"))
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    shutil.rmtree(OUT, ignore_errors=True)
    forget_older_outputs()
    status = build_main(["-W", "--keep-going", "-q", "-d", str(OUT.parent / "site-pages"), str(ROOT / "docs"), str(OUT)])
    if status:
        return status
    found = complaints(OUT, (ROOT / "tests" / "meta" / "frozen" / "public_names.txt").read_text().split())
    print("\n".join(found) or f"{len(list(OUT.rglob('*.html')))} pages in {OUT.relative_to(ROOT)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
