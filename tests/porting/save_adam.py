"""torch's own optimizers on one model, saved, and what our reader of such files makes of each."""

from pathlib import Path

import numpy as np
import torch

import transformer_mb as tmb
from elsewhere import flat
from porting.train_natively import CONFIG
from transformer_mb.porting import worker
from transformer_mb.porting.files.sources import read_tensors
from transformer_mb.porting.formats.native_loaders import torch as torch_loader

STEPS = 3


def groups(named):
    """One a layer, from the last to the first, as for learning rates of their own."""
    layers = {}
    for name, parameter in named:
        layers.setdefault(name.rsplit(".", 2)[0], []).append((name, parameter))
    return [{"params": layer, "lr": 0.001 * (1 + place)} for place, layer in enumerate(list(layers.values())[::-1])]


def unnamed(described):
    return [{**group, "params": [parameter for _, parameter in group["params"]]} for group in described]


OPTIMIZERS = {
    "plain": lambda named: torch.optim.Adam([parameter for _, parameter in named]),
    "named": lambda named: torch.optim.Adam(named),
    "one named group in another order": lambda named: torch.optim.Adam(named[::-1]),
    "one group in another order": lambda named: torch.optim.Adam([parameter for _, parameter in named[::-1]]),
    "named groups": lambda named: torch.optim.Adam(groups(named)),
    "groups": lambda named: torch.optim.Adam(unnamed(groups(named))),
    "without decay": lambda named: torch.optim.AdamW(named, weight_decay=0.0),
    "chosen": lambda named: torch.optim.Adam(named, 0.01, betas=(0.8, 0.99), eps=1e-6),
    "AdamW": lambda named: torch.optim.AdamW(named),
    "decay": lambda named: torch.optim.Adam(named, weight_decay=0.1),
    "amsgrad": lambda named: torch.optim.Adam(named, amsgrad=True),
    "maximize": lambda named: torch.optim.Adam(named, maximize=True),
    "NAdam": lambda named: torch.optim.NAdam(named),
    "RAdam": lambda named: torch.optim.RAdam(named),
    "SGD": lambda named: torch.optim.SGD(named, momentum=0.9),
}


def trained(model, make):
    """After some steps whose gradients depend on nothing but the parameter's name."""
    named = list(model.named_parameters())
    optimizer = make(named)
    for step in range(STEPS):
        for place, (_, parameter) in enumerate(named):
            random = np.random.default_rng([place, step])
            parameter.grad = torch.from_numpy(random.standard_normal(tuple(parameter.shape)).astype(np.float32))
        optimizer.step()
    return optimizer


def spoiled(state):
    """Under the names that wrappers give, with a second moment below zero, and with a state that is no state."""
    wrapped = {f"_orig_mod.module.{name}": value for name, value in state["model"].items()}
    names = [f"module._orig_mod.{name}" for name in state["optimizer"]["param_groups"][0]["param_names"]]
    group = {**state["optimizer"]["param_groups"][0], "param_names": names}
    yield "wrapped", {"model": wrapped, "optimizer": {**state["optimizer"], "param_groups": [group]}}
    first = state["optimizer"]["state"][0]
    negative = {**state["optimizer"]["state"], 0: {**first, "exp_avg_sq": -first["exp_avg_sq"]}}
    yield "negative", {"model": state["model"], "optimizer": {**state["optimizer"], "state": negative}}
    for name, step in (("endless", float("inf")), ("negative step", -3), ("half a step", 2.5), ("huge step", 10**400)):
        counted = {**state["optimizer"]["state"], 0: {**first, "step": step}}
        yield name, {"model": state["model"], "optimizer": {**state["optimizer"], "state": counted}}
    wrong = {**state["optimizer"]["param_groups"][0], "param_names": ["x", *names[1:]]}
    yield "wrong name", {"model": state["model"], "optimizer": {**state["optimizer"], "param_groups": [wrong]}}
    damaged = {**state["optimizer"]["state"], 0: {"step": [], "exp_avg": 1, "exp_avg_sq": None}}
    yield "damaged", {"model": state["model"], "optimizer": {**state["optimizer"], "state": damaged}}


def read_here(path, settings=None):
    """Without the process of its own in which torch reads."""
    worker.call = lambda runner, arrays, facts: torch_loader.read(arrays, facts)
    return read_tensors(path, None, settings or {})


def main(folder):
    """Make ``NAME.pt``; return the moments that the reader found in each, and ``true``: those that every one of them holds."""
    folder, moments, notes, names = Path(folder), {}, {}, {}
    for name, make in OPTIMIZERS.items():
        model = tmb.get_backend("torch").build(CONFIG, seed=1)
        optimizer = trained(model, make)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        files = [(name, state), *(spoiled(state) if name == "named" else ())]
        if name == "named":
            moments["true"] = {
                f"{slot}.{one}": optimizer.state[parameter][key].numpy()
                for one, parameter in model.named_parameters()
                for slot, key in (("m", "exp_avg"), ("v", "exp_avg_sq"))
            } | {"step": np.array(STEPS)}
        for kind, content in files:
            torch.save(content, folder / f"{kind}.pt")
            found = read_here(folder / f"{kind}.pt")
            moments[kind] = found.optimizer or {}
            notes[kind] = found.notes
            names[kind] = list(found.tensors)
    return flat(moments), {"notes": notes, "names": names}
