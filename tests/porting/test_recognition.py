"""A file is recognized by its content, as what it is and as nothing else."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save

from porting.conftest import CONTAINERS
from transformer_mb.porting.files.sources import _recognized_format
from transformer_mb.porting.formats import FORMATS


@pytest.fixture(scope="module")
def files(good, trained_on, tmp_path_factory):
    """By format, good files of it: our own, and what frameworks write."""
    found = {name: [good / name] for name in CONTAINERS}
    for backend, name, format_name in (
        ("torch", "training.pt", "torch"),
        ("tensorflow", "model.index", "tensorflow"),
    ):
        found.setdefault(format_name, []).append(trained_on(backend) / name)
    return found


@pytest.mark.long
def test_every_good_file_is_recognized_as_its_own_format_alone(files):
    assert set(files) == set(FORMATS)
    for name, paths in files.items():
        for path in paths:
            assert _recognized_format(path).name == name
            claimed = [row.name for row in FORMATS.values() if row.module.recognize(path)]
            assert claimed == [name], f"{path} is recognized as {claimed}"


def test_safetensors_with_any_length_of_header_are_recognized(tmp_path):
    """The eight bytes that a file begins with are the header's length, which the library rounds up to eights."""
    path, lengths = tmp_path / "model", set()
    for count in range(400):
        content = save({"w": np.zeros(2048, np.float32)}, {"note": "x" * (8 * count)})
        lengths.add(int.from_bytes(content[:8], "little"))
        path.write_bytes(content)
        assert _recognized_format(path).name == "safetensors", struct.unpack("<Q", content[:8])
    assert len(lengths) == 400


def test_safetensors_with_unrounded_headers_are_recognized(tmp_path):
    """Every length up to twice all that a first byte can say, and those that begin like a pickle, MXNet or a long map."""
    path = tmp_path / "model"
    for length in (*range(70, 600), 0x0280, 0x0380, 0x0480, 0x0580, 0x0112, 0xA188, 0xD982, 0xDE01):
        header = json.dumps({"w": {"dtype": "F32", "shape": [16384], "data_offsets": [0, 65536]}}).encode()
        path.write_bytes(struct.pack("<Q", length) + header.ljust(length) + bytes(65536))
        assert _recognized_format(path).name == "safetensors", hex(length)


def test_one_byte_is_no_map_of_flax(tmp_path):
    for content in (b"\x88", b"\x88\x01\x00\x00", b"\xde\x00\x02", b"\x81\x01\x02"):
        (tmp_path / "x").write_bytes(content)
        assert not FORMATS["flax"].module.recognize(tmp_path / "x")
