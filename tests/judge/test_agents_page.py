"""Each file and each command of the page for agents, as it stands there; and the links of llms.txt."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_mb.judge import confine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "AGENTS.md").read_text()
FILES = re.findall(r"`(\w+\.py)`(?:[^`]|`(?!\w+\.py`)[^`]*`)*?\n\n```python\n(.*?)```", PAGE, re.DOTALL)
QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"  # as the Makefile's; no other numbers
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.skipif(not confine.version(), reason="without Landlock nothing is certified")
@pytest.mark.parametrize("commands", [COMMANDS[1:2], pytest.param(COMMANDS, marks=pytest.mark.long)], ids=["one", "all"])
def test_the_page_is_carried_out(commands, tmp_path):
    """Both frameworks start for each command; the other commands run on smaller ports in ``test_certificates.py``."""
    assert [name for name, _ in FILES] == ["block_torch.py", "block_nnx.py", "PORT.py"]
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    assert [command.partition(" ")[0] for command in COMMANDS] == ["transformer-mb"] * 4
    environment = {"XLA_FLAGS": QUICKLY, **os.environ, "PYTHONPATH": str(ROOT)}
    for command in commands:
        words = [sys.executable, "-m", "transformer_mb", *command.split()[1:]]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if "--json" in words:
            content = json.loads(done.stdout)
            assert content["certified"] and not content["reasons"] and {"tree", "figures", "notes"} <= content.keys()
            assert {one["part"] for one in content["figures"]} >= {"output", "gradient of x", "gradient of norm.weight"}
    assert commands != COMMANDS or json.loads((tmp_path / "certificate.json").read_text())["certified"] is True


def test_the_links_of_llms_txt_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "llms.txt").read_text())
    assert len(links) >= 6 and all((ROOT / link).is_file() for link in links)
    assert "docs/AGENTS.md" in links
