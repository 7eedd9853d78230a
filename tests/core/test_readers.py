"""Files of sentence pairs: every format, and the words of every error."""

import gzip
import io
import json

import pytest

from transformer_mb.data import read_lines, read_pairs, readers
from transformer_mb.errors import ConfigError, DataError

TSV = "Go.\tVa !\tCC-BY\nHi.\tSalut.\tCC-BY\nRun!\tCours !\tCC-BY\n"
PAIRS = [("Go.", "Va !"), ("Hi.", "Salut."), ("Run!", "Cours !")]


def written(folder, name, content):
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def message(*arguments, **options):
    with pytest.raises(DataError) as caught:
        read_pairs(*arguments, **options)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.tsv.gz", "a.txt.gz", "A.TSV.GZ", "pairs"])
def test_columns_after_the_second_are_left_out_and_counted(tmp_path, name):
    data = gzip.compress(TSV.encode()) if name.lower().endswith(".gz") else TSV.encode()
    (tmp_path / name).write_bytes(data)
    assert read_pairs(tmp_path / name) == PAIRS
    assert read_pairs(str(tmp_path / name)) == PAIRS
    assert read_pairs(tmp_path / name).bad_lines.counts["columns"] == 3


def test_byte_order_mark_carriage_returns_and_a_last_line_without_end(tmp_path):
    path = written(tmp_path, "a.tsv", "\ufeff" + TSV.replace("\n", "\r\n").removesuffix("\r\n"))
    assert read_pairs(path) == [("Go.", "Va !"), ("Hi.", "Salut."), ("Run!", "Cours !")]
    assert read_lines(path)[0] == "Go.\tVa !\tCC-BY"


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\u202f", "\r"])
def test_only_line_feeds_end_a_line(tmp_path, inside):
    path = written(tmp_path, "a.tsv", f"a{inside}b\tc{inside}d\nGo.\tVa !\n")
    assert read_pairs(path) == [(f"a{inside}b", f"c{inside}d"), ("Go.", "Va !")]


def test_empty_lines_at_the_end_do_not_count(tmp_path):
    assert read_pairs(written(tmp_path, "a.tsv", TSV + "\n\r\n")) == PAIRS


def test_lines_with_a_blank_side_are_skipped_and_counted(tmp_path):
    lines = ["Go.\tVa !", "", "  ", "\tSalut.", "Hi.\t", " \u202f\tx", "Run!\tCours !", "", ""]
    pairs = read_pairs(written(tmp_path, "a.tsv", "\n".join(lines)))
    assert pairs == [("Go.", "Va !"), ("Run!", "Cours !")] and pairs.skipped == 5
    sources, targets = written(tmp_path, "a.en", "Go.\nHi.\n\n"), written(tmp_path, "a.fr", "Va !\n \nSalut.\n")
    assert (read_pairs(sources, targets), read_pairs(sources, targets).skipped) == ([("Go.", "Va !")], 2)
    rows = [{"source": "Go.", "target": "Va !"}, {"source": "Go.", "target": " "}]
    pairs = read_pairs(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))))
    assert pairs == [("Go.", "Va !")] and pairs.skipped == 1
    path = written(tmp_path, "blank.tsv", "\tx\ny\t\n")
    assert message(path) == f"{path} holds 2 lines with a blank side and no other: it must hold at least one pair of sentences."


@pytest.mark.parametrize("count", [1, 2, 3])
def test_only_the_first_lines_are_read(tmp_path, count):
    broken = TSV.encode() + b"no tab here\n\xff\xfe\n"
    assert read_pairs(written(tmp_path, "a.tsv", broken), num_examples=count) == PAIRS[:count]
    assert "line 4" in message(tmp_path / "a.tsv", num_examples=4)


def test_the_rest_of_a_huge_file_stays_unread():
    class Endless(io.RawIOBase):
        taken = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            line = b"Go.\tVa !\n"
            buffer[: len(line)] = line
            self.taken += 1
            return len(line)

    endless = Endless()
    pairs = readers.numbered_pairs("endless.tsv", num_examples=500, opened=lambda name: io.BufferedReader(endless, 16))
    assert [pair for _, pair in pairs] == [("Go.", "Va !")] * 500
    assert endless.taken < 510


