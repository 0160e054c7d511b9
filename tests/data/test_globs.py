"""Paths with wildcards: every file that matches, in sorted order, and only with its counterpart."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from backports import zstd
from toy import SMALL, some_lines, turned, write_lines

import regard
from regard.cli import main
from regard.data.parallel import Parallel
from regard.errors import UsageError


def shards(folder: Path, *names: str) -> None:
    """Files with two pairs each, which say where they are from."""
    for name in names:
        sides = ("s", "t") if name.endswith(".tsv") else (name[-1],)
        rows = ["\t".join(f"{side}{name.split('.')[0]}{n}" for side in sides) for n in "ab"]
        write_lines(folder / name, rows)


def refusal(data: Parallel) -> str:
    with pytest.raises(UsageError) as caught:
        data.open()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_all_that_match_are_read_in_sorted_order(tmp_path: Path) -> None:
    shards(tmp_path, "10.tsv", "2.tsv", "1.tsv", "other.tsv.bak")
    (tmp_path / "folder.tsv").mkdir()
    pairs = Parallel(pairs=tmp_path / "*.tsv").open()
    assert [pair.source.text for pair in pairs] == ["s1a", "s1b", "s10a", "s10b", "s2a", "s2b"]
    deep = Parallel(pairs=[str(tmp_path / "[12].tsv"), tmp_path / "**" / "1?.tsv"]).open()
    assert [pair.source.text for pair in deep][::2] == ["s1a", "s2a", "s10a"]


def test_files_of_both_sides_belong_together(tmp_path: Path) -> None:
    shards(tmp_path, "a.s", "b.s", "a.t", "b.t")
    data = Parallel(tmp_path / "*.s", tmp_path / "*.t")
    expected = [("sa" + n, "ta" + n) for n in "ab"] + [("sb" + n, "tb" + n) for n in "ab"]
    assert [pair.texts for pair in data.open()] == expected
    shards(tmp_path, "c.t")
    assert "*.s is 2 files but" in refusal(data)
    assert "*.t is 3 files: each file needs its counterpart." in refusal(data)
    shards(tmp_path, "d.s")
    assert "d.s and" in refusal(data)
    assert "c.t do not belong together: the wildcards of" in refusal(data)


def test_wildcards_are_compared_one_by_one(tmp_path: Path) -> None:
    shards(tmp_path, "x1.s", "x2.s")
    (tmp_path / "de").mkdir()
    shards(tmp_path / "de", "y-1-v.t", "y-2-v.t")
    sides = tmp_path / "x*.s", tmp_path / "**" / "y-*-v.t"
    assert len(list(Parallel(*sides).open())) == 4  # of patterns unlike, only the number counts
    assert len(list(Parallel(sides[0], tmp_path / "de" / "y-?-v.t").open())) == 4
    (tmp_path / "de" / "y-2-v.t").rename(tmp_path / "de" / "y-3-v.t")
    assert "do not belong together" in refusal(Parallel(sides[0], tmp_path / "de" / "y-?-v.t"))


def test_a_pattern_that_nothing_matches_is_refused(tmp_path: Path) -> None:
    assert refusal(Parallel(pairs=tmp_path / "*.tsv")) == (
        f"No file matches {tmp_path / '*.tsv'}: check the folder and the pattern."
    )
    shards(tmp_path, "a.s", "a.t")
    assert "No file matches" in refusal(Parallel(tmp_path / "*.s", tmp_path / "*.x"))


def test_a_name_with_wildcards_in_it_is_a_name(tmp_path: Path) -> None:
    shards(tmp_path, "[1].tsv", "1.tsv")
    pairs = Parallel(pairs=tmp_path / "[1].tsv").open()
    assert [pair.source.text for pair in pairs] == ["s[1]a", "s[1]b"]


def test_a_file_that_matches_twice_is_refused(tmp_path: Path) -> None:
    shards(tmp_path, "a.tsv", "b.tsv")
    said = refusal(Parallel(pairs=[tmp_path / "*.tsv", tmp_path / "b.tsv"]))
    assert "b.tsv is given twice" in said


def test_a_weight_belongs_to_a_pattern(tmp_path: Path) -> None:
    shards(tmp_path, "a1.tsv", "a2.tsv", "b.tsv")
    given = [tmp_path / "a*.tsv", tmp_path / "b.tsv"]
    pairs = Parallel(pairs=given, weights="2,0.5").open()
    assert [str(each.weight) for each in pairs.portions] == ["2", "2", "1/2"]
    said = refusal(Parallel(pairs=given, weights="1,2,3"))
    assert "for each of the 2 files and patterns, such as 1,3" in said


def test_training_on_compressed_shards_equals_training_on_one_file(tmp_path: Path) -> None:
    lines = some_lines(60, 1)
    whole = write_lines(tmp_path / "all.tsv", [f"{line}\t{turned(line)}" for line in lines])
    rows = whole.read_bytes().splitlines(keepends=True)
    (tmp_path / "part-1.tsv.gz").write_bytes(gzip.compress(b"".join(rows[:25])))
    (tmp_path / "part-2.tsv.zst").write_bytes(zstd.compress(b"".join(rows[25:])))
    runs = []
    for name, given in (("one", whole), ("many", tmp_path / "part-*")):
        runs.append(tmp_path / name)
        regard.train(
            "tiny", Parallel(pairs=given), run=runs[-1], settings=SMALL, steps=2, quiet=True
        )
    stores = [regard.runs.folder.Run.open(run).store("train") for run in runs]  # type: ignore[attr-defined]
    assert (stores[0].source.values == stores[1].source.values).all()
    assert (stores[0].target.values == stores[1].target.values).all()


def test_a_file_that_matches_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards(tmp_path, "a.tsv", "b.tsv")
    command = ["score", str(tmp_path), f"--pairs={tmp_path / '*.tsv'}"]
    assert main([*command, f"--output={tmp_path / 'a.tsv'}"]) == 2
    assert "a.tsv is also an input and would be lost" in capsys.readouterr().err
