"""Corpora for training and translation: files, text pipelines, vocabularies, batches and a built-in corpus.

From text to a training step::

    pairs = read_pairs("eng-fra.tsv", num_examples=600)
    source_vocabulary, target_vocabulary = build_vocabularies(pairs, "d2l", min_freq=2)
    batches = Batches(pair_ids(pairs, source_vocabulary, target_vocabulary), batch_size=64, seed=0, num_steps=10)
    for batch in batches.epoch(0):
        trainer.step(batch)

Only NumPy and the standard library are imported here; subwords load ``tokenizers`` or ``sentencepiece`` when they are used.
"""

from .bad_lines import BadLines
from .batching import Batches, EncodedPairs, SourceBatch, encode_pairs, pair_ids, restore_order, source_batches
from .corpus_files import CorpusFiles
from .demo_grammar import demo_pairs, demo_sentences
from .lines import read_lines
from .padding import BUCKET_WIDTHS
from .readers import Pairs, iterate_pairs, read_pairs
from .subword_training import train_subwords
from .subwords import SubwordVocabulary
from .text import TEXT_PIPELINES, TextPipeline, preprocess_nmt, text_pipeline, tokenize
from .token_cache import TokenCache
from .tokenizing import TokenizedPairs, tokenized
from .vocabulary import SPECIAL_TOKENS, Vocabulary, build_vocabularies
from .vocabulary_files import read_vocabulary_file

__all__ = [
    "BUCKET_WIDTHS",
    "SPECIAL_TOKENS",
    "TEXT_PIPELINES",
    "BadLines",
    "Batches",
    "CorpusFiles",
    "EncodedPairs",
    "Pairs",
    "SourceBatch",
    "SubwordVocabulary",
    "TextPipeline",
    "TokenCache",
    "TokenizedPairs",
    "Vocabulary",
    "build_vocabularies",
    "demo_pairs",
    "demo_sentences",
    "encode_pairs",
    "iterate_pairs",
    "pair_ids",
    "preprocess_nmt",
    "read_lines",
    "read_pairs",
    "read_vocabulary_file",
    "restore_order",
    "source_batches",
    "text_pipeline",
    "tokenize",
    "tokenized",
    "train_subwords",
]
