"""Folders as a stranger has them: BART, T5, ByT5 and Llama with their tokenizers, saved by transformers, and its answers."""

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
}
FORCED = {"forced_bos_token_id": 0, "forced_eos_token_id": 2}
OF_BART = {
    **{"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_position_embeddings": 96},
}
OF_T5 = {
    **{"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4},
    **{"decoder_start_token_id": 0, "n_positions": 512},
}
OF_LLAMA = {
    **{"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"max_position_embeddings": 512, "pad_token_id": 2},
}
# By name: class of the model, its configuration, settings of generate, and what stands before each line.
MODELS = {
    "bart": ("Bart", "ForConditionalGeneration", OF_BART, {**GENERATION, **FORCED}, ""),
    "t5": ("T5", "ForConditionalGeneration", OF_T5, GENERATION, "translate English to German: "),
    "byt5": ("T5", "ForConditionalGeneration", {**OF_T5, "feed_forward_proj": "gated-gelu"}, GENERATION, ""),
    "llama": ("Llama", "ForCausalLM", OF_LLAMA, {"num_beams": 1, "max_new_tokens": 12}, ""),
}


def tokenizer_of(name, folder, lines):
    """A tokenizer of the class, trained small, of the files that this class had first."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    from porting.t5_and_llama_tokenizers import LLAMA, T5, sentencepiece

    (folder / "files").mkdir(parents=True)
    if name == "bart":
        trained = ByteLevelBPETokenizer()
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        trained.train_from_iterator(lines, 400, 2, show_progress=False, special_tokens=special)
        trained.save_model(str(folder / "files"))
        return transformers.BartTokenizer.from_pretrained(folder / "files")
    if name == "t5":
        (folder / "files" / "spiece.model").write_bytes(sentencepiece(lines, 600, T5))
        return transformers.T5Tokenizer.from_pretrained(folder / "files", extra_ids=20)
    if name == "byt5":
        return transformers.ByT5Tokenizer()
    (folder / "files" / "tokenizer.model").write_bytes(sentencepiece(lines, 700, LLAMA))
    return transformers.LlamaTokenizer.from_pretrained(folder / "files", add_bos_token=True, add_eos_token=False)


def made(folder, lines, name):
    """The texts that ``generate`` makes of each line by the folder's own settings: what follows, of a decoder alone."""
    import torch
    import transformers

    folder = Path(folder)
    tokenizer = tokenizer_of(name, folder, lines)
    kind, head, sizes, generation, task = MODELS[name]
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **sizes)
    model = getattr(transformers, kind + head)(config).eval()
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:  # loud, so that texts differ
                parameter.copy_(torch.randn(parameter.shape, generator=random) * 1.5 / parameter.shape[-1] ** 0.5)
    for field, value in generation.items():
        setattr(model.generation_config, field, value)
    model.save_pretrained(folder / name)
    tokenizer.save_pretrained(folder / name)
    again = getattr(transformers, kind + head).from_pretrained(folder / name, dtype=torch.float32)
    reader = transformers.AutoTokenizer.from_pretrained(folder / name)
    texts = []
    with torch.no_grad():
        for line in lines[:LINES]:
            ids = reader([task + line], return_tensors="pt").input_ids
            row = again.generate(ids, attention_mask=torch.ones_like(ids))[0]
            texts.append(reader.decode(row if config.is_encoder_decoder else row[ids.shape[1] :], skip_special_tokens=True))
    return {"count": np.array(len(texts))}, {"texts": texts}
