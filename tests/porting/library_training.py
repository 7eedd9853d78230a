"""Multilingual models as ``transformers`` has them, the loss that it trains them with, and what its ``generate`` answers."""

from pathlib import Path

import numpy as np

from porting.transformers_tokenizers import KINDS, padded, trained

# By name: the classes of the configuration and of the model, what the configuration is beside its sizes, and the languages.
MODELS = {
    "mbart": ("MBartConfig", "MBartForConditionalGeneration", {"scale_embedding": True}, ("fr_XX", "en_XX")),
    "mbart-50": ("MBartConfig", "MBartForConditionalGeneration", {"scale_embedding": True}, ("fr_XX", "en_XX")),
    "m2m100": ("M2M100Config", "M2M100ForConditionalGeneration", {}, ("fr", "en")),
    "bart": ("BartConfig", "BartForConditionalGeneration", {}, ()),
}
SIZES = {
    **{"d_model": 16, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24},
    **{"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 96},
    **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"), 0.0),
}
GENERATION = {"num_beams": 4, "no_repeat_ngram_size": 3, "min_length": 5, "max_length": 18, "forced_eos_token_id": 2}


def made(folder, lines, pairs):
    """Folders with random weights, tokenizer and settings of decoding; returns by name the loss of all pairs together."""
    import torch
    import transformers

    folder = Path(folder)
    trained(folder / "files", lines)
    losses = {}
    for name, (of_config, of_model, fields, languages) in MODELS.items():
        tokenizer = tokenizer_of(folder, name, languages)
        code = tokenizer.convert_tokens_to_ids(f"__{languages[1]}__" if name == "m2m100" else languages[1]) if languages else 0
        start = {"decoder_start_token_id": code if name == "mbart" else 2}
        rows = len(tokenizer) + (108 if name == "m2m100" else 0)
        config = getattr(transformers, of_config)(vocab_size=rows, **SIZES, **fields, **start)
        model = getattr(transformers, of_model)(config).eval()
        random = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:  # loud, so that texts differ
                    parameter.copy_(torch.randn(parameter.shape, generator=random) * 1.5 / parameter.shape[-1] ** 0.5)
        forced = {"forced_bos_token_id": None if name in ("mbart", "m2m100") else code}
        for field, value in {**GENERATION, **forced}.items():
            setattr(model.config, field, None)
            setattr(model.generation_config, field, value)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        losses[name] = loss(model, tokenizer, pairs)
    return {name: np.array(value) for name, value in losses.items()}, {}


def tokenizer_of(folder, name, languages):
    import json

    import transformers

    kind, files, options = KINDS[name]
    place = folder / f"{name}-old"
    place.mkdir()
    for file in (folder / "files" / files).iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    said = dict(zip(("src_lang", "tgt_lang"), languages, strict=False))
    (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **options, **said}))
    return transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)


def loss(model, tokenizer, pairs):
    """By labels alone, as its examples of training give them: the model shifts them itself."""
    import torch

    sources, targets = map(list, zip(*pairs, strict=True))
    batch = tokenizer(sources, text_target=targets, padding=True, return_tensors="pt")
    labels = batch.pop("labels")
    labels[labels == tokenizer.pad_token_id] = -100
    batch.pop("token_type_ids", None)
    with torch.no_grad():
        return float(model(**batch, labels=labels).loss)


def loss_of(folder, pairs):
    """The loss that a folder's own files give all pairs together."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return {"loss": np.array(loss(transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), tokenizer, pairs))}, {}


def generated(folder, names, lines):
    """By name of the folder: the ids that ``generate`` makes of each line by nothing but the folder's own files."""
    import torch
    import transformers

    found = {}
    for name in names:
        place = Path(folder) / name
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, local_files_only=True)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(place, dtype=torch.float32, local_files_only=True).eval()
        with torch.no_grad():
            rows = [model.generate(**without_types(tokenizer([line], return_tensors="pt")))[0, 1:].tolist() for line in lines]
        end = model.config.eos_token_id
        found[name] = padded([row[: row.index(end)] if end in row else row for row in rows])
    return found, {}


def without_types(batch):
    batch.pop("token_type_ids", None)
    return batch
