"""Folders as transformers 4.57 saves them from TensorFlow, flax and torch, with what each computes: run in that environment.

    python make.py FOLDER KIND FAMILY [FAMILY ...]

KIND is ``tensorflow``, ``flax`` or ``torch``; FOLDER/KIND/FAMILY holds the model and ``outputs.npz``, FOLDER/KIND/FAMILY-shards
the same in shards. Every weight is drawn, so that none that is exchanged or left out goes unseen.
"""

import os
import sys
from pathlib import Path

os.environ.update(
    TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="1", JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1"
)
# Two frameworks in one process can crash: TensorFlow imports JAX where it finds it, and both register the same messages.
if "tensorflow" in sys.argv:
    sys.modules["jax"] = None
os.environ.update(
    {
        name: str(int(kind in sys.argv))
        for name, kind in (("USE_TF", "tensorflow"), ("USE_FLAX", "flax"), ("USE_TORCH", "torch"))
    }
)
import numpy as np
import transformers

VOCABULARY, PAD, EOS = 41, 40, 0
BOTH = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 20,
    "pad_token_id": PAD,
    "bos_token_id": 1,
    "eos_token_id": EOS,
    "decoder_start_token_id": PAD,
    "forced_eos_token_id": EOS,
}
SIDE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
    "pad_token_id": PAD,
}
OF_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "decoder_start_token_id": PAD,
}
OF_ROBERTA = {"type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
# The class, without the framework's prefix, and the fields of its configuration.
FAMILIES = {
    "marian": ("MarianMTModel", {**BOTH, "scale_embedding": True, "activation_function": "swish"}),
    "bert": ("BertModel", SIDE),
    "bart": ("BartForConditionalGeneration", BOTH),
    "mbart": ("MBartForConditionalGeneration", {**BOTH, "scale_embedding": True}),
    "pegasus": ("PegasusForConditionalGeneration", {**BOTH, "scale_embedding": True}),
    "blenderbot": ("BlenderbotForConditionalGeneration", {**BOTH, "scale_embedding": True}),
    "blenderbot-small": ("BlenderbotSmallForConditionalGeneration", {**BOTH, "scale_embedding": True}),
    "roberta": ("RobertaModel", {**SIDE, **OF_ROBERTA}),
    "xlm-roberta": ("XLMRobertaModel", {**SIDE, **OF_ROBERTA}),
    "distilbert": (
        "DistilBertModel",
        {
            "vocab_size": VOCABULARY,
            "dim": 16,
            "n_layers": 2,
            "n_heads": 4,
            "hidden_dim": 24,
            "max_position_embeddings": 24,
            "pad_token_id": PAD,
        },
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        {
            "vocab_size": VOCABULARY,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 24,
            "n_inner": 24,
            "bos_token_id": 1,
            "eos_token_id": EOS,
            "pad_token_id": PAD,
        },
    ),
    "opt": (
        "OPTForCausalLM",
        {
            **{k: v for k, v in SIDE.items() if k != "intermediate_size"},
            "ffn_dim": 24,
            "word_embed_proj_dim": 16,
            "bos_token_id": 1,
            "eos_token_id": EOS,
        },
    ),
    "t5": ("T5ForConditionalGeneration", OF_T5),
    "mt5": ("MT5ForConditionalGeneration", {**OF_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
}
PREFIXES = {"tensorflow": "TF", "flax": "Flax", "torch": ""}
SHARD = "6KB"
KEPT = ("embed_positions", "position_ids")  # of a formula


def batch(decoder_alone):
    random = np.random.default_rng(7)
    source, lens = random.integers(2, PAD, (3, 6)), np.array([6, 3, 5])
    if decoder_alone:
        return {"source": source, "source_valid_lens": np.full(3, 6)}
    source[np.arange(6) == lens[:, None] - 1] = EOS
    source[np.arange(6) >= lens[:, None]] = PAD
    target = np.concatenate([np.full((3, 1), PAD), random.integers(2, PAD, (3, 4))], axis=1)
    return {"source": source, "source_valid_lens": lens, "target": target}


def drawn(name, shape, random):
    spread = 0.5 if len(shape) < 2 else 1.0 / max(shape) ** 0.5
    middle = 1.0 if "norm" in name.lower() and name.lower().rstrip(":0").endswith(("gamma", "scale", "weight")) else 0.0
    return (middle + spread * random.standard_normal(shape)).astype(np.float32)


def made(kind, family):
    name, fields = FAMILIES[family]
    found = getattr(transformers, PREFIXES[kind] + name)
    config = found.config_class(**{"tie_word_embeddings": True, **fields})
    random = np.random.default_rng(sum(map(ord, family)))
    learned = family in ("bart", "mbart", "blenderbot", "blenderbot-small", "opt")
    kept = KEPT[1:] if learned else KEPT
    if kind == "tensorflow":
        model = found(config)
        model.build_in_name_scope()
        for weight in model.weights:
            if not any(part in weight.name for part in kept):
                weight.assign(drawn(weight.name, weight.shape, random))
        return model, config
    if kind == "flax":
        import jax

        model = found(config, seed=0)
        model.params = jax.tree_util.tree_map_with_path(
            lambda path, value: drawn("/".join(str(one.key) for one in path), value.shape, random), model.params
        )
        return model, config
    import torch

    model = found(config).eval()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if value.is_floating_point() and not any(part in name for part in kept):
                value.copy_(torch.from_numpy(drawn(name, value.shape, random)))
    return model, config


def computed(kind, model, config, given):
    mask = (np.arange(given["source"].shape[1]) < given["source_valid_lens"][:, None]).astype(np.int64)
    inputs = {"input_ids": given["source"], "attention_mask": mask}
    if config.is_encoder_decoder:
        target = given["target"]
        inputs |= {"decoder_input_ids": target, "decoder_attention_mask": np.ones_like(target)}
    if kind == "torch":
        import torch

        with torch.no_grad():
            output = model(**{name: torch.from_numpy(value) for name, value in inputs.items()})
    else:
        output = model(**inputs)
    found = {"logits": "logits", "last_hidden_state": "encoder", "encoder_last_hidden_state": "encoder"}
    return {
        ours: np.asarray(output[theirs]) for theirs, ours in found.items() if theirs in output and output[theirs] is not None
    }


def main(folder, kind, families):
    for family in families:
        model, config = made(kind, family)
        place = Path(folder) / kind / family
        options = {"safe_serialization": False} if kind != "flax" else {}
        model.save_pretrained(place, **options)
        model.save_pretrained(place.with_name(f"{family}-shards"), max_shard_size=SHARD, **options)
        given = batch(family in ("gpt2", "opt"))
        outputs = computed(kind, model, config, given)
        np.savez(place / "outputs.npz", **given, **outputs)
        print(kind, family, sorted(path.name for path in place.iterdir()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
