"""Parquet files of pairs: columns by name, rows some at a time, damage and mistakes refused."""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path
from typing import Any, Optional

import pyarrow
import pytest
from pyarrow import parquet

from regard.data.corpus import Pairs
from regard.data.parallel import Parallel
from regard.errors import UsageError


def written(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def opened(path: Path, columns: Optional[str] = None) -> Pairs:
    return Parallel(pairs=path, columns=columns).open()


def refusal(pairs: Pairs) -> str:
    with pytest.raises(UsageError) as caught:
        pairs.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli"])
@pytest.mark.parametrize("rows", [1, 100])
def test_columns_by_name(compression: str, rows: int, tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.parquet",
        {"id": [1, 2, 3], "de": ["eins", "zwei", "drei"], "en": ["one", "two", "three"]},
        compression=compression,
        row_group_size=rows,
    )
    pairs = opened(path, "en,de")
    assert [(pair.number, *pair.texts) for pair in pairs] == [
        (1, "one", "eins"),
        (2, "two", "zwei"),
        (3, "three", "drei"),
    ]
    assert pairs.fingerprint() == {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


def test_columns_within_a_column(tmp_path: Path) -> None:
    """As the datasets of Hugging Face have them; a missing struct has missing texts."""
    rows = [{"en": "one", "de": "eins"}, None, {"en": None, "de": "zwei"}, {"en": "3", "de": "3"}]
    for name in ("translation.en,translation.de", None):
        pairs = opened(written(tmp_path / "a.parquet", {"translation": rows}), name)
        assert [pair.texts for pair in pairs] == [("one", "eins"), ("3", "3")]
        said = pairs.check().sentences()
        assert "Skipped 2 of 4 pairs: source or target missing" in said[0]
        assert "a.parquet:2)" in said[0]
    assert said[1] == (
        f"Read translation.en as the source and translation.de as the target of "
        f"{tmp_path / 'a.parquet'}."
    )
    both = {"a.b": ["dotted"], "a": [{"b": "inner", "c": "x"}]}
    pairs = opened(written(tmp_path / "b.parquet", both), "a.b,a.c")
    assert [pair.texts for pair in pairs] == [("dotted", "x")]


def test_every_type_of_text(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.pq",
        {
            "large": pyarrow.array(["one", "two"], pyarrow.large_string()),
            "coded": pyarrow.array(["eins", "eins"]).dictionary_encode(),
        },
    )
    pairs = opened(path, "large,coded")
    assert [pair.texts for pair in pairs] == [("one", "eins"), ("two", "eins")]


def test_a_parquet_file_needs_no_suffix(tmp_path: Path) -> None:
    path = written(tmp_path / "train-00000-of-00002", {"a": ["one"], "b": ["eins"]})
    assert [pair.texts for pair in opened(path)] == [("one", "eins")]


def test_texts_are_lines_and_some_are_skipped(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.parquet", {"a": ["x\ny", " ", "z\0", "w"], "b": ["1", "2", "3", ""]}
    )
    pairs = opened(path)
    assert [pair.texts for pair in pairs] == [("x y", "1")]
    said = " ".join(pairs.check().sentences())
    assert "Skipped 2 of 4 pairs: empty" in said
    assert "NUL character" in said
    assert "line breaks inside texts: they became spaces" in said


def test_columns_of_languages(tmp_path: Path) -> None:
    columns = {"s": ["one", "un"], "t": ["eins", "one"], "f": ["en", "fr"], "o": ["de", "en"]}
    path = written(tmp_path / "a.parquet", columns)
    found = [str(pair.languages) for pair in opened(path, "s,t,f,o")]
    assert len(set(found)) == 2
    columns["o"][1] = ""
    said = refusal(opened(written(path, columns), "s,t,f,o"))
    assert said.endswith("a.parquet:2 has no language as its 'o': give a tag such as en.")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("en,sv", "has no column 'sv': its columns of text are en, de, other; choose among them"),
        ("id,de", "Column 'id' of {} is int64, not text: its columns of text are en, de, other"),
        (None, "has 3 columns of text (en, de, other): choose source and target"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    columns: Optional[str], said: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.parquet", {"id": [1], "en": ["a"], "de": ["b"], "other": ["c"]})
    assert said.format(path) in refusal(opened(path, columns))


def test_a_table_with_one_column_of_text_is_refused(tmp_path: Path) -> None:
    said = refusal(opened(written(tmp_path / "a.parquet", {"id": [1], "en": ["a"]})))
    assert "has 1 column of text (en): a pair needs two, its source and its target." in said


def test_text_that_is_not_utf8_is_refused_with_its_row(tmp_path: Path) -> None:
    latin = [b"ok"] * 300 + ["schön".encode("latin-1")]
    bad = pyarrow.array(latin, pyarrow.binary()).cast(pyarrow.string(), safe=False)
    said = refusal(opened(written(tmp_path / "a.parquet", {"a": ["x"] * 301, "b": bad})))
    assert "Row 301 of" in said
    assert "is not UTF-8 in 'b'" in said


def test_damage_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"a": ["x" * 50] * 999, "b": map(str, range(999))})
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    assert "is a damaged or incomplete Parquet file, readable up to row 0" in refusal(opened(path))
    path.write_bytes(content[:40] + bytes(400) + content[440:])
    assert "is a damaged or incomplete Parquet file" in refusal(opened(path))
    (tmp_path / "b.parquet").write_text("one\teins\n")
    assert "b.parquet is not a plain Parquet file" in refusal(opened(tmp_path / "b.parquet"))
    (tmp_path / "c.parquet.gz").write_bytes(gzip.compress(content))
    assert "decompress it" in refusal(opened(tmp_path / "c.parquet.gz"))


def test_it_has_pairs_and_no_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"a": ["x"], "b": ["y"]})
    said = refusal(Parallel(path, path).open())
    assert "a.parquet is a Parquet file: give it with --pairs and --columns" in said


def test_without_pyarrow_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.parquet", {"a": ["x"], "b": ["y"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "run pip install 'regard[parquet]' to read it" in refusal(opened(path))


def test_a_row_group_is_never_held_in_memory(tmp_path: Path) -> None:
    """Neither decoded nor as it is in the file."""
    rows = 40_000
    texts = [f"{number:07}" * 100 for number in range(rows)]
    path = written(tmp_path / "a.parquet", {"a": texts, "b": texts}, row_group_size=rows)
    before, most = pyarrow.total_allocated_bytes(), 0
    for _ in opened(path):
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert parquet.ParquetFile(path).metadata.num_row_groups == 1
    assert 0 < most < 2 * rows * 700 / 4
