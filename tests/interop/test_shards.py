"""Shards and their manifest: what is found, translated, refused and translated again."""

from __future__ import annotations

import gzip
import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from toy import some_lines, train_small, write_corpus, write_lines

import regard
from regard.cli import main
from regard.errors import RegardError, UsageError
from regard.interop.ray import Using, translate_shards
from regard.interop.shards import (
    MANIFEST,
    Manifest,
    Shard,
    counted_attempt,
    find_shards,
    locked,
    translate_shard,
)
from regard.predict import WINDOW, Predictor


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    return train_small(folder / "run", write_corpus(folder / "corpus")).path


@pytest.fixture
def predictor(run: Path) -> Predictor:
    return regard.load(run)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def write_table(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def refusal(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(RegardError) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_shards_of_a_folder_or_pattern(tmp_path: Path, output: Path) -> None:
    for name in ("2.en.gz", "1.en", "_SUCCESS", ".hidden", "10.parquet"):
        (tmp_path / name).write_bytes(b"x\n")
    (tmp_path / "folder").mkdir()
    found = find_shards(tmp_path, output)
    assert [each.target.relative_to(output) for each in found] == [
        Path("1.en"),
        Path("10.parquet"),
        Path("2.en"),
    ]
    assert [each.source.name for each in find_shards(tmp_path / "*.en*", output)] == [
        "1.en",
        "2.en.gz",
    ]
    assert "No file matches" in refusal(find_shards, tmp_path / "*.xyz", output)
    assert "has no files" in refusal(find_shards, output, output)
    (tmp_path / "1.en.gz").write_bytes(b"x\n")
    said = refusal(find_shards, tmp_path, output)
    assert "1.en.gz would both be written to" in said
    assert "would be overwritten" in refusal(find_shards, tmp_path / "1.en", tmp_path)


def test_a_shard_of_lines(predictor: Predictor, tmp_path: Path, output: Path) -> None:
    lines = [*some_lines(300, 1), "", "ant"]
    source = tmp_path / "a.en.gz"
    source.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    [shard] = find_shards(source, output)
    done = translate_shard(predictor, shard, None)
    assert (done.lines, done.done) == (302, True)
    assert (output / "a.en").read_text().split("\n") == [*predictor(lines), ""]


@pytest.mark.parametrize("window", [7, WINDOW])
def test_a_shard_of_a_table(
    window: int,
    predictor: Predictor,
    tmp_path: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However few rows are read at a time."""
    monkeypatch.setattr("regard.interop.shards.WINDOW", window)
    rows = 100
    lines: list[Any] = [f"{line} {index}" for index, line in enumerate(some_lines(rows, 2))]
    lines[3], lines[4], lines[5] = None, "", "ant\nbee"
    columns = {"id": range(rows), "text": lines}
    source = write_table(tmp_path / "a.parquet", columns, row_group_size=rows // 3)
    [shard] = find_shards(source, output)
    done = translate_shard(predictor, shard, None)
    assert done.lines == rows
    table = parquet.read_table(shard.target)
    assert table.column_names == ["id", "text", "prediction"]
    assert table["text"].to_pylist() == lines
    assert table["id"].to_pylist() == list(range(rows))
    expected = predictor([(line or "").replace("\n", " ") for line in lines])
    assert table["prediction"].to_pylist() == expected
    assert expected[3] == expected[4] == ""


def test_the_column_of_a_table(predictor: Predictor, tmp_path: Path, output: Path) -> None:
    nested = [{"en": "ant", "de": "x"}, {"en": "bee", "de": "y"}]
    source = write_table(tmp_path / "a.parquet", {"translation": nested})
    [shard] = find_shards(source, output)
    translate_shard(predictor, shard, "translation.en")
    assert parquet.read_table(shard.target)["prediction"].to_pylist() == predictor(["ant", "bee"])
    said = refusal(translate_shard, predictor, shard, None)
    assert "has 2 columns of text (translation.en, translation.de): choose the one" in said
    assert "no column 'en'" in refusal(translate_shard, predictor, shard, "en")
    again = Shard(shard.target, output / "b.parquet")
    assert "has a column 'prediction'" in refusal(translate_shard, predictor, again, "text")
    assert not (output / "b.parquet").exists()
    empty = write_table(tmp_path / "b.parquet", {"text": pyarrow.array([], pyarrow.string())})
    assert translate_shard(predictor, Shard(empty, output / "c.parquet"), None).lines == 0
    assert parquet.read_table(output / "c.parquet").num_rows == 0


def test_a_manifest_knows_what_is_done(predictor: Predictor, tmp_path: Path, output: Path) -> None:
    for name in "abc":
        write_lines(tmp_path / f"{name}.en", some_lines(5, ord(name)))
    shards = find_shards(tmp_path / "*.en", output)
    manifest = Manifest.of(output, {"run": "1"})
    assert manifest.left(shards) == shards
    for shard in shards:
        manifest.shards[shard.target.name] = translate_shard(predictor, shard, None)
    manifest.save()
    assert Manifest.of(output, {"run": "1"}).left(shards) == []
    (output / "a.en").write_text("damaged\n")
    (output / "b.en").unlink()
    assert Manifest.of(output, {"run": "1"}).left(shards) == shards[:2]
    write_lines(shards[2].source, ["other"])
    write_lines(tmp_path / "d.en", ["new"])
    more = find_shards(tmp_path / "*.en", output)
    assert Manifest.of(output, {"run": "1"}).left(more) == more
    assert "was made with another run" not in (said := refusal(Manifest.of, output, {"run": "2"}))
    assert "translations that were made with another run: give the same" in said


def test_other_folders_are_refused(tmp_path: Path, output: Path) -> None:
    (output / "mine").write_bytes(b"")
    assert "has files but no manifest.json" in refusal(Manifest.of, output, {})
    (output / MANIFEST).write_text("{}")
    assert "is corrupt or was changed" in refusal(Manifest.of, output, {})
    with locked(tmp_path / "new"), pytest.raises(UsageError, match="Another command is writing to"):
        locked(tmp_path / "new").__enter__()
    assert "is a file" in refusal(locked(output / "mine").__enter__)


def test_a_shard_that_kills_its_workers_is_given_up(output: Path) -> None:
    shard = Shard(output / "a", output / "b")
    dead = [counted_attempt(shard) for _ in range(3)]
    for attempt in dead:
        attempt.__enter__()  # and its worker dies
    said = refusal(counted_attempt(shard).__enter__)
    assert said.startswith("3 workers died while they translated")
    with counted_attempt(shard):  # a later command tries again
        assert [each.name for each in output.iterdir()] == [".b.attempts"]
    assert list(output.iterdir()) == []


def test_what_workers_left_behind_is_removed(output: Path) -> None:
    for name in (".a.17.tmp", ".a.attempts"):
        (output / name).write_bytes(b"x")
    with locked(output):
        assert [each.name for each in output.iterdir()] == ["lock"]


@pytest.mark.parametrize("address", ["nowhere", "ray://host:1", "host:", ":6379", "a b:3", "h:x"])
def test_what_is_no_address_is_refused(address: str, run: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.en", ["ant"])
    said = refusal(translate_shards, run, source, tmp_path / "out", address)
    assert said == (
        f"'{address}' is not the address of a Ray cluster: give HOST:PORT, auto or local."
    )


def test_an_address_where_nothing_answers_is_refused(run: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    source = write_lines(tmp_path / "a.en", ["ant"])
    said = refusal(translate_shards, run, source, tmp_path / "out", address)
    assert said.startswith(f"No Ray cluster answers at {address} (")


def test_another_server_is_refused_at_once(run: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.en", ["ant"])
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(refusal, translate_shards, run, source, tmp_path / "out", address)
            with other.accept()[0] as client:
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                said = asked.result()
    assert said.startswith(f"No Ray cluster answers at {address} (what answers is not Ray)")


def test_without_ray_the_message_says_what_to_install(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    source = write_lines(tmp_path / "a.en", ["ant"])
    command = ["translate", str(run), "--ray=local", f"--input={source}"]
    assert main([*command, f"--output={tmp_path / 'out'}"]) == 2
    assert capsys.readouterr().err == (
        "regard: Ray is not installed: run pip install 'regard[ray]'.\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ray=local"], "--ray needs --input, a folder or pattern, and --output, a folder."),
        (["--column=text"], "--column has no effect without --ray; remove it."),
        (["--ray=local", "--best=2"], "--best has no effect with --ray; remove it."),
        (["--ray=local", "--alignments=x"], "--alignments has no effect with --ray; remove it."),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], said: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(run), *options]) == 2
    assert capsys.readouterr().err == f"regard: {said}\n"


def test_every_option_that_changes_translations_is_recorded(run: Path, tmp_path: Path) -> None:
    from regard.interop.ray import Loading

    plain = Loading.of(run, None, Using(), print).settings()
    for other in (Using(int8=True), Using(shortlist=5), Using(ensemble=(run,))):
        assert Loading.of(run, None, other, print).settings() != plain
    assert Loading.of(run, "text", Using(), print).settings() != plain
    json.dumps(plain)
