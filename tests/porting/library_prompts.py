"""Decoders alone of ``transformers`` with random weights, and what ``generate`` makes of prompts in float64."""

from pathlib import Path

import numpy as np

from porting.transformers_generate import padded

VOCABULARY, EOS, PAD = 61, 60, 1
MODELS = {
    "gpt2": (
        "GPT2LMHeadModel",
        {"n_embd": 24, "n_head": 4, "n_layer": 2, "n_positions": 40, "eos_token_id": EOS, "bos_token_id": EOS},
    ),
    "opt": (
        "OPTForCausalLM",
        {
            **{"hidden_size": 24, "word_embed_proj_dim": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 36},
            **{"max_position_embeddings": 40, "pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": EOS, "dropout": 0.0},
        },
    ),
}


def continued(arrays, folder, settings, together):
    """By model and number of the setting, as ``MODEL/NUMBER``: ids after each prompt, -1 after the end.

    Prompts by themselves, or those of the settings whose numbers are ``together`` padded on the left to one length.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_grad_enabled(False)
    prompts = [row[:count].tolist() for row, count in zip(arrays["prompt"], arrays["lens"], strict=True)]
    found = {}
    for name, (class_name, fields) in MODELS.items():
        made, place = getattr(transformers, class_name), Path(folder) / name
        model = made(made.config_class(vocab_size=VOCABULARY, **fields))
        draw(torch, model)
        model.save_pretrained(place)
        model = made.from_pretrained(place, dtype=torch.float64, attn_implementation="sdpa", local_files_only=True).eval()
        for number, fields_of_search in enumerate(settings):
            ids = {"eos_token_id": EOS, "pad_token_id": PAD, "bos_token_id": EOS}
            model.generation_config = transformers.GenerationConfig(**ids, **fields_of_search)
            batches = [prompts] if number in together else [[prompt] for prompt in prompts]
            rows = [row for batch in batches for row in after(torch, model, batch)]
            found[f"{name}/{number}"] = padded(rows, EOS)
    return found, {"version": transformers.__version__}


def draw(torch, model):
    """So that positions and what came before count for more than the last token, which would repeat itself."""
    random = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        values = torch.randn(parameter.shape, generator=random)
        loud = 3.0 if "wpe" in name or "embed_positions" in name else 2.0 if "c_proj" in name or "fc2" in name else 1.0
        scale = 1.0 if name.endswith("weight") and ("norm" in name or "ln_" in name) else 0.0
        parameter.copy_(0.05 * values + scale if parameter.ndim == 1 else loud * values / parameter.shape[-1] ** 0.5)


def after(torch, model, prompts):
    longest = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (longest - len(one)) + one for one in prompts])
    mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in prompts])
    return model.generate(input_ids=ids, attention_mask=mask, do_sample=False)[:, longest:].tolist()


def of_arrays(found):
    return {name: [[int(token) for token in row if token >= 0] for row in np.asarray(rows)] for name, rows in found.items()}
