"""A cleaned copy and the list of removals are together the whole corpus, in any format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import Parallel, UsageError, doctor
from regard.diagnosis.cleaning import HEADER

Pairs = list[tuple[str, str]]


@pytest.fixture
def dirty(clean: Pairs) -> Pairs:
    """Damage of several kinds; texts with what a table must escape."""
    pairs = clean[:400]
    pairs[10] = (pairs[10][0], "<b>fett</b>\tund \\ mehr")
    pairs[20] = (" ", pairs[20][1])
    pairs[30] = pairs[3]
    pairs[40] = (pairs[40][0] + "\x1b", pairs[40][1])
    pairs[50] = ("a\rb &amp; c", pairs[50][1])
    pairs[60] = (pairs[60][0], pairs[60][0])
    return pairs


def listed(folder: Path) -> list[list[str]]:
    """The rows of the list of removals."""
    head, *rows = (folder / "removed.tsv").read_bytes().decode().split("\n")[:-1]
    assert head + "\n" == HEADER
    return [row.split("\t") for row in rows]


def unescaped(text: str) -> str:
    marks = {"\\\\": "\\", "\\t": "\t", "\\r": "\r", "\\n": "\n"}
    parts, rest = [], text
    while rest:
        size = 2 if rest[0] == "\\" else 1
        parts.append(marks[rest[:2]] if size == 2 else rest[0])
        rest = rest[size:]
    return "".join(parts)


def test_copy_and_list_are_the_whole_corpus(
    dirty: Pairs, data: Callable[..., Parallel], tmp_path: Path
) -> None:
    given = data(dirty)
    report = doctor(given, clean=tmp_path / "cleaned")
    rows = listed(tmp_path / "cleaned")
    assert report.removed == 6 == len(rows) / 2
    assert [row[2] for row in rows[::2]] == [
        "markup",
        "empty",
        "duplicate",
        "control",
        "markup",
        "untranslated",
    ]
    for side, tag in enumerate(("en", "de")):
        path = tmp_path / f"train.{tag}"
        removed = {int(line): text for file, line, _, text in rows if file == str(path)}
        kept = iter((tmp_path / "cleaned" / path.name).read_bytes().decode().split("\n"))
        both = [
            unescaped(removed[number]) if number in removed else next(kept)
            for number in range(1, len(dirty) + 1)
        ]
        assert next(kept) == ""
        assert not any(kept)
        expected = ["" if not pair[side].strip() else pair[side] for pair in dirty]
        assert both == expected
    assert report.cleaned == tuple(
        tmp_path / "cleaned" / name for name in ("train.en", "train.de", "removed.tsv")
    )


def test_a_cleaned_copy_is_clean(
    dirty: Pairs, data: Callable[..., Parallel], tmp_path: Path
) -> None:
    doctor(data(dirty), clean=tmp_path / "cleaned")
    folder = tmp_path / "cleaned"
    again = doctor(Parallel(folder / "train.en", folder / "train.de"), clean=tmp_path / "again")
    assert (again.pairs, again.damaged, again.removed) == (394, 0, 0)
    assert (tmp_path / "again/train.de").read_bytes() == (folder / "train.de").read_bytes()


def test_files_of_pairs_become_tsv(dirty: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl.gz"
    rows = [json.dumps({"en": source, "de": target}) for source, target in dirty]
    path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
    report = doctor(Parallel(pairs=path, columns="en,de"), clean=tmp_path / "cleaned")
    cleaned = tmp_path / "cleaned" / "memory.tsv"
    lines = cleaned.read_bytes().decode().split("\n")[:-1]
    assert lines[:5] == [f"{source}\t{target}" for source, target in dirty[:5]]
    assert len(lines) + (report.removed or 0) == len(dirty)
    assert all(row[0] == str(path) for row in listed(tmp_path / "cleaned"))


def test_languages_stay_with_their_pairs(clean: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "both.tsv"
    rows = [f"{source}\t{target}\ten\tde\n" for source, target in clean[:60]]
    path.write_text("".join([*rows, rows[0]]), encoding="utf-8")
    doctor(Parallel(pairs=path, columns="1,2,3,4"), clean=tmp_path / "cleaned")
    assert (tmp_path / "cleaned/both.tsv").read_text(encoding="utf-8") == "".join(rows)


def test_trees_stay_with_their_lines(dirty: Pairs, tmp_path: Path) -> None:
    dirty[20] = dirty[21]  # an empty source has no tree
    paths = [tmp_path / name for name in ("a.en", "a.de", "a.trees")]
    trees = [" ".join(["0"] * len(source.split())) for source, _ in dirty]
    columns = [[pair[0] for pair in dirty], [pair[1] for pair in dirty], trees]
    for path, lines in zip(paths, columns, strict=True):
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    report = doctor(Parallel(*paths[:2], trees=paths[2]), clean=tmp_path / "cleaned")
    sources, kept = (
        (tmp_path / "cleaned" / name).read_bytes().decode().split("\n")[:-1]
        for name in ("a.en", "a.trees")
    )
    assert [len(line.split()) for line in sources] == [len(line.split()) for line in kept]
    assert report.removed == 6 == len(listed(tmp_path / "cleaned")) / 3


def test_nothing_is_written_if_training_would_refuse_the_files(
    clean: Pairs, data: Callable[..., Parallel], tmp_path: Path
) -> None:
    given = data(clean[:100])
    longer = tmp_path / "longer.de"
    longer.write_text("\n".join(pair[1] for pair in clean[:101]) + "\n", encoding="utf-8")
    report = doctor(Parallel(given.source, longer), clean=tmp_path / "cleaned")
    assert report.errors
    assert (report.removed, report.cleaned) == (None, ())
    assert list((tmp_path / "cleaned").iterdir()) == []


def test_files_that_are_read_are_not_written(
    clean: Pairs, data: Callable[..., Parallel], tmp_path: Path
) -> None:
    given = data(clean[:100])
    with pytest.raises(UsageError, match="is one of the files that are read"):
        doctor(given, clean=tmp_path)
    training = tmp_path / "training"
    training.mkdir()
    copies = [training / f"train.{tag}" for tag in ("en", "de")]
    for side, copied in enumerate(copies):
        copied.write_text("".join(f"{pair[side]}\n" for pair in clean[:80]), encoding="utf-8")
    for part in ("valid", "test"):
        with pytest.raises(UsageError, match="is one of the files that are read"):
            doctor(Parallel(*copies), **{part: given}, clean=tmp_path)
    (tmp_path / "other").mkdir()
    copy = tmp_path / "other" / "train.en.gz"
    copy.write_bytes(gzip.compress((tmp_path / "train.en").read_bytes()))
    target = given.target
    assert isinstance(target, Path)
    twice = Parallel([tmp_path / "train.en", copy], [target, tmp_path / "x.de"])
    (tmp_path / "x.de").write_bytes(target.read_bytes())
    with pytest.raises(UsageError, match="Two files would become"):
        doctor(twice, clean=tmp_path / "cleaned")
    with pytest.raises(UsageError, match="is a file: choose a folder"):
        doctor(given, clean=target)
