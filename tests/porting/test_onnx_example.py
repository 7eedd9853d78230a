"""The lines of docs/PORTING.md that decode with an exported ONNX folder give the tokens of greedy search."""

import re
from pathlib import Path

import numpy as np

import transformer_mb as tmb

PAGE = Path(__file__).parents[2] / "docs" / "PORTING.md"


def test_the_lines_of_the_page_decode_as_greedy_does(tmp_path, monkeypatch):
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 4, "max_len": 20}
    config = tmb.presets.d2l(11, 13, suppress_ids=(5,), **sizes)
    backend = tmb.get_backend("numpy")
    model = backend.build(config, seed=1)
    tmb.save(model, tmp_path / "model")
    tmb.port(tmp_path / "model", tmp_path / "exported", to="onnx")
    monkeypatch.chdir(tmp_path)
    (lines,) = re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("## Decode with an exported ONNX folder")[2], re.S)
    names: dict = {}
    exec(lines, names)
    rows = names["tokens"].tolist()
    ended = [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]
    assert ended == backend.greedy(model, names["source"], names["lens"], 10)
    assert len({token for row in ended for token in row}) > 2 and np.shape(rows) == (2, 10)
