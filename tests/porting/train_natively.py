"""In a process of each framework: train a tiny model for some steps and save it as users of it do."""

from pathlib import Path

import numpy as np

import transformer_mb as tmb
from porting.small_model import FEW, LENS, SOURCE, TARGET
from transformer_mb.batch import Batch

SIZES = {**FEW, "encoder_num_heads": 2, "decoder_num_heads": 2, "max_len": 20, "dropout": 0.0}
CONFIG = tmb.presets.d2l(11, 13, encoder_attention_bias=True, encoder_num_layers=2, decoder_num_layers=3, **SIZES)
BATCH = Batch(
    SOURCE,
    LENS,
    TARGET,
    np.array([[5, 6, 7, 3], [8, 3, 1, 1], [9, 4, 12, 3]]),
    np.array([4, 2, 4]),
)
STEPS = 3


def train(name, folder):
    folder, backend = Path(folder), tmb.get_backend(name)
    model = backend.build(CONFIG, seed=3)
    trainer = backend.trainer(model, learning_rate=0.01)
    for _ in range(STEPS):
        trainer.step(BATCH)
    tmb.save(model, folder / "canonical", trainer=trainer)
    globals()[f"save_{name}"](backend, model, trainer, folder)


def save_numpy(backend, model, trainer, folder):
    state = {f"optimizer.{name}": array for name, array in trainer.state_dict().items()}
    np.savez(folder / "model.npz", **backend.get_weights(model), **state)


def save_torch(backend, model, trainer, folder):
    import torch

    torch.save(model.state_dict(), folder / "model.pt")
    torch.save({"model": model.state_dict(), "optimizer": trainer.optimizer.state_dict()}, folder / "training.pt")


def save_paddle(backend, model, trainer, folder):
    import paddle

    paddle.save(model.state_dict(), str(folder / "model.pdparams"))


def save_mxnet(backend, model, trainer, folder):
    model.save_parameters(str(folder / "model.params"))


def save_tensorflow(backend, model, trainer, folder):
    import tensorflow as tf

    model.save_weights(folder / "model.weights.h5")
    # tf.train.Checkpoint leaves out lists of Keras 3 layers, the blocks among them: their variables are given by hand.
    tree = {}
    for name, array in backend.get_weights(model).items():
        *levels, leaf = name.replace("block", "").split(".")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        if levels[-1] == "ln":
            place[{"weight": "gamma", "bias": "beta"}[leaf]] = tf.Variable(array)
        elif levels[-1] == "embedding":
            place["embeddings"] = tf.Variable(array)
        else:
            place[{"weight": "kernel", "bias": "bias"}[leaf]] = tf.Variable(array.T)
    tf.train.Checkpoint(model=tree).write(str(folder / "model"))


def save_jax(backend, model, trainer, folder):
    from flax import nnx, serialization

    params = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    (folder / "model.msgpack").write_bytes(serialization.to_bytes({"params": params}))
