"""Compressed files are read by what they are, and anything else is refused by its name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.cli import main
from regard.data.corpus import Pairs
from regard.data.parallel import Parallel
from regard.data.text import read_plain
from regard.errors import UsageError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compress = Callable[[bytes], bytes]

KINDS: dict[str, Compress] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
}

every_kind = pytest.mark.parametrize("kind", KINDS)


def pairs(folder: Path, content: bytes) -> Pairs:
    (folder / "a.txt").write_bytes(content)
    return Parallel(folder / "a.txt", folder / "a.txt").open()


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(UsageError) as caught:
        pairs(folder, content).check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def texts(found: Pairs) -> list[str]:
    return [pair.source.text for pair in found]


def numbers(count: int) -> bytes:
    draw = random.Random(0)
    return b"\n".join(str(draw.random()).encode() for _ in range(count))


@every_kind
def test_compression_is_known_by_the_bytes_and_not_by_the_name(kind: str, tmp_path: Path) -> None:
    content = KINDS[kind]("one\r\nzwölf\n".encode())
    assert texts(pairs(tmp_path, content)) == ["one", "zwölf"]
    assert list(read_plain(tmp_path / "a.txt")) == ["one", "zwölf"]


@every_kind
def test_several_streams_one_after_the_other_are_one_text(kind: str, tmp_path: Path) -> None:
    compress = KINDS[kind]
    content = compress(b"one\nt") + compress(b"") + compress(b"wo\n")
    assert texts(pairs(tmp_path, content)) == ["one", "two"]
    assert texts(pairs(tmp_path, content + bytes(8))) == ["one", "two"]


@every_kind
def test_the_beginning_of_a_text_may_be_a_stream_of_its_own(kind: str, tmp_path: Path) -> None:
    compress = KINDS[kind]
    (tmp_path / "a").write_bytes(compress(b"{") + compress(b'"a": "1", "b": "2"}\n'))
    [pair] = Parallel(pairs=tmp_path / "a").open()
    assert pair.texts == ("1", "2")


@every_kind
def test_an_empty_file_is_refused(kind: str, tmp_path: Path) -> None:
    assert "a.txt is empty" in refusal(tmp_path, KINDS[kind](b""))


@every_kind
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.99999])
def test_a_truncated_file_is_refused(kind: str, share: float, tmp_path: Path) -> None:
    packed = KINDS[kind](numbers(20_000))
    packed = packed[: max(12, min(len(packed) - 1, int(len(packed) * share)))]
    message = refusal(tmp_path, packed)
    assert f"a.txt is a damaged {kind} file, readable up to line" in message
    read = int(message.split("up to line ")[1].split(":")[0].replace(",", ""))
    if kind in ("gzip", "xz"):  # the blocks of the others are as large as this text
        assert (read > 1_000) == (share >= 0.3)
    with pytest.raises(UsageError, match=f"damaged {kind}"):
        list(read_plain(tmp_path / "a.txt"))


@every_kind
def test_a_corrupt_file_is_refused_or_has_the_same_text(kind: str, tmp_path: Path) -> None:
    lines = numbers(3_000)
    packed, draw, refused = KINDS[kind](lines), random.Random(0), 0
    for _ in range(30):
        damaged = bytearray(packed)
        damaged[draw.randrange(12, len(packed))] ^= 1 << draw.randrange(8)
        try:
            found = texts(pairs(tmp_path, bytes(damaged)))
        except UsageError as error:
            refused += f"damaged {kind}" in str(error)
            continue
        assert "\n".join(found).encode() == lines
    assert refused > 22


@every_kind
def test_what_follows_a_stream_must_be_one_too(kind: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, KINDS[kind](b"one\ntwo\n") + b"garbage that is not compressed")
    assert f"damaged {kind}" in message


@every_kind
def test_a_file_that_expands_enormously_needs_little_memory(kind: str, tmp_path: Path) -> None:
    content = KINDS[kind](b"first\n" + b"x" * 60_000_000 + b"\nlast\n")
    found = pairs(tmp_path, content)
    tracemalloc.start()
    assert texts(found) == ["first", "last"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000  # two dictionaries of xz are the most of it
    assert "longer than 100,000 characters" in found.check().sentences()[0]


def zipped(*names: str, content: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("train.en")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"hello\n"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zipped("train.en"), "a zip archive: unpack it"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a Word document (docx): save it"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook (xlsx): save it"),
        (
            zipped("mimetype", content=b"application/vnd.oasis.opendocument.text"),
            "an OpenDocument file",
        ),
        (tarred(), "a tar archive"),
        (gzip.compress(tarred()), "a tar archive"),
        (zstd.compress(tarred()), "a tar archive"),
        (gzip.compress(gzip.compress(b"x\n")), "compressed with gzip here"),
        (b"Rar!\x1a\x07\x01\x00", "a rar archive"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive"),
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "an lz4 file: decompress it first"),
        (lzma.compress(b"one\n", lzma.FORMAT_ALONE), "an lzma file"),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF document"),
        (b"{\\rtf1\\ansi", "an RTF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(8), "an old Office document"),
        (b"SQLite format 3\x00\x10", "an SQLite database"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        ("hello\nyou\n".encode("utf-16"), "UTF-16 text: convert it to UTF-8"),
        ("hello\nyou\n".encode("utf-16-le"), "UTF-16 text without a byte order mark"),
        ("hello\nyou\n".encode("utf-16-be"), "UTF-16 text without a byte order mark"),
        ("hello\nyou\n".encode("utf-32"), "UTF-32 text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_what_is_not_text_is_called_by_its_name(content: bytes, said: str, tmp_path: Path) -> None:
    assert f"a.txt is {said}" in refusal(tmp_path, content)
    with pytest.raises(UsageError) as caught:
        Parallel(pairs=tmp_path / "a.txt").open().check()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text", ["BZh9 is here", "PAR1 is a gene", "LZIP it", "PK", "7zip", "a\0b"]
)
def test_text_that_begins_like_something_else_is_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{text}\nmore\n")
    assert list(read_plain(tmp_path / "a.txt")) == [text, "more"]


@every_kind
def test_a_compressed_stream_is_called_by_its_name(kind: str) -> None:
    with pytest.raises(UsageError, match=f"stdin is compressed with {kind} here: decompress"):
        list(read_plain(io.BytesIO(KINDS[kind](b"one\n"))))


def test_a_compressed_stream_with_cr_in_it_is_not_taken_for_text_of_an_old_macintosh() -> None:
    packed = gzip.compress(b"one", mtime=0x0D0D0D0D)  # the time is four CR in the header
    assert b"\r\r\r\r" in packed
    assert b"\n" not in packed
    with pytest.raises(UsageError, match="stdin is compressed with gzip here: decompress"):
        list(read_plain(io.BytesIO(packed)))


@pytest.mark.parametrize("text", [b"one\rtwo\rthree", b"one\rtwo\rthree\r", b"word\r" * 200_000])
def test_cr_line_ends_are_refused_by_name(text: bytes, tmp_path: Path) -> None:
    assert "a.txt has CR line ends" in refusal(tmp_path, text)
    with pytest.raises(UsageError, match="stdin has CR line ends"):
        list(read_plain(io.BytesIO(text)))


def test_a_cr_inside_a_line_is_text(tmp_path: Path) -> None:
    assert texts(pairs(tmp_path, b"one\rtwo\nthree\rfour")) == ["one\rtwo", "three\rfour"]


def test_a_wrong_file_ends_the_command_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped("train.en"))
    run = tmp_path / "run"
    assert main(["train", "tiny", f"--pairs={tmp_path / 'a.zip'}", f"--run={run}"]) == 2
    said = capsys.readouterr().err
    assert "a.zip is a zip archive" in said
    assert "Traceback" not in said
    assert not run.exists()
