"""Corpora larger than memory: ids in files that are mapped, found again by what they depend on, whole or not there."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.cached_corpora import PAIRS, TEXT, cached, lists
from transformer_mb.data import CorpusFiles, TokenCache, Vocabulary, build_vocabularies, read_pairs, tokenized
from transformer_mb.data import tokenized as in_memory
from transformer_mb.errors import ConfigError, DataError

ROOT = Path(__file__).parents[2]


def test_the_ids_are_those_of_the_pairs_in_memory(corpus_file, tmp_path, monkeypatch):
    monkeypatch.setattr("transformer_mb.data.tokenizing.CHUNK", 7)  # 300 is no multiple of it
    pairs = read_pairs(corpus_file)
    expected = in_memory(pairs, build_vocabularies(pairs))
    found = cached(tmp_path / "cache", corpus_file)
    assert lists(found) == lists(expected) and found.counts == expected.counts
    assert found.sources.ids.dtype == np.uint16 and found.sources.starts.dtype == np.int64
    mapped = found.sources.ids
    while not isinstance(mapped, np.memmap):
        mapped = mapped.base
    assert not mapped.flags.writeable


def test_a_large_vocabulary_takes_four_bytes(corpus_file, tmp_path):
    words = [f"w{number}" for number in range(1 << 16)]
    large = Vocabulary([*Vocabulary.from_tokens([]).entries, *words])
    corpus_file.write_text("w65535 w0 other\tw3\n")
    found = TokenCache(tmp_path / "cache", CorpusFiles(corpus_file)).tokenized((large, large))
    assert lists(found) == [([65539, 4, 0], [7])] and found.sources.ids.dtype == np.uint32
    assert found.counts.unknown == (1, 0)


def test_an_entry_is_found_again_and_a_change_in_anything_makes_another(corpus_file, tmp_path, tokenizings):
    folder = tmp_path / "cache"
    first = cached(folder, corpus_file)
    again = cached(folder, corpus_file)
    assert len(tokenizings) == 1 and lists(again) == lists(first) and again.counts == first.counts
    os.utime(corpus_file, (1, 1))  # the content decides, not the time
    cached(folder, corpus_file)
    assert len(tokenizings) == 1
    status = corpus_file.stat()
    corpus_file.write_text(TEXT.replace("cat", "dog", 1), encoding="utf-8")  # of the same size, and of the same time
    os.utime(corpus_file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert corpus_file.stat().st_size == status.st_size
    assert lists(cached(folder, corpus_file)) != lists(first) and len(tokenizings) == 2
    assert len(cached(folder, corpus_file, num_examples=10)) == 10 and len(tokenizings) == 3
    cached(folder, corpus_file, bad_lines="drop")
    assert len(tokenizings) == 4
    files = CorpusFiles(corpus_file)
    TokenCache(folder, files).tokenized(build_vocabularies(files, min_freq=2))
    assert len(tokenizings) == 5
    TokenCache(folder, files).tokenized(build_vocabularies(files, min_freq=2), longest=6)
    assert len(tokenizings) == 6


def test_words_are_counted_once_for_each_rule(corpus_file, tmp_path):
    files, counted = CorpusFiles(corpus_file), []

    def vocabularies(min_freq, shared):
        def make():
            counted.append(min_freq)
            return build_vocabularies(files, "d2l", min_freq, shared=shared)

        return TokenCache(tmp_path / "cache", files).vocabularies(("d2l", min_freq, shared), make)

    for rule in ((1, False), (2, False), (1, True)):
        first, again = vocabularies(*rule), vocabularies(*rule)
        assert first == again == build_vocabularies(PAIRS, "d2l", rule[0], shared=rule[1])
        assert (again[0] is again[1]) is rule[1]
    assert counted == [1, 2, 1]


def test_nothing_is_left_of_an_entry_that_could_not_be_finished(corpus_file, tmp_path):
    corpus_file.write_bytes(TEXT.encode() + b"no tab\n")
    vocabularies = build_vocabularies(PAIRS)
    with pytest.raises(DataError, match="line 301: SOURCE TAB TARGET was expected"):
        TokenCache(tmp_path / "cache", CorpusFiles(corpus_file)).tokenized(vocabularies)
    assert list((tmp_path / "cache").iterdir()) == []
    dropping = TokenCache(tmp_path / "cache", CorpusFiles(corpus_file, bad_lines="drop")).tokenized(vocabularies)
    assert len(dropping) == 300 and dropping.counts.bad_lines["no_pair"] == 1


PROGRAM = """
import sys
from transformer_mb.data import CorpusFiles, TokenCache, build_vocabularies, token_cache
write = token_cache.write_tokens
token_cache.write_tokens = lambda *given: print("made") or write(*given)
files = CorpusFiles(sys.argv[1])
cache = TokenCache(token_cache.Path(sys.argv[2]), files)
print(len(cache.tokenized(cache.vocabularies(("d2l",), lambda: build_vocabularies(files)))))
"""


def test_of_processes_that_start_together_one_makes_the_entry(corpus_file, tmp_path):
    command = [sys.executable, "-c", PROGRAM, corpus_file, tmp_path / "cache"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sorted(process.communicate()[0].split() for process in running) == [["300"], ["300"], ["made", "300"]]


def test_gzipped_and_parallel_files(tmp_path):
    paths = [tmp_path / "a.en.gz", tmp_path / "a.fr.gz"]
    for side, path in enumerate(paths):
        path.write_bytes(gzip.compress("".join(f"{pair[side]}\n" for pair in PAIRS).encode()))
    files = CorpusFiles(*paths)
    assert list(files) == PAIRS == list(files)  # it can be read more than once
    cache = TokenCache(tmp_path / "cache", files)
    vocabularies = build_vocabularies(PAIRS)
    assert lists(cache.tokenized(vocabularies)) == lists(tokenized(read_pairs(*paths), vocabularies))


def test_what_no_cache_can_be_made_of(corpus_file, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"A cache holds the ids of files that can be read more than once, got .*/pipe\."):
        TokenCache(tmp_path / "cache", CorpusFiles(tmp_path / "pipe"))
    with pytest.raises(DataError, match=r"none\.tsv cannot be read: No such file"):
        TokenCache(tmp_path / "cache", CorpusFiles(tmp_path / "none.tsv"))
    with pytest.raises(DataError, match=r"pairs\.tsv must be a folder, but: File exists\."):
        TokenCache(corpus_file, CorpusFiles(corpus_file))


def test_pairs_without_a_token_and_too_long_ones_are_left_out_and_counted(tmp_path):
    class Mute(Vocabulary):
        """A vocabulary that has no token for a question mark, as subwords may."""

        def encode(self, text):
            return super().encode(text.replace("?", ""))

    path = tmp_path / "pairs.tsv"
    path.write_text("a b\ta\n?\ta\na\t? ?\na a a\ta\na a\ta b\n")
    mute = Mute.from_tokens([["a", "b"]])
    files = CorpusFiles(path)
    found = TokenCache(tmp_path / "cache", files).tokenized((mute, mute), longest=3)
    assert lists(found) == [([4, 5], [4]), ([4, 4], [4, 5])]
    assert (found.counts.pairs, found.counts.untokenized, found.counts.too_long) == (5, 2, 1)
    with pytest.raises(
        DataError, match="of 5 these were left out: 2 with a side of no token, 3 with more than 1 token \\(<eos> counted\\)"
    ):
        TokenCache(tmp_path / "cache", files).tokenized((mute, mute), longest=1)


def test_the_memory_that_the_documents_speak_of_was_measured():
    found = json.loads((ROOT / "benchmarks" / "results" / "corpus_memory.json").read_text())["results"]["1000000"]
    first, second, whole = (found[name] for name in ("first start", "second start", "in memory"))
    assert max(first["peak_of_preparing_mib"], second["peak_of_preparing_mib"]) * 4 < whole["peak_of_preparing_mib"]
    assert second["seconds_to_the_first_step"] < first["seconds_to_the_first_step"] / 10
    for start in (first, second):
        along = [memory["RssAnon"] for stage, memory in start["mib"].items() if "batches" in stage]
        assert len(along) == 8 and max(along) - min(along) <= 2


PREPARE = """
import sys
from pathlib import Path
from transformer_mb.training.job import prepare
from transformer_mb.training.settings import Settings
data = {"source": sys.argv[1], "cache": sys.argv[2]}
run = {"backend": "numpy"}
job = prepare(Settings(training={"batch_tokens": 1024, "pipeline": "words"}, data=data, run=run))
for batch in job.batches.epoch(0):
    pass
status = Path("/proc/self/status").read_text()
print(len(job.batches), *(line.split()[1] for line in status.splitlines() if line.startswith(("VmHWM", "RssFile"))))
"""


@pytest.mark.long
def test_the_memory_of_a_training_grows_by_a_few_numbers_for_each_pair(tmp_path):
    def used(copies):
        path = tmp_path / f"{copies}.tsv"
        path.write_text(TEXT * copies, encoding="utf-8")
        command = [sys.executable, "-c", PREPARE, path, tmp_path / f"{copies}.cache"]
        batches, peak, mapped = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        return path.stat().st_size, batches, 1024 * (peak - mapped)  # bytes; pages of mapped files are not the process's own

    few, many = used(100), used(2000)
    assert many[1] > 15 * few[1] and many[0] - few[0] > 30 * 2**20
    # A pair takes two lengths of 4 bytes and a width of 1 or 2; an epoch's order three times 8 while it is made. Its tokens
    # take nothing: as text in lists they took more than 500 bytes in the benchmark.
    assert many[2] - few[2] < (len(PAIRS) * 1900) * 48
