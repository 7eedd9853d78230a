"""A training that goes on when its corpus has another place."""

import pytest

import transformer_mb as tmb
from transformer_mb.errors import DataError

TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}
PAIRS = [("go .", "va !"), ("hi .", "salut !")] * 4


@pytest.mark.parametrize("moved", ["data", "validation"])
def test_the_new_place_is_asked_for_and_taken(tmp_path, moved):
    files = {name: tmp_path / f"{name}.tsv" for name in ("data", "validation")}
    for file in files.values():
        file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    tmb.train(files["data"], tmp_path / "model", validation=files["validation"], epochs=1, **TINY)
    now = files[moved].rename(tmp_path / "elsewhere.tsv")
    with pytest.raises(DataError, match=rf"no file .*{moved}.tsv, which this training began with: {moved} \(--{moved}\)"):
        tmb.train(None, tmp_path / "model", resume=True, epochs=2)
    assert tmb.train(**{"data": None, moved: now}, folder=tmp_path / "model", resume=True, epochs=2).state.epoch == 2


def test_pairs_take_the_place_of_a_file_that_has_gone(tmp_path):
    (tmp_path / "data.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    tmb.train(tmp_path / "data.tsv", tmp_path / "model", epochs=1, **TINY)
    (tmp_path / "data.tsv").unlink()
    assert tmb.train(PAIRS, tmp_path / "model", resume=True, epochs=2).state.epoch == 2
