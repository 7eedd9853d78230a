"""Names for blocks and the epsilon of layer norms: D2L's in each framework, and our own."""

from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import CONFIG, weights_of
from transformer_mb.errors import PortError
from transformer_mb.porting.model import NativeFile, PortedModel


@pytest.mark.parametrize("to", ["marian", "torch_transformer", "onnx", "canonical"])
def test_names_for_blocks_are_refused_where_a_target_has_its_own(small, tmp_path, to):
    with pytest.raises(PortError, match="block_names is for a container of this project's own tensors"):
        tmb.port(small, tmp_path / "out", to=to, config={"block_names": "block{i}"})


def test_names_for_blocks_are_never_ignored(small, tmp_path):
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    model = weights_of(small)
    for format_name in (name for name, row in FORMATS.items() if row.write):
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


def our_own(model: PortedModel, format_name: str, path: Path) -> Path:
    """The file as our model of that framework saves itself: without any configuration."""
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    FORMATS[format_name].write(path, NativeFile(format=format_name, tensors=d2l.write(model, format_name, {}).tensors))
    return path


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("format_name", "suffix"), [("keras", ".weights.h5"), ("flax", ".msgpack")])
def test_our_own_files_come_back_with_our_own_epsilon(small, tmp_path, format_name, suffix):
    path = our_own(weights_of(small), format_name, tmp_path / f"m{suffix}")
    report = tmb.port(path, tmp_path / "back", to="canonical", config={"num_heads": 4, "max_len": 20})
    assert report.origins["assumed"]["norm_eps"] == 1e-5
    assert tmb.load(tmp_path / "back").config == CONFIG
    assert "d2l" not in report.proof.source_ran


def test_every_container_of_d2l_classes_keeps_the_epsilon_of_its_framework(small, tmp_path):
    from transformer_mb.porting.families import d2l

    for format_name, epsilon in (("keras", 1e-3), ("flax", 1e-6), ("paddle", 1e-5), ("torch", 1e-5)):
        tensors = d2l.write(weights_of(small), format_name, {"block_names": "d2l"}).tensors
        got = d2l.read(NativeFile(format=format_name, tensors=tensors), {"num_heads": 4})
        assert got.config.norm_eps == epsilon, format_name
        assert all(np.array_equal(got.weights[name], array) for name, array in weights_of(small).weights.items())
