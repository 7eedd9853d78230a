"""Files that are something else than they are taken for: refused with the right word, or said once and read."""

import bz2
import codecs
import gzip
import lzma
import pickle
import resource
import subprocess
import sys
import zipfile

import pytest

from transformer_mb.data import BadLines, iterate_pairs, read_pairs
from transformer_mb.data.bad_lines import counts_in_words
from transformer_mb.errors import ConfigError, DataError

PAIRS = [("Go.", "Va !"), ("Hi.", "Salut."), ("Run!", "Cours !")]
TEXT = "".join(f"{source}\t{target}\n" for source, target in PAIRS)


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(*arguments, **options):
    """The sentence; dropping bad lines does not help, since none of them is."""
    sentences = []
    for action in ("stop", "drop"):
        with pytest.raises(DataError) as caught:
            read_pairs(*arguments, **options, bad_lines=action)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1] and "\n" not in sentences[0] and sentences[0].endswith(".")
    return sentences[0]


def told(*arguments, **options):
    pairs = read_pairs(*arguments, **options)
    return pairs, list(counts_in_words(pairs.bad_lines.counts, "stop"))


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b""])
@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_and_utf32_are_named_with_what_makes_utf8_of_them(tmp_path, mark, order):
    width = "32" if len(mark) == 4 else "16"
    if mark:
        order = "le" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE) else "be"
    path = written(tmp_path, "a.tsv", mark + TEXT.encode(f"utf-{width}-{order}"))
    assert f"UTF-{width}" in refused(path) and f"iconv -f UTF-{width}" in refused(path)
    plain = written(tmp_path, "b.fr", "x\n" * 3)
    assert "a.tsv must be UTF-8 text, but" in refused(plain, path)


