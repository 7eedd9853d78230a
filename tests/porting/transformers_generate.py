"""What ``generate`` of ``transformers`` makes of a folder by each of several generation configurations."""

import numpy as np


def generated(arrays, folder, settings, alone):
    """By the number of the setting: ids [B, steps], -1 after the end; ``alone``: numbers of those for one row at a time."""
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()
    source, lens = torch.from_numpy(arrays["source"]), torch.from_numpy(arrays["source_valid_lens"])
    ids = {name: getattr(model.config, name) for name in ("pad_token_id", "eos_token_id", "decoder_start_token_id")}
    found = {}
    for number, fields in enumerate(settings):
        model.generation_config = transformers.GenerationConfig(**ids, **fields)
        if number in alone:
            rows = [row for ids_, n in zip(source, lens, strict=True) for row in run(model, ids_[None, :n], n[None])]
        else:
            rows = run(model, source, lens)
        found[str(number)] = padded(rows, ids["eos_token_id"])
    return found, {"version": transformers.__version__}


def run(model, source, lens):
    import torch

    mask = (torch.arange(source.shape[1]) < lens[:, None]).long()
    with torch.no_grad():
        return model.generate(input_ids=source, attention_mask=mask, do_sample=False)[:, 1:].tolist()


def padded(rows, eos):
    rows = [row[: row.index(eos)] if eos in row else row for row in rows]
    width = max(1, *map(len, rows))
    return np.array([row + [-1] * (width - len(row)) for row in rows])