def test_more_examples_than_lines_gives_all(tmp_path):
    assert read_pairs(written(tmp_path, "a.tsv", TSV), num_examples=99) == PAIRS


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_parallel_files(tmp_path, ending):
    sources = written(tmp_path, f"train.en{ending}", "Go.\nHi.\nRun!\n")
    targets = written(tmp_path, f"train.fr{ending}", "Va !\nSalut.\nCours !")
    assert read_pairs(sources, targets) == PAIRS
    assert read_pairs(sources, targets, num_examples=2) == PAIRS[:2]


@pytest.mark.parametrize(("left", "right"), [(3, 1), (1, 3), (0, 2), (2, 0), (2, 3)])
def test_parallel_files_of_different_length_name_both_counts(tmp_path, left, right):
    sources, targets = written(tmp_path, "a.en", "Go.\n" * left), written(tmp_path, "a.fr", "Va !\n" * right)
    text = message(sources, targets)
    assert text == f"{sources} and {targets} must have the same number of lines, got {left} and {right}."


def test_parallel_files_may_differ_after_the_lines_that_are_read(tmp_path):
    sources, targets = written(tmp_path, "a.en", "Go.\nHi.\n"), written(tmp_path, "a.fr", "Va !\nSalut.\nAllo !\n")
    assert read_pairs(sources, targets, num_examples=2) == PAIRS[:2]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json"])
def test_json_lines(tmp_path, name):
    lines = [json.dumps({"source": source, "target": target, "id": 7}) for source, target in PAIRS]
    assert read_pairs(written(tmp_path, name, "\n".join(lines) + "\n\n")) == PAIRS


def test_json_lines_with_other_fields(tmp_path):
    flat = written(tmp_path, "flat.jsonl", '{"en": "Go.", "fr": "Va !"}\n')
    nested = written(tmp_path, "nested.jsonl", '{"id": "0", "translation": {"en": "Go.", "fr": "Va !"}}\n')
    for path in (flat, nested):
        assert read_pairs(path, fields=("en", "fr")) == [("Go.", "Va !")]
        assert read_pairs(path, fields=["fr", "en"]) == [("Va !", "Go.")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{'source': 1}", "a JSON object was expected, got \"{'source': 1}\""),
        ('["Go.", "Va !"]', 'a JSON object was expected, got \'["Go.", "Va !"]\''),
        ('{"source": "Go."}', "the field 'target' was expected, but the fields are: 'source'"),
        ("{}", "the field 'source' was expected, but the fields are: none"),
        ('{"translation": {"en": "Go."}}', "the field 'source' was expected, but the fields are: 'en'"),
        ('{"source": "Go.", "target": null}', "the field 'target' must be a string, got 'null'"),
        ('{"source": ["Go."], "target": ""}', "the field 'source' must be a string, got '[\"Go.\"]'"),
        ('{"source": "Go.", "target": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "a JSON object was expected"),
    ],
)
def test_a_wrong_json_line_is_named(tmp_path, line, words):
    path = written(tmp_path, "a.jsonl", '{"source": "Go.", "target": "Va !"}\n' + line + "\n")
    text = message(path)
    assert text.startswith(f"{path}, line 2: ") and words in text and len(text) < 400


def test_no_such_file(tmp_path):
    assert message(tmp_path / "none.tsv") == f"There is no file {tmp_path / 'none.tsv'}."
    sources = written(tmp_path, "a.en", "Go.\n")
    assert message(sources, tmp_path / "a.fr") == f"There is no file {tmp_path / 'a.fr'}."


@pytest.mark.parametrize("name", ["folder", "folder.gz", "folder.jsonl"])
def test_a_folder(tmp_path, name):
    (tmp_path / name).mkdir()
    assert message(tmp_path / name) == f"{tmp_path / name} must be a file, but it is a folder."