def test_another_encoding_is_answered_with_how_to_convert_it(tmp_path):
    path = written(tmp_path, "a.tsv", "caf\xe9\tx\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"iconv -f LATIN1 -t UTF-8\. bad_lines drop"):
        read_pairs(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", gzip.compress(TEXT.encode(), mtime=0), "it begins as gzip does: a name that ends in .gz"),
        ("a.tsv.gz", gzip.compress(gzip.compress(TEXT.encode(), mtime=0), mtime=0), "it begins as gzip does"),
        ("a.tsv.gz", TEXT.encode(), "must be a gzip file, .* A plain file has no .gz in its name"),
        ("a.tsv", bz2.compress(TEXT.encode()), "it begins as bzip2 does: bunzip2"),
        ("a.tsv", lzma.compress(TEXT.encode()), "it begins as xz does: unxz"),
        ("a.txt", b"%PDF-1.7\n", "it begins as PDF does"),
        ("a.parquet", b"PAR1\x15\x04\r\xff", "it begins as Parquet does: saving a table as text"),
        ("a.pkl", pickle.dumps(PAIRS), "it begins as a pickle does"),
        ("a.tsv", TEXT.replace("\n", "\r").encode(), r"must end its lines with LF, but it has CR alone: tr '\\r' '\\n'"),
        ("a.tsv", TEXT.replace("\n", "\r").encode().rstrip(), "CR alone"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused_as_a_whole(tmp_path, name, content, words):
    path = written(tmp_path, name, content)
    with pytest.raises(DataError, match=words):
        read_pairs(path)
    assert str(path) in refused(path)


def test_a_spreadsheet_is_a_zip_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("sheet.xml", "<a/>")
    assert "begins as a zip archive" in refused(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", '{"source": "a", "target": "b"}\n', "a file of JSON lines has a name that ends in .jsonl"),
        ("a.csv", "Go.,Va !\n", "tabs, not commas, part columns"),
        ("a.json", '[\n{"source": "a", "target": "b"}\n]\n', "of a list jq -c"),
    ],
)
def test_the_sentence_says_what_the_line_looks_like(tmp_path, name, content, words):
    with pytest.raises(DataError, match=words):
        read_pairs(written(tmp_path, name, content))


def numbered(*columns, count=3):
    return "".join("\t".join(column[row] for column in columns) + "\n" for row in range(count))


IDS, SCORES = ["1", "2", "3"], ["1.25", "1.1", "1.07"]
SOURCES, TARGETS = map(list, zip(*PAIRS, strict=True))


@pytest.mark.parametrize(
    ("columns", "place"),
    [((IDS, SOURCES, TARGETS), 1), ((SCORES, SOURCES, TARGETS), 1), ((SOURCES, IDS, TARGETS, IDS), 2), ((IDS, SOURCES), 1)],
)
def test_a_column_of_numbers_is_no_side(tmp_path, columns, place):
    path = written(tmp_path, "a.tsv", numbered(*columns))
    assert f"{path} must hold sentences, but its column {place} holds only numbers" in refused(path)
    chosen = [columns.index(side) + 1 for side in (SOURCES, TARGETS) if side in columns]
    if len(chosen) == 2:
        assert told(path, columns=chosen) == (PAIRS, [])
    assert read_pairs(path, columns=(2, 1)) == list(zip(columns[1], columns[0], strict=True))


@pytest.mark.parametrize(
    ("beside", "what", "columns"),
    [
        ((["id", *IDS], None), "numbers", "2,3"),  # with a line that names the columns
        ((["-1e-3", "2.5E+1", ".5", "10 %"], None), "numbers", "2,3"),
        ((["sent-1", "doc2.3", "0af3", "a/4"], None), "ids", "2,3"),
        ((["en"] * 4, ["fr"] * 4, None), "names of languages", "3,4"),
        ((["1", "2", "3", "4"], ["Go.", "Hi.", "Run!", "No."], ["5", "6", "7", "8"], ["Va !", "Salut.", "Cours !", "Non."]),
         "numbers", "2,4"),
    ],
)  # fmt: skip
def test_the_sentence_names_the_columns_that_hold_sentences(tmp_path, beside, what, columns):
    sides = [["source", *SOURCES], ["target", *TARGETS]] if None in beside else []
    path = written(tmp_path, "a.tsv", numbered(*filter(None, beside), *sides, count=4))
    assert refused(path).endswith(
        f"column 1 holds only {what}: columns names the two that are meant, source first (--columns {columns})."
    )
    assert read_pairs(path, columns=[int(number) for number in columns.split(",")])[-3:][0][0] in ("Go.", "Hi.")


def test_words_and_equal_sources_are_sentences_though_columns_follow(tmp_path):
    cells = (["Go."] * 3, ["\u53bb\u5427\u3002", "\u8d70\u3002", "\u6211\u67092\u672c\u4e66\u3002"], ["CC-BY 2.0 (France)"] * 3)
    assert len(read_pairs(written(tmp_path, "a.tsv", numbered(*cells)))) == 3


def test_numbers_among_sentences_are_sentences(tmp_path):
    path = written(tmp_path, "a.tsv", "1\tun\n2\tdeux\nGo.\tVa !\n")
    assert len(read_pairs(path)) == 3
    assert read_pairs(written(tmp_path, "b.tsv", "1 2\t2 1\n3 4\t4 3\n"))  # a task of copying digits
    with pytest.raises(DataError, match="column 1 holds only numbers"):  # found before the whole of a large file is read
        list(iterate_pairs(written(tmp_path, "c.tsv", "7\tx\n" * 100 + "\0\n")))


def test_further_columns_are_said_once(tmp_path):
    path = written(tmp_path, "a.tsv", numbered(SOURCES, TARGETS, ["CC-BY"] * 3))
    assert told(path) == (PAIRS, ["lines with more than two columns: 3 read without the others"])
    assert told(written(tmp_path, "b.tsv", TEXT.replace("\n", "\t\n"))) == (PAIRS, [])  # an empty column is none


def test_lines_with_more_or_fewer_columns_than_the_first_are_refused(tmp_path):
    path = written(tmp_path, "a.tsv", TEXT + "a\tb\tc\n")
    with pytest.raises(DataError, match=r"a\.tsv, line 4: 2 columns were expected, as in the first line, got 3; columns 1,2"):
        read_pairs(path)
    assert read_pairs(path, bad_lines="drop") == PAIRS and read_pairs(path, columns=(1, 2)) == [*PAIRS, ("a", "b")]
    path = written(tmp_path, "b.tsv", "a\tb\tc\n" + TEXT)
    with pytest.raises(DataError, match=r"line 2: 3 columns were expected, as in the first line, got 2"):
        read_pairs(path)
    odd_first = written(tmp_path, "c.tsv", "a\tb\tc\n" + TEXT * 50)
    with pytest.raises(DataError, match="got 2 in 101 of 102 lines"):  # dropping them would leave one pair
        read_pairs(odd_first, bad_lines="drop")


@pytest.mark.parametrize("given", [(1,), (1, 1), (0, 1), ("1", "2"), 2, "12", (1, 2, 3), (True, 2)])
def test_columns_are_two_numbers(tmp_path, given):
    with pytest.raises(ConfigError, match="columns must be two different numbers from 1 on, source first, got"):
        read_pairs(written(tmp_path, "a.tsv", TEXT), columns=given)


def test_columns_belong_to_lines_with_tabs(tmp_path):
    for arguments in (("a.jsonl",), ("a.en", "a.fr")):
        with pytest.raises(ConfigError, match="columns belong to one file of lines with tabs, got a"):
            read_pairs(*arguments, columns=(1, 2))
    with pytest.raises(DataError, match=r"line 1: 3 columns were expected, got 2 in"):
        read_pairs(written(tmp_path, "a.tsv", TEXT), columns=(1, 3))


@pytest.mark.parametrize("header", ["source\ttarget", "English\tFrench", "\ufeffsrc\ttgt", "en\tfr", "SOURCE\tTARGET\r"])
def test_a_header_is_left_out_and_said(tmp_path, header):
    pairs, lines = told(written(tmp_path, "a.tsv", f"{header}\n{TEXT}"))
    assert pairs == PAIRS and "lines that name the columns: 1 left out" in lines
    sides = [written(tmp_path, f"a.{side}", f"{side}\n" + "\n".join(rest)) for side, rest in (("en", SOURCES), ("fr", TARGETS))]
    assert told(*sides) == (PAIRS, ["lines that name the columns: 1 left out"])
    path = written(tmp_path, "b.tsv", TEXT + "English\tFrench\nEnglish\tanglais\n")
    assert read_pairs(path)[3:] == [("English", "French"), ("English", "anglais")]  # only the first line can be one


def test_tabs_in_parallel_files_and_equal_sides_are_said(tmp_path):
    first, second = written(tmp_path, "a.tsv", TEXT), written(tmp_path, "b.tsv", TEXT)
    assert told(first, second)[1] == [
        "lines with a tab, which parts no columns in parallel files: 3 kept",
        "lines whose two sides are the same: 3 kept",
    ]
    (tmp_path / "link.tsv").symlink_to(first)
    for other in (first, tmp_path / "link.tsv"):
        with pytest.raises(ConfigError, match=r"Two parallel files must be different ones, got .*a\.tsv for both sides"):
            read_pairs(first, other)


PROGRAM = """
import sys
from transformer_mb.data import read_lines, read_pairs
from transformer_mb.errors import TransformerMBError
def tried(read, *given, **how):
    try:
        print(len(read(*given, **how)))
    except TransformerMBError as error:
        print(error)
tried(read_pairs, sys.argv[1])
tried(read_pairs, sys.argv[1], bad_lines="drop")
tried(read_pairs, sys.argv[1], sys.argv[2])
tried(read_lines, sys.argv[1])
"""


@pytest.mark.parametrize("name", ["a.tsv", *(pytest.param(name, marks=pytest.mark.long) for name in ("a.tsv.gz", "a.jsonl"))])
def test_a_line_without_an_end_takes_little_memory(tmp_path, name):
    """Of 256 MB, under a ceiling of 150 MB; after it the reading goes on."""
    path, good = tmp_path / name, b'{"source": "a", "target": "b"}\n' if name.endswith("l") else b"a\tb\n"
    size = 1 << 28
    if name.endswith(".gz"):
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(16):
                file.write(bytes(1 << 24))
            file.write(b"\n" + good)
    else:
        with path.open("wb") as file:  # sparse
            file.truncate(size)
            file.seek(size)
            file.write(b"\n" + good)
    command = [sys.executable, "-c", PROGRAM, path, written(tmp_path, "b.fr", "x\ny\n")]
    limited = lambda: resource.setrlimit(resource.RLIMIT_DATA, (150 << 20,) * 2)  # noqa: E731
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=True)
    stopped, dropped, *others = done.stdout.splitlines()
    sentence = f"{path}, line 1, must be a line of text, but is one of more than 4,194,304 bytes."
    assert stopped == f"{sentence} bad_lines drop (--bad-lines drop) leaves such lines out."
    assert dropped == "1" and others[1] == sentence
    assert sentence in others[0] or name.endswith("l")  # JSON is no side of two


def test_a_file_without_an_end_is_refused_at_once():
    with pytest.raises(DataError, match="/dev/zero, line 1, must be a line of text, but is one of more than"):
        read_pairs("/dev/zero")


def test_a_line_of_the_most_bytes_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("transformer_mb.data.lines.LONGEST_LINE", 8)
    path = written(tmp_path, "a.tsv", "1234\t678\nabc\td\nlonger\txx\na\tb\n12\t45678")
    found = BadLines("drop")
    assert list(iterate_pairs(path, bad_lines=found)) == [("1234", "678"), ("abc", "d"), ("a", "b"), ("12", "45678")]
    assert found.counts["long"] == 1
