"""Planted mistakes are shrunk to few numbers, still fail in the same module, and do so again in a fresh process."""

import subprocess
import sys
import time

import pytest

from check.pairs.planting import MISTAKES
from check.pairs.table import PAIRS
from transformer_mb import check
from transformer_mb.errors import ConfigError

# Twenty, of all pairs with a batch or lengths; the first of them is in the quick run.
WHICH = {
    "paddle-encoder": ("True leaves out [2]", "an epsilon of BERT's [14]", "ReLU for GELU", "queries and keys change places"),
    "paddle-attention": ("keys are longer by one", "values are read from the end", "three square matrices are not transposed"),
    "linen-attention": ("the mask is one position too long",),
    "nnx-attention": ("only padding or what comes before is seen",),
    "keras-attention-torch": ("positions count from one",),
    "nnx-encoder": ("the scores are not scaled", "masked scores are 0 instead of minus infinity [3]", "GELU for ReLU"),
    "t5": ("the scores are scaled", "the mean is taken off [15]"),
    "gpt2": ("the next token is seen", "positions begin at one", "an epsilon of flax' default [14]"),
    "lstm": ("one is added to the forget gate [53]",),
    "norms": ("the variance is unbiased [20]",),
}
SHRUNK = [one for one in MISTAKES if one.what in WHICH.get(one.pair, ())]
REPLAY = "import sys; from transformer_mb import check; print(check.replay(sys.argv[1]).same)"


def check_shrunk(mistake, folder):
    pair, begun = mistake.planted(folder), time.monotonic()
    how = {"weights": pair.weights, "inputs": pair.inputs, "sizes": pair.sizes}
    small = check.shrink(pair.reference, pair.candidate, **how)
    seconds = time.monotonic() - begun
    assert small.way.module == mistake.module, str(small)
    assert max(size for letter, size in small.sizes.items() if letter in "BTS") <= 2, str(small)
    assert small.others <= 3, str(small)
    small.write(folder / "case")
    assert (folder / "case").stat().st_size < 1 << 20
    again = subprocess.run([sys.executable, "-c", REPLAY, folder / "case"], capture_output=True, text=True)
    assert again.stdout.split() == ["True"], again.stderr
    return seconds


def test_twenty_mistakes_are_to_be_shrunk():
    assert len(SHRUNK) == 20


def test_a_mistake_is_shrunk_and_replayed(tmp_path):
    check_shrunk(SHRUNK[0], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("mistake", SHRUNK, ids=str)
def test_each_of_twenty_mistakes_is_shrunk_within_a_minute_and_replayed(mistake, tmp_path):
    assert check_shrunk(mistake, tmp_path) <= 60


def test_what_does_not_fail_is_not_shrunk():
    pair = PAIRS["paddle-attention"]
    with pytest.raises(ConfigError, match="must fail in float64"):
        check.shrink(pair.reference, pair.candidate, weights=pair.weights, inputs=pair.inputs, sizes=pair.sizes, draws=1)
