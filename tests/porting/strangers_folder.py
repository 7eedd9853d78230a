"""A folder as a stranger has it: a BART with tokenizer and generation_config.json, saved by transformers, and its answers."""

from pathlib import Path

import numpy as np

LINES = 24
GENERATION = {
    "num_beams": 4,
    "no_repeat_ngram_size": 3,
    "min_length": 5,
    "max_length": 18,
    "length_penalty": 2.0,
    "early_stopping": True,
    "forced_bos_token_id": 0,
    "forced_eos_token_id": 2,
}


def made(folder, lines):
    """The texts that ``generate`` makes of each line by the folder's own settings."""
    import torch
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    folder, special = Path(folder), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(lines, 400, 2, show_progress=False, special_tokens=special)
    (folder / "files").mkdir(parents=True)
    trained.save_model(str(folder / "files"))
    tokenizer = transformers.BartTokenizer.from_pretrained(folder / "files")
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 96}
    model = transformers.BartForConditionalGeneration(
        transformers.BartConfig(vocab_size=len(tokenizer), **sizes, **heads)
    ).eval()
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:  # loud, so that texts differ
                parameter.copy_(torch.randn(parameter.shape, generator=random) * 1.5 / parameter.shape[-1] ** 0.5)
    for name, value in GENERATION.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder / "bart")
    tokenizer.save_pretrained(folder / "bart")
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder / "bart", dtype=torch.float32)
    reader = transformers.AutoTokenizer.from_pretrained(folder / "bart")
    with torch.no_grad():
        rows = [again.generate(**reader([line], return_tensors="pt"))[0] for line in lines[:LINES]]
    texts = [reader.decode(row, skip_special_tokens=True) for row in rows]
    return {"count": np.array(len(texts))}, {"texts": texts}
