"""The epsilon of layer norms in files that do not record it: that of the classes which wrote them."""

from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import CONFIG, weights_of
from transformer_mb.porting.model import NativeFile, PortedModel


def our_own(model: PortedModel, format_name: str, path: Path) -> Path:
    """The file as our model of that framework saves itself: without any configuration."""
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    FORMATS[format_name].module.write(path, NativeFile(format=format_name, tensors=d2l.write(model, format_name, {}).tensors))
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
