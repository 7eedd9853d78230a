"""Folders that ``transformers`` makes, and what its own classes compute with them in float64.

``python -m families.library ASKED.json ARRAYS.npz``, by any interpreter that has the library; nothing of this project is used.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 12
# By name: what ``generate`` is told beside ``ALIKE``.
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"num_beams": 1},
    "beam": {"num_beams": 5, "length_penalty": 0.0},
    "beam of means": {"num_beams": 5, "length_penalty": 1.0},
    "beam of long ones": {"num_beams": 5, "length_penalty": 2.0},
}
ALIKE: Mapping[str, Any] = {"early_stopping": False, "max_new_tokens": STEPS}
LENGTHS = (9, 1, 4, 6)  # of sources; prompts are as long as the shortest of several tokens
# By part of a tensor's name: what came before counts for less than its position and the source, or one token repeats for ever.
LOUD = {
    **{"fc2": 4.0, "mlp.c_proj": 2.0, "lin2": 2.0, "encoder_attn.out_proj": 1.0, "self_attn.out_proj": 2.0},
    **{"q_proj": 2.0, "k_proj": 2.0, "embed_positions": 3.0, "embed_tokens": 0.25, "shared": 0.25},
}
SEEN: Mapping[str, int] = {"prompt": 4, "target": 7}


def make_and_run(facts: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Make a folder per model with random weights, and run it.

    Args:
        facts: ``folder``; ``models``, by name a class and its configuration; ``seed``.
    Returns: by ``NAME/batch.X`` what it is given, by ``NAME/X`` its ``encoder``, ``logits``, ``head`` of a task, the tokens of
    each of ``SEARCHES`` (-1 behind the end), in float64; and the versions that ran.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_grad_enabled(False)
    found = {}
    folder, seed = facts["folder"], facts.get("seed", 0)
    for name, (class_name, fields) in facts["models"].items():
        made = getattr(transformers, class_name)
        model = made(made.config_class(**fields))
        draw(torch, model, seed)
        for forced in ("forced_eos_token_id", "forced_bos_token_id"):
            setattr(model.config, forced, None)
            if model.can_generate():
                setattr(model.generation_config, forced, None)
        if class_name == "MarianMTModel":
            model.generation_config.bad_words_ids = [[model.config.pad_token_id]]
        place = Path(folder) / name
        model.save_pretrained(place)
        found |= {f"{name}/{key}": array for key, array in run(class_name, place, seed).items()}
    return found, {"transformers": transformers.__version__, "torch": torch.__version__}


def run(class_name: str, place: Path, seed: int = 0) -> dict[str, np.ndarray]:
    """Load a folder in float64 and run its class in it: the library rounds sinusoids, turns and some norms to float32."""
    import torch
    import transformers

    made = getattr(transformers, class_name)
    # Its own attention rounds OPT's softmax to float32; PyTorch's does not.
    attention = "sdpa" if made._supports_sdpa else "eager"
    model = made.from_pretrained(place, dtype=torch.float64, attn_implementation=attention, local_files_only=True).eval()
    _exact_sinusoids(torch, model)
    _exact_inside(torch, model)
    batch = _batch(model.config, model.config.is_encoder_decoder, seed)
    given = {name: torch.from_numpy(array) for name, array in batch.items()}
    if not model.config.is_encoder_decoder and model.can_generate():
        outputs = {"logits": model(input_ids=given["target"]).logits}
        outputs |= _generated(torch, model, {"input_ids": given["prompt"], "attention_mask": torch.ones_like(given["prompt"])})
    else:
        mask = (torch.arange(given["source"].shape[1]) < given["source_valid_lens"][:, None]).long()
        outputs = _run_encoder(torch, model, given, {"input_ids": given["source"], "attention_mask": mask})
    arrays = {name: value.numpy() for name, value in outputs.items()}
    return {**arrays, **{f"batch.{name}": array for name, array in batch.items()}}


def _run_encoder(torch: Any, model: Any, given: Mapping[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    if model.can_generate():
        states, logits = _states_and_logits(torch, model, inputs, given["target"])
        states = states * inputs["attention_mask"][..., None]
        return {"encoder": states, "logits": logits, **_generated(torch, model, inputs)}
    output = model(**inputs, output_hidden_states=True)
    states = output.encoder_hidden_states[-1] if model.config.is_encoder_decoder else output.hidden_states[-1]
    mask = inputs["attention_mask"][..., None]
    found = {"encoder": states * mask}
    if "start_logits" in output:
        found["head"] = torch.stack([output.start_logits, output.end_logits], dim=-1) * mask
    elif "logits" in output:
        found["head"] = output.logits * mask if output.logits.ndim == 3 else output.logits
    return found


def _states_and_logits(torch: Any, model: Any, inputs: dict[str, Any], target: Any) -> tuple[Any, Any]:
    """Run the target whole; FSMT a step at a time, whose causal mask overflows in float64 and is not there beside a cache."""
    if model.config.model_type != "fsmt":
        output = model(**inputs, decoder_input_ids=target)
        return output.encoder_last_hidden_state, output.logits
    encoded, cache, logits = model.get_encoder()(**inputs), None, []
    for step in range(target.shape[1]):
        given = {"decoder_input_ids": target[:, step : step + 1], "past_key_values": cache, "use_cache": True}
        output = model(encoder_outputs=encoded, attention_mask=inputs["attention_mask"], **given)
        cache = output.past_key_values
        logits.append(output.logits)
    return encoded[0], torch.cat(logits, dim=1)


def _generated(torch: Any, model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Tokens [B, STEPS] of each search."""
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    found = {}
    for name, fields in SEARCHES.items():
        ids = model.config.pad_token_id if model.config.pad_token_id is not None else model.config.eos_token_id
        rows = model.generate(**inputs, do_sample=False, **fields, **ALIKE, pad_token_id=ids)[:, start:].tolist()
        eos = model.config.eos_token_id
        cut = [row[: row.index(eos)] if eos in row else row for row in rows]
        found[name] = torch.tensor([row + [-1] * (STEPS - len(row)) for row in cut])
    return found


