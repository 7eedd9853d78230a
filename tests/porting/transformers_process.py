"""What needs ``transformers`` on PyTorch.

``make``: MarianMT and BERT folders with random weights. ``tokenized``: sentences as padded ids. ``run``: a folder on a batch,
by ``from_pretrained`` alone, as its users have it. ``prove``: the same folder on the same batch, by what a port's proof runs.
"""

from pathlib import Path

import numpy as np

from elsewhere import flat, under

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
BERT_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
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


def answers(batches, make_first, runs, captions, max_steps):
    """By run, a family and a folder: its ``batch``, and what ``run`` and ``prove`` make of it. No batch: the captions."""
    for folder, wishes in make_first.items():
        make(folder, wishes)
    found = {}
    for name, (kind, folder) in runs.items():
        batch = under(batches, name) or tokenized(folder, captions)
        found[name] = flat({"batch": batch, **{job.__name__: job(kind, folder, batch, max_steps) for job in (run, prove)}})
    return flat(found), {}


def make(folder, wishes):
    """A model from a configuration, in the dtype that is wished for, saved by ``save_pretrained``."""
    import torch

    {"marian": make_marian, "bert": make_bert}[wishes.get("family", "marian")](
        folder, wishes, getattr(torch, wishes.get("dtype", "float32"))
    )


def make_in(folder, wishes):
    """Make one folder."""
    make(folder, wishes)


def make_bert(folder, wishes, dtype):
    import torch
    import transformers

    config = transformers.BertConfig(**{**BERT_SIZES, **wishes.get("config", {})})
    made = getattr(transformers, wishes.get("class", "BertModel"))
    model = made(config, **wishes.get("options", {}))
    random = torch.Generator().manual_seed(wishes["seed"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(drawn(name, parameter.shape, random))
    model.to(dtype).save_pretrained(folder)


def make_marian(folder, wishes, dtype):
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
        loud = 0.1 * wishes.get("final_bias", 1.0)
        model.final_logits_bias.copy_(loud * torch.randn(model.final_logits_bias.shape, generator=random))
        for token, bias in wishes.get("bias", {}).items() if loud else ():
            model.final_logits_bias[0, int(token)] = bias
    for name, value in wishes.get("generation", {"bad_words_ids": [[PAD]]}).items():
        setattr(model.generation_config, name, value)
    model.to(dtype).save_pretrained(folder)


def drawn(name, shape, random):
    import torch

    values = torch.randn(shape, generator=random)
    if len(shape) == 1:
        return 0.05 * values + (1.0 if name.lower().endswith("norm.weight") else 0.0)
    # The steps so far are to count for less than their positions and the source, or one token repeats itself for ever.
    loud = 2.0 if name.endswith("fc2.weight") else 0.5 if name.endswith("self_attn.out_proj.weight") else 1.0
    return loud * values / shape[-1] ** 0.5


def tokenized(folder, sentences):
    """Sentences by the folder's own tokenizer, as a padded batch."""
    from transformers import AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(folder, local_files_only=True)(sentences, padding=True, return_tensors="np")
    ids, mask = encoded["input_ids"], encoded["attention_mask"]
    return {"source": ids.astype(np.int64), "source_valid_lens": mask.sum(axis=1).astype(np.int64)}


def run(kind, folder, batch, max_steps=0):
    """In float32, whatever the folder's dtype is: the sinusoids too are then those of float32."""
    import torch
    import transformers

    made = {"bert": transformers.BertModel, "marian": transformers.MarianMTModel}[kind]
    model = made.from_pretrained(folder, dtype=torch.float32, use_safetensors=True, local_files_only=True).eval()
    given = {name: torch.from_numpy(array) for name, array in batch.items()}
    source, lens = given["source"], given["source_valid_lens"]
    inputs = {"input_ids": source, "attention_mask": (torch.arange(source.shape[1]) < lens[:, None]).long()}
    with torch.no_grad():
        if kind == "bert":
            output = model(**inputs, token_type_ids=given.get("token_types"))
            found = {"encoder": output.last_hidden_state}
            found |= {} if output.pooler_output is None else {"pooled": output.pooler_output}
        else:
            output = model(**inputs, decoder_input_ids=given["target"])
            # One token more than is asked for: the last of the longest output is forced to be the end token.
            chosen = {"num_beams": 1, "do_sample": False, "return_dict_in_generate": False}
            rows = model.generate(**inputs, **chosen, max_new_tokens=max_steps + 1).tolist()
            rows = [(row[1 : row.index(0, 1)] if 0 in row[1:] else row[1:])[:max_steps] for row in rows]
            tokens = torch.tensor([row + [-1] * (max_steps - len(row)) for row in rows])
            found = {"encoder": output.encoder_last_hidden_state, "logits": output.logits, "tokens": tokens}
    return {name: array.numpy() for name, array in found.items()}


def prove(kind, folder, batch, max_steps=0):
    from transformer_mb.porting import families
    from transformer_mb.porting.proof.reference_runs import hugging_face

    model = families.FAMILIES[kind].read(Path(folder), {})
    given = {f"batch.{name}": array for name, array in batch.items()}
    given |= {f"tensor.{name}": array for name, array in model.native.tensors.items()}
    settings = {"config": model.config.to_dict(), "native_settings": model.native.settings, "max_steps": max_steps}
    outputs, _ = hugging_face.run_folder(given, settings)
    return outputs
