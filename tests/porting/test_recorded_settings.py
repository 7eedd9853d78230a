"""What a file of weights says of its own model: a configuration, and nothing that opens another file."""

import json
import os

import pytest

from porting.timeouts import alarm
from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.inspection import inspect
from transformer_mb.porting.model import NativeFile
from transformer_mb.porting.settings import recorded_fields


@pytest.mark.parametrize("name", ["safetensors", "keras"])
@pytest.mark.parametrize("field", ["source_vocabulary", "target_vocabulary", "ignore", "num_heads", "linear_layout"])
def test_a_recorded_setting_that_names_another_file_is_refused(good, tmp_path, name, field):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    native = read_native(good / name)
    path = tmp_path / f"model{FORMATS[name].suffix}"
    settings = {**native.settings, field: str(pipe)}
    FORMATS[name].module.write(path, NativeFile(format=name, tensors=native.tensors, settings=settings))
    for read in (inspect, lambda path: read_source(path, None, {})):
        with alarm(20), pytest.raises(PortError, match=f"must hold fields of a TransformerConfig alone, but it has '{field}'"):
            read(path)


@pytest.mark.parametrize("name", ["safetensors", "keras"])
def test_a_local_list_is_not_copied_into_the_port(good, tmp_path, name):
    native = read_native(good / name)
    secret = tmp_path / "secret.json"
    size = native.settings["source_vocab_size"]
    secret.write_text(json.dumps(["<unk>", "<pad>", "<bos>", "<eos>", *(f"secret{i}" for i in range(size - 4))]))
    settings = {**native.settings, "source_vocabulary": str(secret), "target_vocabulary": str(secret)}
    path = tmp_path / f"model{FORMATS[name].suffix}"
    FORMATS[name].module.write(path, NativeFile(format=name, tensors=native.tensors, settings=settings))
    with pytest.raises(PortError, match="source_vocabulary"):
        read_source(path, None, {})


def test_the_configuration_still_travels(good):
    for name in ("safetensors", "keras"):
        assert read_source(good / name, None, {}).model.config.encoder_num_heads == 2


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, '"words"', "null"])
def test_what_is_no_object(text):
    with pytest.raises(PortError, match="must be a JSON object, got "):
        recorded_fields(text, "x")
