"""The paths that CONTRIBUTING names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:transformer_mb|backends|tests|docs)/[\w./]*)`", TEXT)))


@pytest.mark.parametrize("path", [path for path in PATHS if "NAME" not in path])
def test_a_path_is_there(path):
    assert (ROOT / path).exists()


def test_the_makefiles_targets_are_there():
    targets = set(re.findall(r"make ([a-z-]+)", TEXT)) | {"parity-results"}
    assert targets <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
