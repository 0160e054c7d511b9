"""Files of pairs: TSV, CSV and JSON lines, with what is wrong reported by file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import string
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.corpus import Pairs
from regard.data.parallel import Parallel
from regard.errors import UsageError

Texts = list[tuple[str, str]]


def opened(path: Path, content: str | bytes, columns: Optional[str] = None) -> Pairs:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Parallel(pairs=path, columns=columns).open()


def texts(pairs: Pairs) -> Texts:
    return [pair.texts for pair in pairs]


def refusal(pairs: Pairs) -> str:
    with pytest.raises(UsageError) as caught:
        pairs.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_tsv_columns_by_number_have_no_header(tmp_path: Path) -> None:
    pairs = opened(tmp_path / "a.tsv", "1\tone\teins\n2\ttwo\tzwei\n", "3,2")
    assert texts(pairs) == [("eins", "one"), ("zwei", "two")]


def test_tsv_columns_by_name_have_a_header(tmp_path: Path) -> None:
    pairs = opened(tmp_path / "a.tsv", "id\ten\tde\n1\tone\teins\n\n2\t\tzwei\n3\t3\t3\n", "en,de")
    assert texts(pairs) == [("one", "eins"), ("3", "3")]
    [note] = pairs.check().sentences()
    assert note == f"Skipped 2 of 4 pairs: empty (first at {tmp_path / 'a.tsv'}:3)."
    assert [pair.number for pair in pairs] == [1, 4]


def test_quotation_marks_are_text_in_tsv(tmp_path: Path) -> None:
    assert texts(opened(tmp_path / "a", 'say "yes\t"ja"\n')) == [('say "yes', '"ja"')]


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        (
            "id\ten\tde\n1\ta\tb\n",
            "en,sv",
            "a.tsv:1 has no column 'sv': its columns are id, en, de",
        ),
        ("1\ta\tb\n", "1,4", "a.tsv:1 has no column '4': its columns are 1, a, b; choose two"),
        ("1\ta\tb\n", "0,1", "a.tsv:1 has no column '0'"),
        ("id\ten\tde\n1\ta\tb\n2\ta\n", "en,de", "a.tsv:3 has 2 columns, but the first row has 3"),
        ("a\tb\nc\td\te\n", None, "a.tsv:2 has 3 columns, but the first row has 2"),
        ("a\tb\tc\n", None, "a.tsv:1 has 3 columns: write source and target with one tab"),
    ],
)
def test_tsv_that_does_not_fit_is_refused(
    content: str, columns: Optional[str], said: str, tmp_path: Path
) -> None:
    assert said in refusal(opened(tmp_path / "a.tsv", content, columns))


@pytest.mark.parametrize("columns", ["en", "en,", "en,de,sv", "en,en", ""])
def test_columns_are_two_different_names(columns: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--columns needs two different names"):
        opened(tmp_path / "a.tsv", "a\tb\n", columns)


def test_columns_without_pairs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    with pytest.raises(UsageError, match="--columns has no effect without --pairs"):
        Parallel(tmp_path / "a", tmp_path / "a", columns="en,de").open()


def test_csv_has_quotes_commas_and_line_breaks(tmp_path: Path) -> None:
    content = 'id,en,de\r\n1,"one, ""1""","eins\r\nzwei"\r\n\r\n2,"a\n\nb",c\r\n3,,x\r\n'
    pairs = opened(tmp_path / "a.csv", content, "en,de")
    assert texts(pairs) == [('one, "1"', "eins zwei"), ("a  b", "c")]
    sentences = pairs.check().sentences()
    assert f"Skipped 2 of 4 pairs: empty (first at {tmp_path / 'a.csv'}:4)." in sentences
    assert any("line breaks inside texts: they became spaces" in each for each in sentences)


def test_csv_of_two_columns_needs_no_choice_and_its_header_is_noted(tmp_path: Path) -> None:
    pairs = opened(tmp_path / "a.csv", "\ufeffsource,target\none,eins\n")
    assert texts(pairs) == [("one", "eins")]
    assert any("header (source, target)" in note for note in pairs.check().sentences())


