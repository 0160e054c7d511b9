"""The table of bad corpora, and good ones in every format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from toy import some_lines, turned

COUNT = 40
Lines = list[bytes]
Pair = tuple[str, str]


def good_pairs() -> list[Pair]:
    """Different ones, so that nothing is held out twice."""
    lines = list(dict.fromkeys(some_lines(3 * COUNT, 9)))[:COUNT]
    return [(line, turned(line)) for line in lines]


@dataclass(frozen=True)
class Case:
    """Writes files and gives the options that name them. Either a refusal is expected, or a note
    and the number of pairs that are left."""

    write: Callable[[Path], list[str]]
    refusal: Optional[str] = None
    note: str = ""
    kept: int = COUNT


def _sides() -> tuple[Lines, Lines]:
    pairs = good_pairs()
    return [one.encode() for one, _ in pairs], [other.encode() for _, other in pairs]


def _write(folder: Path, source: bytes, target: bytes) -> list[str]:
    (folder / "source").write_bytes(source)
    (folder / "target").write_bytes(target)
    return [f"--source={folder / 'source'}", f"--target={folder / 'target'}"]


def _joined(lines: Lines, end: bytes = b"\n") -> bytes:
    return b"".join(line + end for line in lines)


Change = Callable[[bytes], bytes]
"""The bytes of a file after something has happened to it."""


def changed(side: str, change: Change) -> Callable[[Path], list[str]]:
    """Good files, of which one side or both are changed."""

    def write(folder: Path) -> list[str]:
        source, target = map(_joined, _sides())
        return _write(
            folder,
            change(source) if side in ("source", "both") else source,
            change(target) if side in ("target", "both") else target,
        )

    return write


def line(number: int, content: bytes) -> Change:
    """A line, counted from 1, is replaced."""

    def change(data: bytes) -> bytes:
        lines = data.split(b"\n")
        lines[number - 1] = content
        return b"\n".join(lines)

    return change


def pairs_file(name: str, content: bytes, *more: str) -> Callable[[Path], list[str]]:
    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(content)
        return [f"--pairs={folder / name}", *more]

    return write


def _missing(folder: Path) -> list[str]:
    return [f"--source={folder / 'none'}", f"--target={folder / 'none'}"]


def _folder(folder: Path) -> list[str]:
    (folder / "inner").mkdir()
    return [f"--source={folder / 'inner'}", f"--target={folder / 'inner'}"]


def _pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe")
    return [f"--source={folder / 'pipe'}", f"--target={folder / 'pipe'}"]


def _loop(folder: Path) -> list[str]:
    (folder / "loop").symlink_to(folder / "loop")
    return [f"--source={folder / 'loop'}", f"--target={folder / 'loop'}"]


def _same(folder: Path) -> list[str]:
    pairs = [b"ant bee"] * COUNT
    return _write(folder, _joined(pairs), _joined([b"BEE ANT"] * COUNT))


def _twice(folder: Path) -> list[str]:
    source, target = _sides()
    return _write(folder, _joined(source * 2), _joined(target * 2))


def _swapped(folder: Path) -> list[str]:
    """Sides are told apart by their words, whose case does not count: those of targets are spelled
    backwards here."""
    source, target = _sides()
    target = [line[::-1] for line in target]
    (folder / "valid").mkdir()
    valid = _write(folder / "valid", _joined(target), _joined(source))
    given = _write(folder, _joined(source), _joined(target))
    return [*given, *(option.replace("--", "--valid-", 1) for option in valid)]


def _only_one(folder: Path) -> list[str]:
    return _write(folder, b"ant bee\n", b"BEE ANT\n")


def tsv(pairs: list[Pair]) -> bytes:
    return "".join(f"{one}\t{other}\n" for one, other in pairs).encode()


def comma_separated(pairs: list[Pair]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([("source", "target"), *pairs])
    return text.getvalue().encode()


def json_lines(pairs: list[Pair]) -> bytes:
    return "".join(json.dumps({"source": one, "target": two}) + "\n" for one, two in pairs).encode()


def tmx(pairs: list[Pair]) -> bytes:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{one}</seg></tuv>'
        f'<tuv xml:lang="de"><seg>{two}</seg></tuv></tu>\n'
        for one, two in pairs
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><body>\n{units}</body></tmx>\n'.encode()


FORMATS: dict[str, Callable[[list[Pair]], bytes]] = {
    "a.tsv": tsv,
    "a.csv": comma_separated,
    "a.jsonl": json_lines,
    "a.tmx": tmx,
    "a.tsv.gz": lambda pairs: gzip.compress(tsv(pairs), mtime=0),
    "a.tsv.xz": lambda pairs: lzma.compress(tsv(pairs)),
    "a.tsv.bz2": lambda pairs: bz2.compress(tsv(pairs)),
    "a.jsonl.gz": lambda pairs: gzip.compress(json_lines(pairs), mtime=0),
}


def _rows(number: int, row: bytes) -> bytes:
    return line(number, row)(tsv(good_pairs()))


def _truncated(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


SKIPPED = rf"Skipped 1 of {COUNT} pairs: {{}} \(first at \S+/{{}}:7\)"


def _table() -> dict[str, Case]:
    found = dict[str, Case]()
    for side in ("source", "target"):
        here = rf"{side}:7 is not UTF-8 at byte"
        invalid = {"0xFF": b"ant \xff", "half a letter": b"ant \xc3", "too long": b"\xc0\xafant"}
        for name, content in invalid.items():
            found[f"{side} with {name}"] = Case(changed(side, line(7, content)), here)
        found[f"{side} with an encoded surrogate"] = Case(
            changed(side, line(7, b"\xed\xa0\x80")), here
        )
        found[f"{side} in Latin-1"] = Case(changed(side, line(3, b"z\xfcrich")), f"{side}:3 is not")
        found[f"{side} with a NUL"] = Case(
            changed(side, line(7, b"ant\0bee")), note=SKIPPED.format("NUL character", side), kept=39
        )
        for name, content in {"empty": b"", "blank": b" \t ", "CR alone": b"\r"}.items():
            found[f"{side} with a line that is {name}"] = Case(
                changed(side, line(7, content)), note=SKIPPED.format(".*empty", side), kept=39
            )
        long = b"ant " * 300_000
        found[f"{side} with a line of 1.2 MB"] = Case(
            changed(side, line(7, long)), note=SKIPPED.format("longer than.*", side), kept=39
        )
        counts = rf"has {COUNT} lines but \S+ has {COUNT - 1}|has {COUNT - 1} lines but"
        found[f"{side} without its last line"] = Case(
            changed(side, lambda data: _joined(data.splitlines()[:-1])), counts
        )
        found[f"{side} with a line too many"] = Case(
            changed(side, lambda data: data + b"ant\n"), rf"has {COUNT}|has {COUNT + 1}"
        )
        found[f"{side} empty"] = Case(changed(side, lambda data: b""), "is empty|has 0 lines")
        found[f"{side} of line ends alone"] = Case(
            changed(side, lambda data: b"\n" * COUNT), "no usable line"
        )
        found[f"{side} with a byte order mark"] = Case(
            changed(side, lambda data: b"\xef\xbb\xbf" + data), note="byte order mark"
        )
        found[f"{side} with Windows line ends"] = Case(
            changed(side, lambda data: data.replace(b"\n", b"\r\n")), note="Windows line ends"
        )
        found[f"{side} with CR line ends"] = Case(
            changed(side, lambda data: data.replace(b"\n", b"\r")), f"{side} has CR line ends"
        )
        for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
            found[f"{side} in {name}"] = Case(
                changed(side, lambda data, name=name: data.decode().encode(name)), "UTF-(16|32)"
            )
        found[f"{side} compressed and truncated"] = Case(
            changed(side, lambda data: _truncated(gzip.compress(data, mtime=0))), "damaged gzip"
        )
        found[f"{side} as a zip archive"] = Case(
            changed(side, lambda data: b"PK\x03\x04" + data), "zip archive"
        )
    return {**found, **_of_both(), **_of_pairs()}


def _of_both() -> dict[str, Case]:
    """What both sides are, and files that are none."""
    between = "ant\u2028bee\u0085cat\u2029dog\x0b\x0c\x1c".encode()
    source, target = _sides()

    def separators(folder: Path) -> list[str]:
        lines = [between, *source[1:]], [turned(between.decode()).encode(), *target[1:]]
        return _write(folder, *map(_joined, lines))

    return {
        "missing files": Case(_missing, "Cannot read .*none: No such file"),
        "a folder": Case(_folder, "is a folder: give a file"),
        "a pipe": Case(_pipe, "not a regular file"),
        "a link to itself": Case(_loop, "Cannot read"),
        "all pairs the same": Case(_same, "All pairs are the same"),
        "validation files the wrong way round": Case(
            _swapped, "source and target of the validation files are swapped"
        ),
        "one pair": Case(_only_one, "One pair is not enough"),
        "every pair twice": Case(
            _twice, note=rf"{COUNT} of {2 * COUNT} pairs repeat an earlier one", kept=2 * COUNT - 2
        ),
        "U+2028, U+0085 and others in a line": Case(separators),
        "no line end at the end": Case(changed("both", lambda data: data[:-1])),
        "two gzip members": Case(
            changed("both", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]))
        ),
    }


def _of_pairs() -> dict[str, Case]:
    """Files with both sides."""
    good = good_pairs()
    return {
        "a row of one column": Case(pairs_file("a.tsv", _rows(7, b"ant")), r"a\.tsv:7"),
        "a row of three columns": Case(pairs_file("a.tsv", _rows(7, b"a\tb\tc")), r"a\.tsv:7"),
        "a row with an empty target": Case(
            pairs_file("a.tsv", _rows(7, b"ant\t")), note=r"Skipped 1 .*a\.tsv:7", kept=39
        ),
        "a quotation that does not end": Case(
            pairs_file("a.csv", comma_separated(good) + b'"ant,BEE\n'), r"a\.csv:\d+"
        ),
        "JSON that is cut off": Case(
            pairs_file("a.jsonl", json_lines(good) + b'{"source": "ant"'), r"a\.jsonl:41"
        ),
        "JSON that is a list": Case(
            pairs_file("a.jsonl", json_lines(good) + b'["ant", "BEE"]\n'), r"a\.jsonl:41"
        ),
        "JSON of numbers": Case(
            pairs_file("a.jsonl", json_lines(good) + b'{"source": 1, "target": 2}\n'),
            r"a\.jsonl:41",
        ),
        "JSON nested too deeply": Case(
            pairs_file("a.jsonl", json_lines(good) + b"[" * 100_000 + b"\n"), r"a\.jsonl:41"
        ),
        "JSON with half a surrogate pair": Case(
            pairs_file("a.jsonl", json_lines(good) + b'{"source": "\\ud800", "target": "A"}\n'),
            note=r"Skipped 1 of 41 pairs: half a surrogate pair \(first at \S+a\.jsonl:41\)",
        ),
        "TMX that is cut off": Case(
            pairs_file("a.tmx", _truncated(tmx(good)), "--columns=en,de"), r"a\.tmx"
        ),
        "TMX with an entity that expands": Case(
            pairs_file(
                "a.tmx",
                tmx(good).replace(b"<tmx", b'<!DOCTYPE tmx [<!ENTITY a "aaaa">]><tmx'),
                "--columns=en,de",
            ),
            r"a\.tmx",
        ),
        "a column that is not there": Case(pairs_file("a.tsv", tsv(good), "--columns=1,9"), r"9"),
    }


CASES = _table()