def test_what_the_system_refuses(tmp_path):
    path = written(tmp_path, "a.tsv", TSV) / "inside"
    assert message(path) == f"{path} cannot be read: Not a directory."


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.jsonl"])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_file(tmp_path, name, content):
    path = written(tmp_path, name, content)
    assert message(path) == f"{path} is empty: it must hold at least one pair of sentences."


@pytest.mark.parametrize(("name", "content"), [("a.tsv", "\t\n\t\n"), ("a.tsv.gz", " \t \n  "), ("a.jsonl", " \n\t\n\n")])
def test_lines_of_tabs_and_spaces_alone_are_blank_and_the_file_is_not_empty(tmp_path, name, content):
    path = written(tmp_path, name, content)
    assert f"{path} holds 2 lines with a blank side and no other" in message(path)


def test_a_line_without_a_tab(tmp_path):
    path = written(tmp_path, "a.tsv", "Go.\tVa !\nHi. Salut.\n")
    assert message(path) == f"{path}, line 2: SOURCE TAB TARGET was expected, but there is no tab in 'Hi. Salut.'."
    long = written(tmp_path, "long.tsv", "x" * 10_000)
    assert f"'{'x' * 60}...'" in message(long) and len(message(long)) < 300


@pytest.mark.parametrize(("mark", "offset"), [(b"", 12), (b"\xef\xbb\xbf", 15)])
def test_what_is_not_utf8_is_named_by_line_and_byte(tmp_path, mark, offset):
    latin1 = mark + "Go.\tVa !\na\tbé\n".encode("latin-1")
    path = written(tmp_path, "a.tsv", latin1)
    text = message(path)
    assert text.startswith(f"{path} must be UTF-8 text, but line 2, byte {offset} of the whole, is not: ")
    assert latin1[offset] == 0xE9


@pytest.mark.parametrize("damage", [lambda data: b"plain", lambda data: data[:-9], lambda data: data[:-6] + b"XX" + data[-4:]])
def test_a_corrupt_gzip_file(tmp_path, damage):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(damage(gzip.compress(TSV.encode())))
    assert message(path).startswith(f"{path} must be a gzip file, but it is corrupt or cut short: ")


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("a.tsv",), {"num_examples": 0}, "num_examples must be at least 1, got 0."),
        (("a.tsv",), {"fields": ("en", "fr")}, "fields belong to JSON lines (.jsonl, .jsonl.gz), got a.tsv."),
        (("a.jsonl",), {"fields": ("en",)}, "fields must be two different names, source first, got ('en',)."),
        (("a.jsonl",), {"fields": "en"}, "fields must be two different names, source first, got 'en'."),
        (("a.jsonl",), {"fields": ("en", "en")}, "fields must be two different names, source first, got ('en', 'en')."),
        (("a.en", "a.jsonl"), {}, "Two parallel files must be plain text, got a.jsonl, whose name says JSON."),
    ],
)
def test_wrong_arguments(arguments, options, words):
    with pytest.raises(ConfigError) as caught:
        read_pairs(*arguments, **options)
    assert str(caught.value) == words


def test_plain_lines(tmp_path):
    path = written(tmp_path, "a.txt.gz", "one\r\n\ntwo \u2028 three\n")
    assert read_lines(path) == ["one", "", "two \u2028 three"]
    assert read_lines(path, num_examples=1) == ["one"]
    assert read_lines(written(tmp_path, "empty.txt", "")) == []
    with pytest.raises(DataError, match="There is no file"):
        read_lines(tmp_path / "none.txt")


def test_the_real_files(shared_data):
    pairs = read_pairs(shared_data / "tatoeba" / "eng-fra.tsv")
    assert len(pairs) == 5000 and pairs[0] == ("Go.", "Va !")
    folder = shared_data / "multi30k"
    parallel = read_pairs(folder / "test_2016_flickr.en.gz", folder / "test_2016_flickr.fr.gz")
    assert len(parallel) == 1000
    assert parallel[0][0] == "A man in an orange hat starring at something."
