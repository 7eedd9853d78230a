"""Sentence pairs for trainings of several processes."""

import pytest

from transformer_mb.data import demo_pairs


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in demo_pairs()[0][:40]), encoding="utf-8")
    return path