def _batch(config: Any, both: bool, seed: int) -> dict[str, np.ndarray]:
    """Return ragged sources that end in the end token, targets, and prompts for a decoder alone."""
    random = np.random.default_rng(seed)
    pad = config.pad_token_id if config.pad_token_id is not None else config.eos_token_id
    eos = getattr(config, "eos_token_id", None)
    eos = 2 if eos is None else eos
    special = {pad, eos, getattr(config, "bos_token_id", None), getattr(config, "decoder_start_token_id", None)}
    sizes = [getattr(config, f"{side}_vocab_size", None) or config.vocab_size for side in ("src", "tgt")]
    ordinary = [np.array([number for number in range(size) if number not in special]) for size in sizes]
    lens = np.array(LENGTHS)
    source = random.choice(ordinary[0], (len(lens), max(lens)))
    source[np.arange(max(lens)) == lens[:, None] - 1] = eos
    source[np.arange(max(lens)) >= lens[:, None]] = pad
    target = random.choice(ordinary[1], (len(lens), SEEN["target"]))
    if both:
        target[:, 0] = config.decoder_start_token_id
    prompt = target[:, : SEEN["prompt"]]
    return {"source": source, "source_valid_lens": lens, "target": target, "prompt": prompt}


def draw(torch: Any, model: Any, seed: int) -> None:
    """Random weights that keep a model from repeating one token for ever."""
    random = torch.Generator().manual_seed(seed)
    sinusoids = {id(module.weight) for module in model.modules() if _computed(module) and hasattr(module, "weight")}
    for name, parameter in model.named_parameters():
        if id(parameter) in sinusoids:
            continue
        values = torch.randn(parameter.shape, generator=random)
        if parameter.ndim == 1:
            scale = name.endswith("weight") and ("norm" in name.lower() or "ln_" in name)
            values = 0.05 * values + (1.0 if scale else 0.0)
        else:
            values *= next((loud for part, loud in LOUD.items() if part in name), 1.0) / math.sqrt(parameter.shape[-1])
        parameter.copy_(values)
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None and id(module.weight) not in sinusoids:
            module.weight[module.padding_idx] = 0.0  # as trained models have it
    if (bias := getattr(model, "final_logits_bias", None)) is not None:
        bias.copy_(0.1 * torch.randn(bias.shape, generator=random))


def _computed(module: Any) -> bool:
    return "Sinusoidal" in type(module).__name__


def _exact_sinusoids(torch: Any, model: Any) -> None:
    """Put the library's own formulas into its tables in float64, each where the float32 table bears it out."""
    for module in model.modules():
        if not _computed(module):
            continue
        place = "weight" if hasattr(module, "weight") else "weights"
        table = getattr(module, place).detach().numpy().astype(np.float64)
        rows, width = table.shape
        half = width // 2
        tables = []
        for denominator in (width / 2, half - 1):
            rates = np.exp(np.arange(half) * -(math.log(10000) / denominator))
            angles = np.arange(rows)[:, None] * rates
            exact = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
            exact[~table.any(axis=1)] = 0.0  # the row of padding
            tables.append(exact)
        exact = min(tables, key=lambda one: np.abs(one - table).max())
        assert np.abs(exact - table).max() < 1e-3, f"{type(module).__name__} holds no sinusoids"
        getattr(module, place).data = torch.from_numpy(exact)


def _exact_inside(torch: Any, model: Any) -> None:
    """Compute in float64 what modules of Llama, Mistral and T5 compute in float32, by the library's own formulas."""
    for module in model.modules():
        kind = type(module).__name__
        if kind == "BlenderbotSmallDecoder" and "embed_scale" not in inspect.getsource(type(module).forward):
            # Releases 4.57 and 5.23 keep the scale and do not use it; the norm takes all of it away but for its epsilon.
            module.layernorm_embedding.register_forward_pre_hook(lambda _, given, of=module: (given[0] * of.embed_scale,))
        if kind in ("LlamaRMSNorm", "MistralRMSNorm", "T5LayerNorm", "MT5LayerNorm"):
            module.forward = _root_mean_square(torch, module)
        if kind in ("LlamaRotaryEmbedding", "MistralRotaryEmbedding"):
            module.forward = _turns(torch, module)


def _root_mean_square(torch: Any, module: Any) -> Any:
    return lambda X: module.weight * X * torch.rsqrt(X.pow(2).mean(-1, keepdim=True) + module.variance_epsilon)


def _turns(torch: Any, module: Any) -> Any:
    parameters = getattr(module.config, "rope_parameters", None) or {"rope_theta": module.config.rope_theta}
    half = module.inv_freq.numel()
    rates = float(parameters["rope_theta"]) ** (-torch.arange(half, dtype=torch.float64) / half)
    assert (rates - module.inv_freq).abs().max() < 1e-6, "these are no rotary positions of that base"

    def forward(X: Any, position_ids: Any, *others: Any, **more: Any) -> Any:
        angles = torch.cat([position_ids[..., None].double() * rates] * 2, dim=-1)
        return angles.cos(), angles.sin()

    return forward


if __name__ == "__main__":
    computed, versions = make_and_run(json.loads(Path(sys.argv[1]).read_text()))
    np.savez(sys.argv[2], **computed)  # type: ignore[arg-type]
    print(json.dumps(versions))
