"""The notebooks run from their first cell to their last, each in an empty folder."""

import os
import sys
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

from docs.site.__main__ import quiet_kernel
from site_pages import DOCS

NOTEBOOKS = sorted(path for path in (DOCS / "notebooks").glob("*.md") if path.stem != "index")


@pytest.fixture
def commands(monkeypatch):
    """The package's command, for lines that begin with ``!``, from this checkout."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))


def execute(notebook, folder):
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.long(but=1)  # `make docs` runs them all
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_no_command_in_it_fails_unsaid(path, tmp_path, commands):
    notebook = execute(jupytext.read(path, fmt="md:myst"), tmp_path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) >= 3 and not any(output.output_type == "error" for cell in cells for output in cell.outputs)
    printed = "".join(output.get("text", "") for cell in cells for output in cell.outputs)
    assert "Traceback" not in printed and "command not found" not in printed


def test_there_are_five_and_none_holds_outputs_or_leaves_files():
    assert len(NOTEBOOKS) == 5 and {path.suffix for path in (DOCS / "notebooks").iterdir()} == {".md"}
    assert all(not cell.get("outputs") for path in NOTEBOOKS for cell in jupytext.read(path, fmt="md:myst").cells)


def test_the_kernel_of_the_site_says_nothing(tmp_path, monkeypatch, capfd):
    """By itself it warns of its sockets, whenever one starts, between what Sphinx says."""
    monkeypatch.setenv("JUPYTER_PATH", str(quiet_kernel(tmp_path / "jupyter")))
    notebook = jupytext.reads("```{code-cell}\nimport sys\nprint(sys.executable)\n```\n", fmt="md:myst")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    assert execute(notebook, tmp_path).cells[-1].outputs[0]["text"].strip() == sys.executable
    assert "IPKernelApp" not in capfd.readouterr().err


def test_a_cell_that_fails_ends_the_run(tmp_path, commands):
    notebook = jupytext.reads("```{code-cell}\nraise ValueError('planted')\n```\n", fmt="md:myst")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    with pytest.raises(Exception, match="planted"):
        execute(notebook, tmp_path)
