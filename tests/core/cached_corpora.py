"""A small corpus, its ids in a cache, and how they compare."""

from transformer_mb.data import CorpusFiles, TokenCache, build_vocabularies, demo_pairs

PAIRS = demo_pairs()[0][:300]
TEXT = "".join(f"{source}\t{target}\n" for source, target in PAIRS)


def lists(pairs):
    return [(source.tolist(), target.tolist()) for source, target in pairs]


def cached(folder, path, **options):
    files = CorpusFiles(path, **options)
    cache = TokenCache(folder, files)
    vocabularies = cache.vocabularies(("d2l", 1, False), lambda: build_vocabularies(files))
    return cache.tokenized(vocabularies)
