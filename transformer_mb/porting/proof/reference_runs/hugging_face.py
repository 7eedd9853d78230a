"""Models of ``transformers`` on PyTorch, of the tensors and fields that our readers return: nothing is opened or fetched."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import PortError
from ..probe import HEAD, batch_of_heads, padded_tokens, parts

Found = tuple[dict[str, np.ndarray], dict[str, Any]]


def run_folder(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> Found:
    """Run the class of a family on the probe batch; returns outputs, and what ran."""
    torch, transformers = _start()
    native, ours = settings["native_settings"], settings["config"]
    batch, tensors = parts(arrays)
    made = getattr(transformers, native["class"])
    config = transformers.AutoConfig.for_model(native["type"], **native["config"], attn_implementation="eager")
    pooler = {"add_pooling_layer": ours["pooler"]} if "add_pooling_layer" in inspect.signature(made).parameters else {}
    of_heads = {name for head in native.get("heads", []) for name in head["tensors"]} | set(native.get("kept", []))
    base = {name: array for name, array in tensors.items() if name not in of_heads}
    model = _loaded(torch, made, config, base, **pooler)
    restored = _with_scale(model)
    runs = {"encoder": _encoder, "decoder": _decoder, "encoder_decoder": _both}[ours["architecture"]]
    found = runs(torch, model, batch)
    if ours["architecture"] == "encoder_decoder":
        model.generation_config = transformers.GenerationConfig(**native["generation"])
        found["tokens"] = _generated(model, _inputs(torch, batch), settings["max_steps"])
    for head in native.get("heads", []):
        found[f"{HEAD}{head['task']}"] = _head(torch, transformers, native, ours, head, batch, tensors)
    return {name: array if name == "tokens" else array.numpy() for name, array in found.items()}, _ran(
        torch, transformers, restored
    )


def _with_scale(model: Any) -> str:
    """Have BlenderbotSmall's decoder multiply tokens by the ``embed_scale`` that it keeps; say so, or "".

    Releases 4.57 and 5.23 do not use it, earlier ones do: the norm behind it takes a scale away, but for its epsilon.
    """
    decoder = getattr(getattr(model, "model", None), "decoder", None)
    if decoder is None or type(decoder).__name__ != "BlenderbotSmallDecoder":
        return ""
    if "embed_scale" in inspect.getsource(type(decoder).forward):
        return ""
    decoder.layernorm_embedding.register_forward_pre_hook(lambda module, given: (given[0] * decoder.embed_scale,))
    return ", with the scale of the decoder's tokens, which this release leaves out"


def _encoder(torch: Any, model: Any, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
    types = {"token_type_ids": torch.from_numpy(batch["token_types"])} if "token_types" in batch else {}
    output = model(**_inputs(torch, batch), **types)
    pooled = getattr(output, "pooler_output", None)
    return {"encoder": output.last_hidden_state, **({} if pooled is None else {"pooled": pooled})}


def _decoder(torch: Any, model: Any, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {"logits": model(input_ids=torch.from_numpy(batch["target"])).logits}


def _both(torch: Any, model: Any, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
    output = model(**_inputs(torch, batch), decoder_input_ids=torch.from_numpy(batch["target"]), use_cache=False)
    return {"encoder": output.encoder_last_hidden_state, "logits": output.logits}


def _head(
    torch: Any,
    transformers: Any,
    native: Mapping[str, Any],
    ours: Mapping[str, Any],
    head: Mapping[str, Any],
    batch: Mapping[str, np.ndarray],
    tensors: Mapping[str, np.ndarray],
) -> Any:
    """Run the class of a head; returns what its last layer gives, of the state that the class takes, and 0 at padding."""
    more = {"num_labels": head["labels"]} if head["labels"] else {}
    config = transformers.AutoConfig.for_model(native["type"], **native["config"], **more, attn_implementation="eager")
    model = _loaded(torch, getattr(transformers, head["class"]), config, tensors, whole=False)
    seen: list[Any] = []
    model.get_submodule(head["module"]).register_forward_hook(lambda module, given, output: seen.append(output))
    source, lens, types = batch_of_heads(batch, ours["eos_id"] if ours["architecture"] == "encoder_decoder" else None)
    if lens is None:
        model(input_ids=torch.from_numpy(source))
        return seen[0] if head["takes"] == "all" else seen[0][:, -1]
    inputs = _inputs(torch, {"source": source, "source_valid_lens": lens})
    model(**inputs, **({} if types is None else {"token_type_ids": torch.from_numpy(types)}))
    return seen[0] * inputs["attention_mask"][..., None] if head["takes"] == "all" else seen[0]


def _generated(model: Any, inputs: Mapping[str, Any], steps: int) -> np.ndarray:
    """Greedy tokens [B, steps], without the first token and without what follows the end."""
    generated = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=steps)
    eos = model.config.eos_token_id
    rows = [row[: row.index(eos)] if eos in row else row for row in generated[:, 1:].tolist()]
    return padded_tokens(rows, steps)


def _start() -> tuple[Any, Any]:
    """torch and transformers, offline and without code from its hub, whatever the user's settings are."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", USE_HUB_KERNELS="NO")
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_grad_enabled(False)
    return torch, transformers


def _ran(torch: Any, transformers: Any, but: str = "") -> dict[str, str]:
    return {"ran": f"transformers {transformers.__version__} on torch {torch.__version__}{but}"}


def _loaded(
    torch: Any, model_class: Any, config: Any, tensors: Mapping[str, np.ndarray], whole: bool = True, **options: Any
) -> Any:
    """An instance of ``model_class`` in evaluation mode, in float32: narrower tensors are exact in it.

    ``whole``: it must take all of the tensors.

    Of a state_dict without a place transformers itself does what it does with a folder's: prefixes, older names, ties.
    """
    state = {name: torch.from_numpy(array).float() for name, array in tensors.items()}
    model, info = model_class.from_pretrained(None, config=config, state_dict=state, output_loading_info=True, **options)
    kinds = ("missing", "unexpected", "mismatched") if whole else ("missing", "mismatched")
    wrong = {kind: sorted(map(str, info[f"{kind}_keys"])) for kind in kinds}
    if any(wrong.values()):
        listed = "; ".join(f"{kind} {', '.join(names)}" for kind, names in wrong.items() if names)
        raise PortError(f"transformers' {model_class.__name__} does not take these tensors for its own: {listed:.500}.")
    return model.float().eval()


def _inputs(torch: Any, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
    source, lens = (torch.from_numpy(batch[name]) for name in ("source", "source_valid_lens"))
    return {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
