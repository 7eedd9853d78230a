"""What our own model saves by the framework's own means, and what a port writes for it: the same names, layouts and numbers."""

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.config import TransformerConfig
from transformer_mb.porting.families import d2l
from transformer_mb.porting.model import NativeFile, PortedModel

FORMAT = {"numpy": "npz", "tensorflow": "keras", "jax": "flax"}
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2, "max_len": 20}
BOTH = {"source_vocab_size": 13, "target_vocab_size": 13, "encoder_num_layers": 2, "decoder_num_layers": 2}
CONFIGS = {
    "book": BOTH,
    "shared": {**BOTH, "share_embeddings": True},
    "tied": {**BOTH, "tie_output": True},
    "shared and tied": {**BOTH, "share_embeddings": True, "tie_output": True, "output_bias": False},
    "all there is": {
        **BOTH,
        "position": "learned",
        "embedding_norm": True,
        "final_norm": True,
        "encoder_attention_bias": True,
        "decoder_attention_bias": True,
    },
    "encoder": {"architecture": "encoder", "source_vocab_size": 13, "token_types": 2, "pooler": True},
    "decoder, tied": {"architecture": "decoder", "target_vocab_size": 13, "tie_output": True},
    "rms norm": {**BOTH, "norm_kind": "rms_norm"},
}


def of_numpy(model, backend, folder):
    return backend.get_weights(model)


def of_torch(model, backend, folder):
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def of_paddle(model, backend, folder):
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def of_mxnet(model, backend, folder):
    from mxnet import npx

    model.save_parameters(str(folder / "m.params"))
    return {name: array.asnumpy() for name, array in npx.load(str(folder / "m.params")).items()}


def of_tensorflow(model, backend, folder):
    import h5py

    model.save_weights(folder / "m.weights.h5")
    found = {}
    with h5py.File(folder / "m.weights.h5") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return {name: array for name, array in found.items() if "seed_generator" not in name}


def of_jax(model, backend, folder):
    from flax import nnx, traverse_util

    state = traverse_util.flatten_dict(nnx.to_pure_dict(nnx.state(model, nnx.Param)))
    return {"/".join(map(str, path)): np.asarray(array) for path, array in state.items()}


def same(got, expected):
    return set(got) == set(expected) and all(np.array_equal(got[name], array) for name, array in expected.items())


@pytest.mark.parametrize("name", CONFIGS)
def test_a_port_calls_tensors_as_our_own_model_does(backend, tmp_path, name):
    if backend.name not in BUILT_IN:
        pytest.skip("no file format belongs to a backend of another package")
    config, format_name = TransformerConfig(**CONFIGS[name], **SIZES), FORMAT.get(backend.name, backend.name)
    native = backend.build(config, seed=1)
    saved, weights = globals()[f"of_{backend.name}"](native, backend, tmp_path), backend.get_weights(native)
    written = d2l.write(PortedModel(config=config, weights=weights), format_name, {})
    assert same(written.tensors, saved)
    read = d2l.read(NativeFile(format=format_name, tensors=saved), {"num_heads": 2, "max_len": 20})
    assert read.config == config and same(read.weights, weights)
