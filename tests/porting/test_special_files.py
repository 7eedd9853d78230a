"""Named pipes, devices and sockets in the place of a file: one clear error at once, and nothing is read from them."""

import os
import shutil
import socket
import stat

import numpy as np
import pytest

from porting.hugging_face import MADE, folder_of
from porting.mutations import alarm
from porting.small_model import refused
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.errors import CheckpointError, PortError
from transformer_mb.files.regular import read_regular_file
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.settings import read_settings, vocabularies


def named_pipe(path):
    os.mkfifo(path)


def link_to_a_device(path):
    """One of our own that gives zeros without end."""
    device = path.with_name(f"{path.name}.device")
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError as error:
        pytest.skip(f"a device may not be made here: {error}")
    path.symlink_to(device)


def folder(path):
    path.mkdir()


KINDS = {"named pipe": named_pipe, "device": link_to_a_device, "folder": folder}


@pytest.fixture(params=KINDS)
def replaced(request):
    """Puts something else into the place of a file."""

    def replace(path):
        path.unlink(missing_ok=True)
        KINDS[request.param](path)

    with alarm(20):
        yield replace


NAMES = ("config.json", "model.safetensors", "source_vocabulary.json", "optimizer.safetensors", "trainer.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_special_file_in_a_checkpoint_is_refused(copied, replaced, name):
    replaced(copied / name)
    words = f"{name} cannot be read: (it must be a regular file, but it is a|Is a directory)"
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(copied)
    refused(words, read_source, copied, None, {})


@pytest.mark.parametrize("family", MADE)
def test_a_special_file_in_a_folder_of_transformers_is_refused(tmp_path, replaced, family):
    folder_of(family, tmp_path)
    for name in ("config.json", "model.safetensors"):
        kept = (tmp_path / name).read_bytes()
        replaced(tmp_path / name)
        refused(f"{name} cannot be read", FAMILIES[family].read, tmp_path, {})
        refused(f"{name} cannot be read", read_source, tmp_path, None, {})
        shutil.rmtree(tmp_path / name) if (tmp_path / name).is_dir() else (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(kept)
        (tmp_path / f"{name}.device").unlink(missing_ok=True)


def test_a_special_file_as_the_index_of_shards_is_refused(tmp_path, replaced):
    (folder_of("bert", tmp_path) / "model.safetensors").unlink()
    replaced(tmp_path / "model.safetensors.index.json")
    refused(r"index\.json cannot be read", FAMILIES["bert"].read, tmp_path, {})


@pytest.mark.parametrize("name", ["npz", "safetensors", "mxnet", "paddle", "flax", "keras", "torch", "tensorflow"])
def test_a_special_file_as_a_container_is_refused(tmp_path, replaced, name):
    replaced(tmp_path / "model.index")
    refused("must be a file, got a (named pipe|device|socket|folder)", read_native, tmp_path / "model.index", name)


def test_every_reader_refuses_a_special_file_itself(tmp_path, replaced):
    """Whatever was found before, the readers themselves look again."""
    from transformer_mb.porting.formats import FORMATS

    replaced(tmp_path / "x.index")
    for name in ("npz", "safetensors", "mxnet", "paddle", "flax", "keras", "torch"):
        refused("regular file|[Ii]s a directory", FORMATS[name].read, tmp_path / "x.index")


def test_a_special_file_as_the_optimizer_beside_a_file_of_paddle_is_refused(good, tmp_path, replaced):
    shutil.copy(good / "paddle", tmp_path / "x.pdparams")
    replaced(tmp_path / "x.pdopt")
    refused("pdopt cannot be read", read_source, tmp_path / "x.pdparams", None, {"num_heads": 2})


def test_a_special_file_as_the_shard_of_a_tensorflow_checkpoint_is_refused(trained_on, tmp_path):
    for path in trained_on("tensorflow").glob("model.*"):
        shutil.copy(path, tmp_path)
    (shard,) = tmp_path.glob("model.data-*")
    shard.unlink()
    named_pipe(shard)
    with (
        alarm(60),
        pytest.raises(PortError, match=r"data-.* cannot be read: it must be a regular file, but it is a named pipe"),
    ):
        read_native(tmp_path / "model.index")


def test_a_special_file_as_settings_or_as_a_vocabulary_is_refused(tmp_path, replaced):
    replaced(tmp_path / "settings.json")
    refused(r"settings\.json cannot be read", read_settings, tmp_path / "settings.json")
    refused(r"settings\.json cannot be read", vocabularies, {"source_vocabulary": str(tmp_path / "settings.json")})


def test_a_socket_and_a_file_that_is_too_long_are_no_regular_files(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "x"))
        with pytest.raises(OSError, match="it is a socket"):
            read_regular_file(tmp_path / "x")
    np.zeros(100, np.uint8).tofile(tmp_path / "y")
    assert read_regular_file(tmp_path / "y", 100) == bytes(100)
    with pytest.raises(OSError, match="must have at most 99 bytes, but it has 100"):
        read_regular_file(tmp_path / "y", 99)


def test_a_configuration_without_end_is_not_read(copied):
    os.truncate(copied / "config.json", 1 << 40)  # sparse: it takes no disk
    with pytest.raises(CheckpointError, match=r"config\.json cannot be read: it must have at most 16777216 bytes"):
        read_checkpoint(copied)
