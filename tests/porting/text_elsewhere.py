"""Raw text through the libraries that own a format.

``resave``: a MarianMT folder, loaded by ``transformers`` and saved by it again. ``translate``: such a folder on lines of text,
by ``AutoTokenizer`` and ``MarianMTModel`` alone, as its users have it. ``engine``: a CTranslate2 folder on lines of text, by
``ctranslate2`` and the tokenizers that lie in it.
"""

TOGETHER = 50


def texts(saved=(), translated=()):
    for folder, destination in saved:
        resave(folder, destination)
    return {}, {"texts": [translate(**job) for job in translated]}


def engine_texts(**job):
    return {}, {"texts": engine(**job)}


def resave(folder, destination):
    from transformers import AutoTokenizer, MarianMTModel

    for owner in (AutoTokenizer, MarianMTModel):
        owner.from_pretrained(folder, local_files_only=True).save_pretrained(destination)


def translate(folder, lines, max_steps, target=None):
    """``target``: the folder in it that has the target's tokenizer, where it is another one."""
    import torch
    from transformers import AutoTokenizer, MarianMTModel

    source = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    written = AutoTokenizer.from_pretrained(folder, subfolder=target, local_files_only=True) if target else source
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()
    texts = []
    for first in range(0, len(lines), TOGETHER):
        inputs = source(lines[first : first + TOGETHER], return_tensors="pt", padding=True)
        # One token more than is asked for: the last of the longest output is forced to be the end token.
        given = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
        found = model.generate(**given, num_beams=1, do_sample=False, max_new_tokens=max_steps + 1)
        texts += written.batch_decode(found, skip_special_tokens=True)
    return texts


def engine(folder, lines, max_steps):
    """Tokens in, tokens out, by greedy search as the docs say it."""
    import ctranslate2
    from tokenizers import Tokenizer

    source, target = (Tokenizer.from_file(f"{folder}/{side}_tokenizer.json") for side in ("source", "target"))
    translator = ctranslate2.Translator(folder, inter_threads=1, intra_threads=1)
    sources = [source.encode(line).tokens for line in lines]
    greedy = {"beam_size": 1, "min_decoding_length": 0, "max_input_length": 0, "max_decoding_length": max_steps}
    results = translator.translate_batch(sources, **greedy)
    return [target.decoder.decode(result.hypotheses[0]) for result in results]
