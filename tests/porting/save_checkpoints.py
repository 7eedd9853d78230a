"""One model in the files that training scripts make, and what we read of each.

Of PyTorch's, by name: either ``error`` or ``notes``, ``same`` (whether the weights are the model's, else ``ema``, the averaged
ones) and ``step`` of the optimizer. Paddle's and JAX' files are made alone: we read them without their framework.
"""

import argparse
import pathlib
from pathlib import Path

import numpy as np

import transformer_mb as tmb
from porting.train_natively import CONFIG

HEADS = {"num_heads": 2}
CONFIG = CONFIG.replace(decoder_num_layers=2)


def make_torch(folder):
    import torch

    from porting.save_adam import read_here, trained
    from transformer_mb.errors import PortError
    from transformer_mb.porting.families import FAMILIES
    from transformer_mb.porting.files.sources import likely_cause

    folder, model = Path(folder), tmb.get_backend("torch").build(CONFIG, seed=1)
    optimizer = trained(model, lambda named: torch.optim.Adam(named, betas=(0.9, 0.98)))
    weights = {name: array.copy() for name, array in tmb.get_backend("torch").get_weights(model).items()}
    sd = model.state_dict()
    ema = {name: value * 1.5 for name, value in sd.items()}
    head = {name: value for name, value in sd.items() if "decoder.dense" not in name}
    outer = {f"model.{name}": value for name, value in sd.items()}
    number = np.float64(0.25)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    lists = {**{f"online.{n}": v for n, v in sd.items()}, **{f"ema.{n}": v for n, v in ema.items()}, "step": torch.tensor(3)}
    trees = {
        "averaged beside": {"epoch": 3, "model": sd, "ema": ema},
        "averaged alone": {"ema": ema},
        "averaged deep": {"state_dict": outer, "callbacks": {"EMA": {"shadow": ema}}},
        "averaged in one": lists,
        "swa": averaged.state_dict(),
        "configuration": {"model": {"num_heads": 4}, "state_dict": sd},
        "two sides": {"encoder": model.encoder.state_dict(), "decoder": model.decoder.state_dict()},
        "generator": {"model": head, "generator": {"weight": sd["decoder.dense.weight"], "bias": sd["decoder.dense.bias"]}},
        "lightning": {"state_dict": outer, "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [{"last_epoch": 3}]},
        "two optimizers": {"model": sd, "optimizer_states": [optimizer.state_dict()] * 2},
        "unusual key": {"model": sd, "optimizer_g": optimizer.state_dict()},
        "larger optimizer": {"model": head, "optimizer": optimizer.state_dict()},
        "averaged as a layer": {**outer, **{f"ema_model.{name}": value for name, value in ema.items()}},
        "number": {"model": sd, "best": number, "last": np.int64(3), "log": np.arange(3), "on": np.bool_(True)},
        "options": {"model": sd, "args": argparse.Namespace(heads=2, out=pathlib.Path("x"))},
        "arrays": {name: value.numpy() for name, value in sd.items()},
        "no tensors": {"epoch": 3, "config": {"heads": 2}},
    }
    chosen = [
        ("averaged beside", "ema"),
        ("averaged deep", "callbacks"),
        ("averaged in one", "ema"),
        ("averaged in one", "online"),
    ]
    found = {}
    for name, said in [*((name, None) for name in trees), *chosen, ("averaged beside", "x")]:
        torch.save(trees[name], folder / f"{name}.pt")
        settings = {**HEADS, **({"weights": said} if said else {})}
        try:
            native = read_here(folder / f"{name}.pt", settings)
            with likely_cause(native, folder / f"{name}.pt"):
                read = FAMILIES["d2l"].read(native, settings)
            scale = {1.0: "model", 1.5: "ema"}
            same = [
                scale[s] for s in scale if all(np.array_equal(a, weights[n] * np.float32(s)) for n, a in read.weights.items())
            ]
            step = None if read.optimizer is None else [int(read.optimizer["step"]), read.betas]
            found[f"{name} {said or ''}".strip()] = {"notes": " ".join(read.notes), "same": same, "step": step}
        except PortError as error:
            found[f"{name} {said or ''}".strip()] = {"error": str(error)}
    return {}, found


def make_paddle(folder):
    import paddle

    folder, model = Path(folder), tmb.get_backend("paddle").build(CONFIG, seed=1)
    adam, adamw = paddle.optimizer.Adam, paddle.optimizer.AdamW
    made = {
        "first": (adam, {"beta2": 0.98}, 3),
        "second": (adam, {"beta1": 0.8, "beta2": 0.95}, 60),
        "usual": (adam, {}, 60),
        "amsgrad": (adam, {"amsgrad": True}, 3),
        "adamw": (adamw, {}, 3),
    }
    for name, (kind, options, steps) in made.items():
        optimizer = kind(parameters=model.parameters(), **options)
        for _ in range(steps):
            for parameter in model.parameters():
                parameter.grad = paddle.ones_like(parameter)
            optimizer.step()
        paddle.save(model.state_dict(), str(folder / f"{name}.pdparams"))
        paddle.save(optimizer.state_dict(), str(folder / f"{name}.pdopt"))
    both = {"model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict(), "epoch": 3}
    ema = {name: value * 1.5 for name, value in model.state_dict().items()}
    paddle.save({**both, "ema": ema}, str(folder / "both.pdparams"))
    narrow = {name: value.astype("bfloat16") for name, value in model.state_dict().items()}
    paddle.save(narrow, str(folder / "bfloat16.pdparams"))
    np.savez(folder / "bfloat16.npz", **{name: value.astype("float32").numpy() for name, value in narrow.items()})


def make_jax(folder):
    import jax
    import optax
    from flax import nnx, serialization

    def texts(tree):
        return {str(key): texts(value) for key, value in tree.items()} if isinstance(tree, dict) else tree

    folder, model = Path(folder), tmb.get_backend("jax").build(CONFIG, seed=1)
    pure = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    (folder / "pure.msgpack").write_bytes(serialization.msgpack_serialize(pure))
    params = texts(pure)
    for name, kind in {"adam": optax.adam, "adamw": optax.adamw, "amsgrad": optax.amsgrad}.items():
        chain = kind(0.1)
        _, state = chain.update(params, chain.init(params), params)
        tree = {"params": params, "opt_state": state, "ema_params": jax.tree.map(lambda x: x * 1.5, params)}
        (folder / f"{name}.msgpack").write_bytes(serialization.to_bytes(tree))
