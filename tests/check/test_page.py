"""The port that docs/CHECK.md works through: its first failure, and what its two corrections give."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "CHECK.md").read_text()
PROGRAMS = re.findall(r"`(\w+\.py)`[^`]*\n\n```python\n(.*?)```", PAGE, re.DOTALL)
PRINTED = re.findall(r"```\n(torch .*?)```", PAGE, re.DOTALL)
CORRECTIONS = {
    "self.norm1, self.norm2 = nnx.LayerNorm(size, rngs=rngs), nnx.LayerNorm(size, rngs=rngs)": (
        "self.norm1, self.norm2 = (nnx.LayerNorm(size, epsilon=1e-5, rngs=rngs) for _ in range(2))"
    ),
    "jax.nn.gelu(self.fc1(h))": "jax.nn.gelu(self.fc1(h), approximate=False)",
}


def words(report):
    """A report without its figures, which another processor rounds otherwise, and which are large there may be another."""
    lines = [
        re.sub(r"3 eps.*|[\d.]+(e[-+]\d+)?|by norm|in one element|\(gradient .*\)|what a last .*|the ref.*", "", line)
        for line in report
    ]
    return [line for line in lines if not re.match(r"  float|  and", line)]


@pytest.mark.long(but=1)
@pytest.mark.parametrize("corrected", [pytest.param(False, id="wrong"), pytest.param(True, id="corrected")])
def test_the_port_gives_what_the_page_shows(corrected, tmp_path):
    assert [name for name, _ in PROGRAMS] == ["block_torch.py", "block_flax.py", "port.py"]
    for name, text in PROGRAMS:
        for wrong, right in CORRECTIONS.items() if corrected else ():
            assert name != "block_flax.py" or wrong in text
            text = text.replace(wrong, right)
        (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, "port.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert words(done.stdout.splitlines()) == words(PRINTED[corrected].splitlines())
