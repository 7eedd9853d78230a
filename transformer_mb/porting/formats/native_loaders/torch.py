"""torch's own reader and writer of ``.pt`` files."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import PortError
from ....processes.limits import limit_process
from . import torch_adam
from .torch_names import without_wrappers

MODEL_KEYS = ("model", "state_dict", "model_state_dict", "net", "module")
OPTIMIZER_KEYS = ("optimizer", "optimizer_state_dict", "optim", "opt")
OF = "transformer_mb.of"  # the digest of the model that an optimizer's file belongs to
NAMED = re.compile(r"(?:GLOBAL|global:?|Unsupported global: GLOBAL) ([\w.]+)")
WIDENED = "tensors of bfloat16 were widened to float32."


def read(unused: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import torch

    path = Path(settings["path"])
    beside = Path(settings["beside"]) if "beside" in settings else None
    limit_process(path.stat().st_size + (beside.stat().st_size if beside else 0))
    loaded = load(torch, path)
    notes: list[str] = []
    weights, optimizer = parts(torch, loaded, path)
    of = None
    if optimizer is None and beside is not None:
        optimizer = load(torch, beside)
        of = optimizer.get(OF) if isinstance(optimizer, dict) else None
    tensors = {f"tensor {name}": to_numpy(torch, name, value, notes) for name, value in weights.items()}
    if optimizer is not None:
        state = _state(torch, optimizer, weights, notes)
        tensors |= {f"optimizer {name}": array for name, array in state.items()}
    return tensors, {"names": list(weights), "notes": _counted(notes), "of": of if isinstance(of, str) else None}


def load_natively(path: Path) -> dict[str, np.ndarray]:
    import torch

    weights, _ = parts(torch, load(torch, path), path)
    return {name: to_numpy(torch, name, value, []) for name, value in weights.items()}


def _counted(notes: list[str]) -> list[str]:
    """One note, not one for each tensor."""
    widened = notes.count(WIDENED)
    return [note for note in notes if note != WIDENED] + ([f"{widened} {WIDENED}"] if widened else [])


def load(torch: Any, path: Path) -> Any:
    try:
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


def parts(torch: Any, loaded: Any, path: Path) -> tuple[dict[str, Any], Any]:
    """The state_dict, without the prefixes that DataParallel and torch.compile add, and the optimizer's."""
    if not isinstance(loaded, dict):
        raise PortError(f"{path} must hold a dictionary of tensors by name, got a {type(loaded).__name__}.")
    optimizer = next((loaded[key] for key in OPTIMIZER_KEYS if isinstance(loaded.get(key), dict)), None)
    if isinstance(loaded.get("state"), dict) and isinstance(loaded.get("param_groups"), list):
        raise PortError(
            f"{path} must hold a model's tensors by name, got the state of an optimizer (torch.optim) alone: name the model's "
            "own file, which is ported and inspected with the optimizer's file NAME.optimizer.pt beside it."
        )
    weights = next((loaded[key] for key in MODEL_KEYS if isinstance(loaded.get(key), dict)), loaded)
    tensors = {name: value for name, value in weights.items() if isinstance(value, torch.Tensor) and isinstance(name, str)}
    return without_wrappers(tensors), optimizer


def to_numpy(torch: Any, name: str, tensor: Any, notes: list[str]) -> np.ndarray:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise PortError(f"Tensor {name!r:.80} must be a dense array of real numbers, got {tensor.dtype}, {tensor.layout}.")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise PortError(f"Tensor {name!r:.80} of shape {list(tensor.shape)} claims more numbers than the file holds: refused.")
    if tensor.dtype == torch.bfloat16:
        notes.append(WIDENED)
        tensor = tensor.float()
    return np.array(tensor.detach().numpy(), order="C")


def _state(torch: Any, state: Any, weights: dict[str, Any], notes: list[str]) -> dict[str, np.ndarray]:
    """Of ``torch.optim.Adam.state_dict()``, or of ``Trainer.state_dict``, which names everything."""
    if not isinstance(state, dict):
        notes.append("The optimizer's state was left out: it is not torch.optim.Adam's.")
        return {}
    if "step" in state and any(str(name).startswith("m.") for name in state):
        return {name: np.asarray(value) for name, value in state.items() if isinstance(value, torch.Tensor)}
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
    fresh = torch.optim.Adam(parameters).state_dict()
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
    """In memory first: of a full disk torch says nothing but ``unexpected pos 64 vs 0``."""
    stream = io.BytesIO()
    torch.save(tree, stream)
    Path(path).write_bytes(stream.getbuffer())
