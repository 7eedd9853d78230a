"""Models of ``transformers`` on PyTorch, of the tensors and fields that our readers return: nothing is opened or fetched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import PortError
from ..probe import padded_tokens, parts


def run_marian(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    torch, transformers = _start()
    native, steps = settings["native_settings"], settings["max_steps"]
    batch, tensors = parts(arrays)
    config = transformers.MarianConfig(**native["config"], attn_implementation="eager")
    model = _loaded(torch, transformers.MarianMTModel, config, tensors)
    model.generation_config = transformers.GenerationConfig(**native["generation"])
    inputs = _inputs(torch, batch)
    output = model(**inputs, decoder_input_ids=torch.from_numpy(batch["target"]))
    generated = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=steps)
    eos = config.eos_token_id
    rows = [row[: row.index(eos)] if eos in row else row for row in generated[:, 1:].tolist()]
    outputs = {"encoder": output.encoder_last_hidden_state.numpy(), "logits": output.logits.numpy()}
    return {**outputs, "tokens": padded_tokens(rows, steps)}, _ran(torch, transformers)


def run_bert(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    torch, transformers = _start()
    batch, tensors = parts(arrays)
    pooler = settings["config"]["pooler"]
    config = transformers.BertConfig(**settings["native_settings"]["config"], attn_implementation="eager")
    model = _loaded(torch, transformers.BertModel, config, tensors, add_pooling_layer=pooler)
    types = {"token_type_ids": torch.from_numpy(batch["token_types"])} if "token_types" in batch else {}
    output = model(**_inputs(torch, batch), **types)
    pooled = {"pooled": output.pooler_output.numpy()} if pooler else {}
    return {"encoder": output.last_hidden_state.numpy(), **pooled}, _ran(torch, transformers)


def _start() -> tuple[Any, Any]:
    """torch and transformers, offline and without code from its hub, whatever the user's settings are."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", USE_HUB_KERNELS="NO")
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_grad_enabled(False)
    return torch, transformers


def _ran(torch: Any, transformers: Any) -> dict[str, str]:
    return {"ran": f"transformers {transformers.__version__} on torch {torch.__version__}"}


def _loaded(torch: Any, model_class: Any, config: Any, tensors: Mapping[str, np.ndarray], **options: Any) -> Any:
    """An instance of ``model_class`` in evaluation mode, in float32: narrower tensors are exact in it.

    Of a state_dict without a place transformers itself does what it does with a folder's: prefixes, older names, ties.
    """
    state = {name: torch.from_numpy(array).float() for name, array in tensors.items()}
    model, info = model_class.from_pretrained(None, config=config, state_dict=state, output_loading_info=True, **options)
    wrong = {kind: sorted(map(str, info[f"{kind}_keys"])) for kind in ("missing", "unexpected", "mismatched")}
    if any(wrong.values()):
        listed = "; ".join(f"{kind} {', '.join(names)}" for kind, names in wrong.items() if names)
        raise PortError(f"transformers' {model_class.__name__} does not take these tensors for its own: {listed:.500}.")
    return model.float().eval()


def _inputs(torch: Any, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
    source, lens = (torch.from_numpy(batch[name]) for name in ("source", "source_valid_lens"))
    return {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