@pytest.mark.parametrize("mark", [";", "\t", ","])
def test_csv_of_other_delimiters(mark: str, tmp_path: Path) -> None:
    others = "".join(each * 5 for each in ",;\t" if each != mark)
    content = f'"a{others}b"{mark}en{mark}de\n1{mark}"x{mark}y"{mark}z\n'
    assert texts(opened(tmp_path / "a.csv", content, "en,3")) == [(f"x{mark}y", "z")]


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        ("id,en,de\n1,a,b\n", None, "a.csv:1 has 3 columns (id, en, de): choose source and target"),
        ("id,en,de\n1,a,b\n", "en,sv", "a.csv:1 has no column 'sv': its columns are id, en, de"),
        ("en,de\na,b\na\n", "en,de", "a.csv:3 has 1 column, but the first row has 2"),
        ('en,de\na,b\n"x\ny,c\n', "en,de", "a.csv:3 is not valid CSV (unexpected end of data)"),
        ('en,de\n"a"b,c\n', "en,de", "a.csv:2 is not valid CSV"),
        ("en,de\na\0,b\n", "en,de", "a.csv:2 has a NUL"),
        (f"en,de\na,b\n{'x' * 1_000_000},c\n", "en,de", "a.csv:3 is longer than 100,000"),
        ('en,de\n"' + "x\n" * 100_000, "en,de", "a.csv:2 is not valid CSV (field larger than"),
        ("en,de\n", "en,de", "a.csv is empty"),
        ("", "en,de", "a.csv is empty"),
        ("en,de\n,\n", "en,de", "a.csv has no usable line: its only one was skipped (empty)"),
        (b"en,de\na,b\n\xe9,c\n", "en,de", "a.csv:3 is not UTF-8 at byte 1"),
        ("en,de\ra,b\r", "en,de", "a.csv has CR line ends"),
    ],
)
def test_csv_that_does_not_fit_is_refused(
    content: str | bytes, columns: Optional[str], said: str, tmp_path: Path
) -> None:
    assert said in refusal(opened(tmp_path / "a.csv", content, columns))


def test_the_line_of_a_row_is_where_it_begins(tmp_path: Path) -> None:
    content = 'en,de\n"a\nb\nc",d\n"e\nf",\n'
    pairs = opened(tmp_path / "a.csv", content)
    assert pairs.check().skipped["empty"].first == f"{tmp_path / 'a.csv'}:5"


words = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")).filter(
    lambda text: bool(text.strip())
)


def flat(text: str) -> str:
    return text.replace("\r\n", " ").replace("\r", " ").replace("\n", " ")


@given(st.lists(st.tuples(words, words), min_size=1), st.booleans())
def test_csv_as_python_writes_it_is_read_as_it_was(rows: Texts, quoted: bool) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    if quoted:  # all, since Python leaves a CR unquoted with such line ends
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("de", "id", "en"), *((target, "x", source) for source, target in rows)])
    with TemporaryDirectory() as folder:
        found = texts(opened(Path(folder) / "a.csv", stream.getvalue(), "en,de"))
    assert found == [(flat(source), flat(target)) for source, target in rows]


@given(st.lists(st.tuples(words, words), min_size=1), st.permutations(["id", "en", "de"]))
def test_tsv_is_read_as_it_was(rows: Texts, order: list[str]) -> None:
    for old in "\t\n\r":
        rows = [(a.replace(old, "_"), b.replace(old, "_")) for a, b in rows]
    cells = [dict(zip(("id", "en", "de"), ("7", *row), strict=True)) for row in rows]
    lines = [order, *([row[name] for name in order] for row in cells)]
    content = "".join("\t".join(line) + "\n" for line in lines)
    with TemporaryDirectory() as folder:
        assert texts(opened(Path(folder) / "a.tsv", content, "en,de")) == rows
        by_number = ",".join(str(order.index(name) + 1) for name in ("en", "de"))
        assert texts(opened(Path(folder) / "a.tsv", content, by_number)) == [("en", "de"), *rows]


@given(st.lists(st.tuples(words, words), min_size=1), st.booleans())
def test_json_lines_as_python_writes_them_are_read_as_they_were(rows: Texts, ascii: bool) -> None:
    objects = [{"id": 1, "translation": {"en": en, "de": de}} for en, de in rows]
    content = "".join(json.dumps(each, ensure_ascii=ascii) + "\n" for each in objects)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        found = texts(opened(path, content, "translation.de,translation.en"))
    assert found == [(flat(target), flat(source)) for source, target in rows]


