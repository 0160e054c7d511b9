"""Bad data: each case is a one-line error with file:line or a counted skip, never misalignment."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import tracemalloc
from pathlib import Path

import pytest

from regard.data.corpus import Pairs
from regard.data.line import Line, Pair
from regard.data.parallel import Parallel
from regard.data.text import MAX_CHARACTERS, read_plain
from regard.errors import UsageError


def files(folder: Path, source: bytes, target: bytes) -> Pairs:
    (folder / "a.en").write_bytes(source)
    (folder / "a.de").write_bytes(target)
    return Parallel(folder / "a.en", folder / "a.de").open()


def refusal(pairs: Pairs) -> str:
    with pytest.raises(UsageError) as caught:
        pairs.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_good_files(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"one\ntwo\n", "eins\nzwölf".encode())
    expected = [Pair(1, Line("one"), Line("eins")), Pair(2, Line("two"), Line("zwölf"))]
    assert list(pairs) == list(pairs) == expected
    report = pairs.check()
    assert (report.read, report.kept, report.sentences()) == (2, 2, [])


@pytest.mark.parametrize("side", ["a.en", "a.de"])
@pytest.mark.parametrize("replaced", [True, False])
def test_files_changed_while_they_are_read_are_refused(
    side: str, replaced: bool, tmp_path: Path
) -> None:
    """Otherwise sources of one version would be trained on with targets of another."""
    pairs = files(tmp_path, b"one\ntwo\n", b"uno\ndos\n")
    os.utime(tmp_path / side, (1, 1))  # clocks of file systems may tick rarely
    reading = iter(pairs)
    next(reading)
    if replaced:
        (tmp_path / "new").write_bytes(b"six\nten\n")
        (tmp_path / "new").replace(tmp_path / side)
    else:
        (tmp_path / side).write_bytes(b"six\nten\n")
    with pytest.raises(UsageError, match=rf"{side} was changed while it was read"):
        list(reading)


def test_a_file_deleted_while_it_is_read_is_one_version(tmp_path: Path) -> None:
    reading = iter(files(tmp_path, b"one\ntwo\n", b"eins\nzwei\n"))
    next(reading)
    (tmp_path / "a.en").unlink()
    assert len(list(reading)) == 1


def test_counts_that_differ_name_both_files_and_counts(tmp_path: Path) -> None:
    message = refusal(files(tmp_path, b"x\n" * 3, b"y\n" * 5))
    assert "a.en has 3 lines" in message
    assert "a.de has 5" in message
    message = refusal(files(tmp_path, b"x\n" * 3, b"y\n" * 2))
    assert "a.en has 3 lines" in message
    assert "a.de has 2" in message


def test_invalid_utf8_is_refused_with_line_and_byte(tmp_path: Path) -> None:
    message = refusal(files(tmp_path, b"ok\nab\xffcd\n", b"x\ny\n"))
    assert "a.en:2" in message
    assert "byte 3 (0xFF)" in message
    message = refusal(files(tmp_path, b"ok\nok\n", "x\nschön\n".encode("latin-1")))
    assert "a.de:2" in message


def test_utf8_cut_in_the_middle_is_refused(tmp_path: Path) -> None:
    assert "a.en:1" in refusal(files(tmp_path, "é".encode()[:1], b"x"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(encoding: str, tmp_path: Path) -> None:
    text = "\ufeffhello\nyou\n" if encoding != "utf-16" else "hello\nyou\n"
    message = refusal(files(tmp_path, text.encode(encoding), b"x\ny\n"))
    assert "convert it to UTF-8" in message


def test_a_byte_order_mark_is_removed_and_noted(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"\xef\xbb\xbfone\ntwo\n", b"eins\nzwei\n")
    assert next(iter(pairs)) == Pair(1, Line("one"), Line("eins"))
    assert ["byte order mark" in note for note in pairs.check().sentences()] == [True]


def test_crlf_is_removed_and_noted_once(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"one\r\ntwo\r\n", b"eins\nzw\rei\n")
    assert list(pairs) == [Pair(1, Line("one"), Line("eins")), Pair(2, Line("two"), Line("zw\rei"))]
    assert ["CRLF" in note for note in pairs.check().sentences()] == [True]


def test_nul_is_a_counted_skip(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\nb\0b\nc\nd\n", b"1\n2\n3\n\0\n")
    assert [pair.number for pair in pairs] == [1, 3]
    [note] = pairs.check().sentences()
    assert "Skipped 2 of 4 pairs: NUL" in note
    assert "a.en:2" in note


@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"]
)
def test_other_line_separators_stay_inside_a_line(separator: str, tmp_path: Path) -> None:
    pairs = files(tmp_path, f"one{separator}two\nthree\n".encode(), b"1\n3\n")
    assert list(pairs) == [
        Pair(1, Line(f"one{separator}two"), Line("1")),
        Pair(2, Line("three"), Line("3")),
    ]


def test_empty_sides_are_counted_skips(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\n\nc\nd\ne\n", "1\n2\n \t\n4\n\u2003\u3000\n".encode())
    assert list(pairs) == [Pair(1, Line("a"), Line("1")), Pair(4, Line("d"), Line("4"))]
    report = pairs.check()
    assert report.skipped["empty"].count == 3
    assert report.skipped["empty"].first == f"{tmp_path / 'a.en'}:2"
    assert (report.read, report.kept) == (5, 2)


def test_an_empty_target_is_reported_in_its_own_file(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\nb\n", b"1\n\n")
    assert pairs.check().skipped["empty"].first == f"{tmp_path / 'a.de'}:2"


def test_lines_too_long_are_skipped_without_being_held(tmp_path: Path) -> None:
    size = 30_000_000
    pairs = files(tmp_path, b"a\n" + b"x" * size + b"\nc\n", b"1\n2\n3\n")
    tracemalloc.start()
    assert [pair.number for pair in pairs] == [1, 3]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 5
    [note] = pairs.check().sentences()
    assert "longer than 100,000 characters" in note
    assert "a.en:2" in note


@pytest.mark.parametrize("letter", ["x", "é", "東", "😀"])
@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\nz"])
def test_the_limit_counts_characters(letter: str, extra: int, end: str, tmp_path: Path) -> None:
    text = letter * (MAX_CHARACTERS + extra) + end
    pairs = files(tmp_path, f"a\n{text}".encode(), b"1\n2" + (b"\n3" if "z" in end else b""))
    lines = [pair.number for pair in pairs]
    assert lines == [1, *([2] if not extra else []), *([3] if "z" in end else [])]


def test_a_megabyte_without_line_end_at_the_end_of_a_file(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\n" + b"x" * 1_000_000, b"1\n2")
    assert [pair.number for pair in pairs] == [1]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        Parallel(tmp_path, tmp_path).open()
    with pytest.raises(UsageError, match="is a folder"):
        list(read_plain(tmp_path))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Cannot read .*none\.en: No such file"):
        Parallel(tmp_path / "none.en", tmp_path / "none.de").open()
    with pytest.raises(UsageError, match=r"none\.txt"):
        list(read_plain(tmp_path / "none.txt"))


def test_a_file_deleted_after_the_check_is_refused(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\n", b"1\n")
    pairs.check()
    (tmp_path / "a.de").unlink()
    assert "a.de" in refusal(pairs)


def test_a_pipe_is_refused_since_it_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        Parallel(pairs=tmp_path / "pipe").open()


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\n", b"1\n")
    (tmp_path / "a.en").chmod(0)
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)  # root may read everything
    try:
        assert "Permission denied" in refusal(pairs)
    finally:
        os.seteuid(own)


def test_empty_files_are_refused(tmp_path: Path) -> None:
    assert "a.en is empty" in refusal(files(tmp_path, b"", b""))
    assert "a.de is empty" in refusal(files(tmp_path, b"x\n", b""))
    assert "a.en is empty" in refusal(files(tmp_path, gzip.compress(b""), b"x\n"))


def test_files_without_a_usable_pair_are_refused(tmp_path: Path) -> None:
    said = refusal(files(tmp_path, b"\n\n", b"x\ny\n"))
    assert "no usable line: all 2 were skipped (empty)." in said
    long = b"x" * (MAX_CHARACTERS + 1)
    said = refusal(files(tmp_path, long + b"\n\n", b"x\ny\n"))
    assert "all 2 were skipped (empty; longer than 100,000 characters)." in said


def test_one_line_is_counted_as_one(tmp_path: Path) -> None:
    assert "a.en has 1 line but" in refusal(files(tmp_path, b"x\n", b"x\ny\n"))


def test_gzip_is_told_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    pairs = files(tmp_path, gzip.compress(b"one\ntwo\n"), b"eins\nzwei\n")
    assert [pair.source.text for pair in pairs] == ["one", "two"]
    (tmp_path / "plain.gz").write_bytes(b"one\teins\n")
    assert list(Parallel(pairs=tmp_path / "plain.gz").open()) == [
        Pair(1, Line("one"), Line("eins"))
    ]


def test_gzip_of_several_members(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\nt") + gzip.compress(b"wo\n")
    assert [p.source.text for p in files(tmp_path, packed, b"1\n2\n")] == ["one", "two"]


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.3, 0.9, 0.99999])
def test_a_truncated_gzip_is_refused(share: float, tmp_path: Path) -> None:
    chooser = random.Random(0)
    lines = [str(chooser.random()).encode() for _ in range(20_000)]
    packed = gzip.compress(b"\n".join(lines))
    packed = packed[: max(3, min(len(packed) - 1, int(len(packed) * share)))]
    message = refusal(files(tmp_path, packed, b"\n".join(lines)))
    assert "a.en is a damaged gzip" in message


def test_a_corrupt_gzip_is_refused_or_has_the_same_text(tmp_path: Path) -> None:
    lines = "\n".join(str(number) for number in range(3_000)).encode()
    packed = gzip.compress(lines)
    chooser = random.Random(0)
    refused = 0
    for _ in range(40):
        damaged = bytearray(packed)
        damaged[chooser.randrange(2, len(packed))] ^= 1 << chooser.randrange(8)
        pairs = files(tmp_path, bytes(damaged), lines)
        try:
            pairs.check()
        except UsageError:
            refused += 1
            continue
        assert all(pair.source == pair.target for pair in pairs)  # a flip in the header
    assert refused > 30


def test_tsv(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"\xef\xbb\xbfone\teins\r\n\r\n\tzwei\r\nthree\tdrei")
    pairs = Parallel(pairs=path).open()
    assert list(pairs) == [Pair(1, Line("one"), Line("eins")), Pair(4, Line("three"), Line("drei"))]
    assert pairs.check().skipped["empty"].count == 2


@pytest.mark.parametrize("row", [b"one", b"a\tb\tc"])
def test_a_row_without_two_columns_is_refused_with_its_line(row: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"one\teins\n" + row + b"\n")
    assert "pairs.tsv:2 has" in refusal(Parallel(pairs=path).open())


def test_target_alone_has_an_empty_source(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\n\ntwo\n")
    assert list(Parallel(target=path).open_for(False, ())) == [
        Pair(1, Line(""), Line("one")),
        Pair(3, Line(""), Line("two")),
    ]


def test_the_fingerprint_is_that_of_the_bytes(tmp_path: Path) -> None:
    pairs = files(tmp_path, gzip.compress(b"one\n" * 100_000), b"1\r\n" * 100_000)
    expected = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (tmp_path / "a.en", tmp_path / "a.de")
    }
    assert pairs.fingerprint() == pairs.check().fingerprint == expected


def test_part_of_an_iteration_leaves_no_report(tmp_path: Path) -> None:
    pairs = files(tmp_path, b"a\nb\n", b"1\n2\n")
    next(iter(pairs))
    assert pairs.report is None
    assert pairs.check().kept == 2


def test_reading_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.tsv"
    path.write_bytes(b"some words of the source\tand some of the target\n" * 30_000)
    tracemalloc.start()
    count = sum(1 for _ in Parallel(pairs=path).open())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 30_000
    assert peak < 4_000_000


def test_plain_reading_keeps_every_line(tmp_path: Path) -> None:
    text = "\ufeffone\r\n\n  \ntwo\u2028three\nNUL\0\nlast".encode()
    expected = ["one", "", "  ", "two\u2028three", "NUL\0", "last"]
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    assert list(read_plain(tmp_path / "plain")) == expected
    assert list(read_plain(tmp_path / "packed")) == expected
    assert list(read_plain(io.BytesIO(text))) == expected
    assert list(read_plain(io.BytesIO(b""))) == []
    (tmp_path / "empty").write_bytes(b"")
    assert list(read_plain(tmp_path / "empty")) == []


def test_plain_reading_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"stdin:2 is not UTF-8 at byte 1"):
        list(read_plain(io.BytesIO(b"ok\n\xff\n")))
    with pytest.raises(UsageError, match=r"stdin:1 is longer than 100,000 characters"):
        list(read_plain(io.BytesIO(b"x" * 1_000_000)))
    with pytest.raises(UsageError, match="UTF-16"):
        list(read_plain(io.BytesIO("x".encode("utf-16"))))


def test_plain_reading_yields_a_line_as_soon_as_it_is_there() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as stream, open(writing, "wb", buffering=0) as terminal:
        lines = read_plain(stream)
        for text in (b"one\n", b"two\n"):
            terminal.write(text)
            assert next(lines) == text.decode().strip()
