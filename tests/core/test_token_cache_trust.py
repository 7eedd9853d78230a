"""A cache of ids is believed for its digests alone: changed content is made anew, and a changing corpus makes no entry."""

import json
import os
import stat

import numpy as np
import pytest

from core.cached_corpora import TEXT, cached, lists
from transformer_mb.data import CorpusFiles, build_vocabularies, readers, tokenized
from transformer_mb.errors import ConfigError, DataError


def one_id(entry):
    ids = np.fromfile(entry / "source.ids", np.uint16)
    ids[7] ^= 1
    ids.tofile(entry / "source.ids")


def zeros(entry):
    (entry / "target.ids").write_bytes(bytes((entry / "target.ids").stat().st_size))


def out_of_range(entry):
    (entry / "source.ids").write_bytes(b"\xff" * (entry / "source.ids").stat().st_size)


def shifted(entry):
    starts = np.fromfile(entry / "source.starts", np.int64)
    starts[5] = 10**9
    starts.tofile(entry / "source.starts")


def swapped(entry):
    (entry / "source.starts").replace(entry / "other")
    (entry / "target.starts").replace(entry / "source.starts")
    (entry / "other").replace(entry / "target.starts")


def recounted(entry):
    text = (entry / "counts.json").read_text()
    (entry / "counts.json").write_text(text.replace('"unknown": [0, 0]', '"unknown": [9, 0]'))


def nested(entry):
    (entry / "counts.json").write_text("[" * 100_000)


def pipe(entry):
    (entry / "source.ids").unlink()
    os.mkfifo(entry / "source.ids")


def everyone(entry):
    (entry / "source.ids").chmod(0o666)


def cut(name):
    return lambda entry: (entry / name).write_bytes((entry / name).read_bytes()[:-8])


def missing(name):
    return lambda entry: (entry / name).unlink()


CHANGES = [one_id, zeros, out_of_range, shifted, swapped, recounted, nested, pipe, everyone]
CHANGES += [change(name) for change in (cut, missing) for name in ("counts.json", "source.ids", "target.starts")]


@pytest.mark.parametrize("damage", CHANGES)
def test_an_entry_whose_content_has_changed_is_made_anew(corpus_file, tmp_path, tokenizings, damage):
    expected = lists(cached(tmp_path / "cache", corpus_file))
    (entry,) = (tmp_path / "cache").glob("pairs-*")
    damage(entry)
    found = cached(tmp_path / "cache", corpus_file)
    assert lists(found) == expected and found.counts.unknown == (0, 0) and len(tokenizings) == 2
    cached(tmp_path / "cache", corpus_file)
    assert len(tokenizings) == 2


@pytest.mark.parametrize("damage", [lambda text: text.replace("est", "ets"), lambda text: "[" * 100_000, lambda text: "{}"])
def test_vocabularies_that_have_changed_are_counted_anew(corpus_file, tmp_path, damage):
    expected = lists(cached(tmp_path / "cache", corpus_file))
    (path,) = (tmp_path / "cache").glob("vocabularies-*")
    text = path.read_text(encoding="utf-8")
    assert damage(text) != text
    path.write_text(damage(text), encoding="utf-8")
    assert lists(cached(tmp_path / "cache", corpus_file)) == expected and path.read_text(encoding="utf-8") == text


def changed_at(monkeypatch, reading, path, text):
    """While the files are read for the ``reading``-th time they become others, and then what they were."""
    original, count = readers.lines_of, []

    def lines(name, bad_lines, opened):
        count.append(1)
        if len(count) == reading:
            path.write_text(text, encoding="utf-8")
        yield from original(name, bad_lines, opened)
        path.write_text(TEXT, encoding="utf-8")

    monkeypatch.setattr(readers, "lines_of", lines)


@pytest.mark.parametrize("reading", [1, 2])
@pytest.mark.parametrize("options", [{}, {"num_examples": 5}])
def test_a_corpus_that_changes_while_it_is_read_makes_no_entry(
    corpus_file, tmp_path, tokenizings, monkeypatch, reading, options
):
    """The first reading is for the vocabularies, the second for the ids. Afterwards it is as it was before."""
    with monkeypatch.context() as patch:
        changed_at(patch, reading, corpus_file, TEXT.replace("is", "si"))
        with pytest.raises(DataError, match=r"pairs\.tsv must stay as it is while it is read, but it has changed meanwhile"):
            cached(tmp_path / "cache", corpus_file, **options)
    assert not list((tmp_path / "cache").glob("pairs-*"))
    files = CorpusFiles(corpus_file, **options)
    assert lists(cached(tmp_path / "cache", corpus_file, **options)) == lists(tokenized(files, build_vocabularies(files)))


def test_two_readings_are_of_one_text_without_a_cache_too(corpus_file):
    files = CorpusFiles(corpus_file, num_examples=5)
    both = build_vocabularies(files)
    assert len(tokenized(files, both)) == 5
    corpus_file.write_text(TEXT + "more\tplus\n", encoding="utf-8")
    with pytest.raises(DataError, match="must stay as it is while it is read"):
        tokenized(files, both)


def test_a_folder_that_everyone_may_write_to_is_refused(corpus_file, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o1777)
    with pytest.raises(ConfigError, match=r"cache must be a folder that not everyone may write to, .*got the mode 1777: chmod"):
        cached(folder, corpus_file)
    assert list(folder.iterdir()) == []


def test_what_is_made_without_a_umask_is_not_for_everyone(corpus_file, tmp_path, tokenizings):
    before = os.umask(0)
    try:
        cached(tmp_path / "cache", corpus_file)
        cached(tmp_path / "cache", corpus_file)
    finally:
        os.umask(before)
    assert len(tokenizings) == 1
    assert not any(path.stat().st_mode & stat.S_IWOTH for path in (tmp_path / "cache", *(tmp_path / "cache").glob("**/*s*")))


def test_a_digest_stands_beside_what_it_is_of(corpus_file, tmp_path):
    """So that whoever looks at an entry can check it with sha256sum."""
    import hashlib

    cached(tmp_path / "cache", corpus_file)
    (entry,) = (tmp_path / "cache").glob("pairs-*")
    files = json.loads((entry / "counts.json").read_text())["content"]["files"]
    assert files == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in entry.glob("*.[is]*")}
