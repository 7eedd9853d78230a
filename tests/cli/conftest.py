"""Lines to translate, and what translates them in Python."""

import pytest

import transformer_mb as tmb


@pytest.fixture
def lines(pairs):
    return [source for source, _ in pairs[:6]]


@pytest.fixture(scope="session")
def translator(trained):
    return tmb.Translator.load(trained)
