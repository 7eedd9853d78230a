"""A model of ``transformers`` from the tensors and the fields that our readers found: no folder is opened, nothing fetched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import PortError


def start() -> tuple[Any, Any]:
    """torch and transformers, offline and without code from its hub, whatever the user's settings are."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", USE_HUB_KERNELS="NO")
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    return torch, transformers


def loaded(torch: Any, model_class: Any, config: Any, arrays: Mapping[str, np.ndarray], **options: Any) -> Any:
    """An instance of ``model_class`` in evaluation mode, in float32: narrower tensors are exact in it.

    Of a state_dict without a place transformers itself does what it does with a folder's: prefixes, older names, ties.
    """
    tensors = {name.removeprefix("tensor."): array for name, array in arrays.items() if name.startswith("tensor.")}
    state = {name: torch.from_numpy(array).float() for name, array in tensors.items()}
    model, info = model_class.from_pretrained(None, config=config, state_dict=state, output_loading_info=True, **options)
    wrong = {kind: sorted(map(str, info[f"{kind}_keys"])) for kind in ("missing", "unexpected", "mismatched")}
    if any(wrong.values()):
        listed = "; ".join(f"{kind} {', '.join(names)}" for kind, names in wrong.items() if names)
        raise PortError(f"transformers' {model_class.__name__} does not take these tensors for its own: {listed:.500}.")
    return model.float().eval()


def inputs(torch: Any, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    source, lens = (torch.from_numpy(arrays[f"batch.{name}"]) for name in ("source", "source_valid_lens"))
    return {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
