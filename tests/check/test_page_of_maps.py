"""The map that docs/CHECK.md proposes for its port, and the case that it makes small, are what its programs print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "CHECK.md").read_text()
FILES = dict(re.findall(r"`(\w+\.py)`[^`]*\n\n```python\n(.*?)```", PAGE, re.DOTALL))
PROGRAMS = re.findall(r"```python\n((?:SIDES|small) = .*?)```", PAGE, re.DOTALL)
PRINTED = re.findall(r"```\n((?:WEIGHTS|Wrong) .*?)```", PAGE, re.DOTALL)


@pytest.mark.long
def test_the_page_shows_what_its_programs_print(tmp_path):
    for name in ("block_torch.py", "block_flax.py"):
        (tmp_path / name).write_text(FILES[name])
    begun = FILES["port.py"].partition("report = ")[0]
    (tmp_path / "more.py").write_text("\n".join([begun, *PROGRAMS]))
    done = subprocess.run([sys.executable, "more.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    without_figures = [re.sub(r"\d\.\de-\d\d", "", text) for text in (done.stdout, "".join(PRINTED))]
    assert without_figures[0] == without_figures[1] and len(PROGRAMS) == len(PRINTED) == 2