def test_json_lines_are_known_by_how_they_begin(tmp_path: Path) -> None:
    content = '{"b": "one", "n": 3, "a": {"c": "eins"}}\n\n{"a": {"c": "zwei"}, "b": "two"}\n'
    pairs = opened(tmp_path / "data", gzip.compress(content.encode()))
    assert texts(pairs) == [("one", "eins"), ("two", "zwei")]
    assert any("Read b as the source and a.c as the" in each for each in pairs.check().sentences())


def test_a_key_may_have_a_dot_of_its_own(tmp_path: Path) -> None:
    content = '{"a.b": "one", "c": {"d.e": "eins"}}\n'
    assert texts(opened(tmp_path / "a.jsonl", content, "a.b,c.d.e")) == [("one", "eins")]


def test_unusable_objects_are_counted(tmp_path: Path) -> None:
    rows = [
        '"ok"',
        "null",
        '""',
        r'"\u0000"',
        r'"\ud83d"',
        json.dumps("x" * 100_001),
        r'"\ud83d\ude00"',
    ]
    content = "".join(f'{{"s": "one", "t": {row}}}\n' for row in rows)
    pairs = opened(tmp_path / "a.jsonl", content)
    assert texts(pairs) == [("one", "ok"), ("one", "\U0001f600")]
    skipped = pairs.check().skipped
    assert {reason: skip.first.rpartition(":")[2] for reason, skip in skipped.items()} == {
        "empty": "3",
        "source or target missing": "2",
        "NUL character": "4",
        "half a surrogate pair": "5",
        "longer than 100,000 characters": "6",
    }


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        ('{"a": "1", "b": "2"}\n{"a": "1", "b"\n', None, "a.jsonl:2 is not valid JSON"),
        ('{"a": "1", "b": "2"}\n["a"]\n', None, "a.jsonl:2 is not a JSON object"),
        ('{"a": "1", "b": "2"}\n{"a": "1"}\n', None, "a.jsonl:2 has no key 'b': its texts are a"),
        ('{"a": {"x": "1"}, "b": "2"}\n', "a.y,b", "has no key 'a.y': its texts are a.x, b"),
        ('{"a": "1", "b": "2"}\n', "a.x,b", "a.jsonl:1 has no key 'a.x'"),
        ('{"a": "1", "b": 2}\n', "a,b", "a.jsonl:1 has no text as its 'b'"),
        ('{"a": "1", "b": "2", "c": "3"}\n', None, "a.jsonl:1 has 3 texts (a, b, c): choose"),
        ('{"a": "1", "b": 2}\n', None, "a.jsonl:1 has 1 text (a): a pair needs two"),
        ('{"a": 1}\n', None, "a.jsonl:1 has 0 texts: a pair needs two"),
        ('{"a": "1", "b": ' + "[" * 50_000 + "\n", None, "a.jsonl:1 is not valid JSON"),
        ('[{"a": "1", "b": "2"}]\n', None, "a.jsonl is one JSON array: write one object per line"),
    ],
)
def test_json_that_does_not_fit_is_refused(
    content: str, columns: Optional[str], said: str, tmp_path: Path
) -> None:
    assert said in refusal(opened(tmp_path / "a.jsonl", content, columns))


def test_the_suffix_counts_before_that_of_compression(tmp_path: Path) -> None:
    content = gzip.compress(b'en,de\n"a,b",c\n')
    assert texts(opened(tmp_path / "a.csv.gz", content)) == [("a,b", "c")]
    assert texts(opened(tmp_path / "a.CSV", "\n\nen,de\na,b\n")) == [("a", "b")]
    assert texts(opened(tmp_path / "a.tsv", '{"a": 1}\t<b>\n')) == [('{"a": 1}', "<b>")]


def test_long_lines_are_skipped_without_being_held(tmp_path: Path) -> None:
    long = "x" * 20_000_000
    for name, content in (
        ("a.tsv", f"a\tb\n{long}\tc\nd\te\n"),
        (
            "a.jsonl",
            f'{{"s": "a", "t": "b"}}\n{{"s": "{long}", "t": "c"}}\n{{"s": "d", "t": "e"}}\n',
        ),
    ):
        pairs = opened(tmp_path / name, content)
        tracemalloc.start()
        assert texts(pairs) == [("a", "b"), ("d", "e")]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6_000_000
        assert f"(first at {tmp_path / name}:2)" in pairs.check().sentences()[0]


def test_every_letter_may_begin_a_tsv(tmp_path: Path) -> None:
    for letter in string.printable.strip():
        assert texts(opened(tmp_path / "a", f"{letter}\t{letter}\n")) == [(letter, letter)]
