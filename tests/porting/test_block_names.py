"""Names for blocks: in every container of our own tensors, and refused where a target has its own."""

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import weights_of
from transformer_mb.errors import PortError
from transformer_mb.porting.model import NativeFile


@pytest.mark.parametrize("to", ["marian", "torch_transformer", "onnx", "canonical"])
def test_names_for_blocks_are_refused_where_a_target_has_its_own(small, tmp_path, to):
    with pytest.raises(PortError, match="block_names is for a container of this project's own tensors"):
        tmb.port(small, tmp_path / "out", to=to, config={"block_names": "block{i}"})


def test_names_for_blocks_are_never_ignored(small, tmp_path):
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    model = weights_of(small)
    for format_name in (name for name, row in FORMATS.items() if row.writable):
        tensors = d2l.write(model, format_name, {"block_names": "block{i}"}).tensors
        assert any("block0" in name for name in tensors), format_name
        got = d2l.read(NativeFile(format=format_name, tensors=tensors), {"num_heads": 4})
        assert all(np.array_equal(got.weights[name], array) for name, array in model.weights.items())
    with pytest.raises(PortError, match="which can be read back, got 'storey{i}'"):
        tmb.port(small, tmp_path / "m.npz", to="npz", config={"block_names": "storey{i}"})
    with pytest.raises(PortError, match="keras_version is for keras, got it for npz"):
        tmb.port(small, tmp_path / "m.npz", to="npz", config={"keras_version": 2})


def test_other_names_of_blocks_are_not_said_to_be_ours(small, tmp_path):
    report = tmb.port(small, tmp_path / "m.pdparams", to="paddle", config={"block_names": "d2l"})
    assert "as the settings ask; ours are not" in report.loading.into and report.loading.lines == ()
