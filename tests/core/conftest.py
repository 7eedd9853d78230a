"""Fixtures of the tests of cached corpora."""

import pytest

from core.cached_corpora import TEXT
from transformer_mb.data import token_cache


@pytest.fixture
def corpus_file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def tokenizings(monkeypatch):
    """A list that grows by one whenever something is tokenized."""
    calls = []
    write = token_cache.write_tokens
    monkeypatch.setattr(token_cache, "write_tokens", lambda *given: calls.append(1) or write(*given))
    return calls
