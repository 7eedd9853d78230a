"""What needs ``transformers`` on PyTorch, in one process of its own: python transformers_process.py JOBS.json.

``make``: MarianMT folders with random weights. ``tokenize``: sentences as padded ids. ``run``: a folder on a batch, through the
runner that a port's proof uses.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

VOCAB_SIZE = 41
PAD = VOCAB_SIZE - 1
SIZES = {
    "vocab_size": VOCAB_SIZE,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 40,
}
# What the published models have in common.
PUBLISHED = {
    "activation_function": "swish",
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "pad_token_id": PAD,
    "decoder_start_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
}


def start(place, **jobs):
    """Run jobs in a new process; paths and arrays go through the folder ``place``."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "jobs.json").write_text(json.dumps(jobs, default=str))
    done = subprocess.run([sys.executable, __file__, place / "jobs.json"], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]


def main(path):
    jobs = json.loads(Path(path).read_text())
    for folder, wishes in jobs.get("make", {}).items():
        make(folder, wishes)
    if "tokenize" in jobs:
        tokenize(**jobs["tokenize"])
    for job in jobs.get("run", []):
        run(**job)


def make(folder, wishes):
    """A MarianMT model from a configuration, saved by ``save_pretrained``."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    model = MarianMTModel(MarianConfig(**{**SIZES, **PUBLISHED, **wishes.get("config", {})}))
    random = torch.Generator().manual_seed(wishes["seed"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.copy_(drawn(name, parameter.shape, random))
        for table in (model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
            table.weight[PAD] = 0.0
        model.final_logits_bias.copy_(0.1 * torch.randn(model.final_logits_bias.shape, generator=random))
        for token, bias in wishes["bias"].items():
            model.final_logits_bias[0, int(token)] = bias
    model.generation_config.bad_words_ids = [[PAD]]
    model.save_pretrained(folder)


def drawn(name, shape, random):
    import torch

    values = torch.randn(shape, generator=random)
    if len(shape) == 1:
        return 0.05 * values + (1.0 if name.endswith("norm.weight") else 0.0)
    # The steps so far are to count for less than their positions and the source, or one token repeats itself for ever.
    loud = 2.0 if name.endswith("fc2.weight") else 0.5 if name.endswith("self_attn.out_proj.weight") else 1.0
    return loud * values / shape[-1] ** 0.5


def tokenize(folder, sentences, out):
    """Sentences by the folder's own tokenizer, as a padded batch."""
    from transformers import AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(folder, local_files_only=True)(sentences, padding=True, return_tensors="np")
    ids, mask = encoded["input_ids"], encoded["attention_mask"]
    np.savez(out, source=ids.astype(np.int64), source_valid_lens=mask.sum(axis=1).astype(np.int64))


def run(runner, folder, arrays, out, max_steps=0):
    from transformer_mb.porting.runners import bert, marian

    with np.load(arrays) as given:
        settings = {"path": folder, "max_steps": max_steps, "pooled": True}
        outputs, _ = {"bert": bert, "marian": marian}[runner].run(dict(given), settings)
    np.savez(out, **outputs)


if __name__ == "__main__":
    main(sys.argv[1])
