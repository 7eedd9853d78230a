"""torch's own reader and writer of ``.pt`` files."""

from __future__ import annotations

import argparse
import io
import pathlib
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import PortError
from ....machine.limits import limit_process
from ...safety.raw_arrays import array_from_bytes, dtype_of
from ..held import Held, held
from . import torch_adam

OF = "transformer_mb.of"  # the digest of the model that an optimizer's file belongs to
NAMED = re.compile(r"(?:GLOBAL|global:?|Unsupported global: GLOBAL) ([\w.]+)")
WIDENED = "tensors of bfloat16 were widened to float32."


def read(unused: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import torch

    path = Path(settings["path"])
    beside = Path(settings["beside"]) if "beside" in settings else None
    limit_process(path.stat().st_size + (beside.stat().st_size if beside else 0))
    found = parts(torch, load(torch, path), path)
    notes, optimizer, of = found.notes, found.optimizer, None
    if optimizer is None and beside is not None:
        optimizer = load(torch, beside)
        of = optimizer.get(OF) if isinstance(optimizer, dict) else None
    tensors = {f"tensor {name}": to_numpy(torch, name, value, notes) for name, value in found.tensors.items()}
    facts: dict[str, Any] = {
        "names": list(found.tensors),
        "of": of if isinstance(of, str) else None,
        "betas": None,
        "more": "",
        "others": {},
    }
    if optimizer is not None:
        state = _state(torch, optimizer, found.tensors, notes)
        tensors |= {f"optimizer {name}": array for name, array in state.arrays.items()}
        facts |= {"betas": state.betas, "more": state.more}
    for place, (key, others) in enumerate(found.others.items()):
        arrays = _readable(torch, others)
        tensors |= {f"other {place} {name}": array for name, array in arrays.items()}
        facts["others"][key] = [f"other {place} ", list(arrays), len(others)]
    return tensors, {**facts, "notes": _counted(notes)}


def load_natively(path: Path) -> dict[str, np.ndarray]:
    import torch

    weights = parts(torch, load(torch, path), path).tensors
    return {name: to_numpy(torch, name, value, []) for name, value in weights.items()}


def _readable(torch: Any, others: dict[str, Any]) -> dict[str, np.ndarray]:
    """Keep the arrays of what is not the model, which may be of any kind."""
    arrays = {}
    for name, value in others.items():
        with suppress(PortError):
            arrays[name] = to_numpy(torch, name, value, [])
    return arrays


def _counted(notes: list[str]) -> list[str]:
    """Write one note, not one for each tensor."""
    widened = notes.count(WIDENED)
    return [note for note in notes if note != WIDENED] + ([f"{widened} {WIDENED}"] if widened else [])


def load(torch: Any, path: Path) -> Any:
    try:
        with torch.serialization.safe_globals(harmless()):
            return torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise PortError(f"{path} asks for more memory than a file of its size needs: refused.") from None
    except Exception as error:  # torch raises what it meets
        named = NAMED.search(str(error))
        if named:
            raise PortError(
                f"{path} would call {named[1]}, which a state_dict does not need: refused, and nothing was executed. Save "
                "model.state_dict() alone."
            ) from None
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PortError(f"{path} must be a PyTorch state_dict, but torch cannot read it: {first:.300}.") from None


def parts(torch: Any, loaded: Any, path: Path) -> Held:
    """The state_dict, the optimizer's, and what else has tensors."""
    if not isinstance(loaded, dict):
        raise PortError(f"{path} must hold a dictionary of tensors by name, got a {type(loaded).__name__}.")
    if isinstance(loaded.get("state"), dict) and isinstance(loaded.get("param_groups"), list):
        raise PortError(
            f"{path} must hold a model's tensors by name, got the state of an optimizer (torch.optim) alone: name the model's "
            "own file, which is ported and inspected with the optimizer's file NAME.optimizer.pt beside it."
        )
    found = held(loaded, str(path), lambda value: isinstance(value, torch.Tensor) or _array(value) is not None)
    for entry in (found.tensors, *found.others.values()):
        entry.update(
            {name: torch.from_numpy(array.copy()) for name, value in entry.items() if (array := _array(value)) is not None}
        )
    return found


def _array(value: Any) -> np.ndarray | None:
    return value.array() if isinstance(value, StandIn) else None


def to_numpy(torch: Any, name: str, tensor: Any, notes: list[str]) -> np.ndarray:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise PortError(f"Tensor {name!r:.80} must be a dense array of real numbers, got {tensor.dtype}, {tensor.layout}.")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise PortError(f"Tensor {name!r:.80} of shape {list(tensor.shape)} claims more numbers than the file holds: refused.")
    if tensor.dtype == torch.bfloat16:
        notes.append(WIDENED)
        tensor = tensor.float()
    return np.array(tensor.detach().numpy(), order="C")


def _state(torch: Any, state: Any, weights: dict[str, Any], notes: list[str]) -> torch_adam.Moments:
    """Read ``torch.optim.Adam.state_dict()``, or ``Trainer.state_dict``, which names everything."""
    if not isinstance(state, dict):
        notes.append("The optimizer's state was left out: it is not torch.optim.Adam's.")
        return torch_adam.Moments({})
    if "step" in state and any(str(name).startswith("m.") for name in state):
        return torch_adam.Moments({name: np.asarray(value) for name, value in state.items() if isinstance(value, torch.Tensor)})
    return torch_adam.adam_moments(state, weights, lambda name, tensor: to_numpy(torch, name, tensor, notes), notes)


def write(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import torch

    names = settings["names"]
    weights = {name: torch.from_numpy(arrays[f"tensor {name}"]) for name in names}
    weights |= {name: weights[first] for name, first in settings["shared"].items()}
    _save(torch, weights, settings["path"])
    if "optimizer step" not in arrays:
        return {}, {}
    parameters = [torch.nn.Parameter(weights[name]) for name in names if f"optimizer m.{name}" in arrays]
    fresh = torch.optim.Adam(parameters, betas=tuple(settings["betas"])).state_dict()
    moments = [name for name in names if f"optimizer m.{name}" in arrays]
    fresh["param_groups"][0]["param_names"] = moments
    fresh["state"] = {
        number: {
            "step": torch.tensor(float(arrays["optimizer step"])),
            **{key: torch.from_numpy(arrays[f"optimizer {slot}.{name}"]) for slot, key in torch_adam.MOMENTS.items()},
        }
        for number, name in enumerate(moments)
    }
    _save(torch, {**fresh, OF: settings["of"]}, settings["beside"])
    return {}, {}


def _save(torch: Any, tree: dict[str, Any], path: str) -> None:
    """Save in memory first: of a full disk torch says nothing but ``unexpected pos 64 vs 0``."""
    stream = io.BytesIO()
    torch.save(tree, stream)
    Path(path).write_bytes(stream.getbuffer())


KINDS = {"f": "float", "i": "int", "u": "uint", "b": "bool"}


class StandIn:
    """A harmless object that is made of arguments and then gets a state, which does nothing; of an array it keeps the bytes.

    It stands for what training scripts save beside their weights and torch refuses to make, such as numbers of NumPy.
    """

    def __init__(self, *arguments: Any):
        self.arguments, self.state = arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    @property
    def shape(self) -> tuple[int, ...]:
        array = self.array()
        return () if array is None else array.shape

    def array(self) -> np.ndarray | None:
        """The numbers of an ``ndarray``: its state is (version, shape, dtype, Fortran order, bytes). None: it is none."""
        match self.state:
            case (_, tuple(shape), StandIn(arguments=(str(code), *_), state=(_, "<" | "|", *_)), bool(fortran), bytes(raw)):
                name = (
                    "bool" if code == "b1" else f"{KINDS.get(code[:1], '')}{8 * int(code[1:]) if code[1:].isdecimal() else ''}"
                )
                try:
                    return array_from_bytes(raw, dtype_of(name, "of NumPy"), shape, "of NumPy", fortran)
                except PortError:
                    return None
        return None


def harmless() -> list[Any]:
    """Return what ``torch.serialization.safe_globals`` takes, under the names of NumPy 1 and 2."""
    multiarray = [f"numpy.{room}.multiarray.{name}" for room in ("core", "_core") for name in ("scalar", "_reconstruct")]
    named = [(StandIn, name) for name in (*multiarray, "numpy.dtype", "numpy.ndarray")]
    return [StandIn, *named, argparse.Namespace, pathlib.PosixPath, pathlib.PurePosixPath]
