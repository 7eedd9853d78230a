"""The notebooks run from their first cell to their last, each in an empty folder."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook, new_output, writes

from docs.site import notebooks
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


def test_pieces_of_a_stream_are_one_text_on_the_page(tmp_path):
    """Pieces from ``%%bash`` end in the middle of words, of lines, and at a line's end before an empty line."""
    pieces = [
        ("stdout", "one fl"),
        ("stderr", "a war"),
        ("stdout", "oat32\n"),
        ("stderr", "ning"),
        ("stdout", "\nthe la"),
        ("stdout", "st"),
    ]
    outputs = [new_output("stream", name=name, text=text) for name, text in pieces]
    (tmp_path / "index.ipynb").write_text(writes(new_notebook(cells=[new_code_cell("1", outputs=outputs)])))
    (tmp_path / "conf.py").write_text(
        "extensions = ['myst_nb', 'docs.site.notebooks']\nnb_execution_mode = 'off'\nnb_merge_streams = True\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "text", str(tmp_path), str(tmp_path / "out")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(DOCS.parent)}, check=True)
    shown = (tmp_path / "out" / "index.txt").read_text()
    assert "one float32\n\n   the last\n" in shown and "a warning\n" in shown


def test_outputs_of_another_package_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "KEPT", tmp_path)
    (tmp_path / "global.db").touch()
    monkeypatch.setattr(notebooks, "source_digest", lambda: "a" * 64)
    before = notebooks.kept_outputs()
    before.mkdir()
    notebooks.forget_older_outputs()
    assert list(tmp_path.iterdir()) == [before]
    monkeypatch.setattr(notebooks, "source_digest", lambda: "b" * 64)
    assert runpy.run_path(DOCS / "conf.py")["nb_execution_cache_path"] == str(notebooks.kept_outputs()) != str(before)
    notebooks.forget_older_outputs()
    assert not before.exists()


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
