"""What preparing and training keep of a corpus is bounded, and as exact as what grows with it."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from toy import SMALL, some_lines, turned, write_lines

from regard.config import override
from regard.data import distinct, doctor, order, reading, reread, tokenizers, writer
from regard.data.distinct import Hashes
from regard.data.order import Order
from regard.data.parallel import Parallel
from regard.data.reread import Reread
from regard.data.store import Batches
from regard.data.tokenizer import TokenizerSettings
from regard.recipes import find_recipe
from regard.runs.folder import Run
from regard.runs.prepare import prepare, read_data
from regard.training.display import Display


@contextmanager
def peak() -> Iterator[Callable[[], int]]:
    """The most bytes that were in use since the beginning of the block."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 1234])
@pytest.mark.parametrize("kinds", [1, 30, 900, 2**62])
def test_distinct_items_are_those_that_no_earlier_one_equals(
    count: int, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct, "RUN", 50)
    monkeypatch.setattr(distinct, "_BLOCK", 64)
    draw = random.Random(count)
    values = [hash(str(draw.randrange(kinds))) for _ in range(count)]
    hashes = Hashes()
    for value in values:
        hashes.append(value)
    assert len(hashes) == count
    expected = np.sort(np.unique(np.array(values, np.int64), return_index=True)[1])
    found = hashes.distinct()
    assert len(found) == len(expected)
    ranks = np.array(draw.sample(range(len(found)), len(found)), np.int64)
    assert (found.indices(ranks) == expected[ranks]).all()


@pytest.mark.parametrize("extreme", [-(2**63), 2**63 - 1, 0])
def test_extreme_hashes_are_found_too(extreme: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "RUN", 4)
    hashes = Hashes()
    for value in [extreme, 5, extreme, 6, -7, extreme, extreme - 1 if extreme > 0 else 1]:
        hashes.append(value)
    assert hashes.distinct().indices(np.arange(5)).tolist() == [0, 1, 3, 4, 6]


def test_finding_repeats_needs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """About 40 bytes for each item of a run, and a bit for each other item."""
    run, count = 1 << 11, 1 << 16
    monkeypatch.setattr(distinct, "RUN", run)
    hashes = Hashes()
    with peak() as most:
        for number in range(count):
            hashes.append(hash(str(number % 50_000)))
        assert len(hashes.distinct()) == 50_000
    assert most() < 80 * run + count // 8 + 200_000
    assert most() < 4 * count  # as an array of all hashes alone would need twice over


@pytest.mark.parametrize("rows", [1, 9, 10, 11, 57, 100, 999])
def test_an_order_has_every_row_once(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MAX_PERMUTED", 10)
    epochs = [Order(rows, [1, epoch]) for epoch in range(3)]
    found = [
        np.concatenate([each.rows(start, start + 7) for start in range(0, rows, 7)]).tolist()
        for each in epochs
    ]
    assert all(sorted(each) == list(range(rows)) for each in found)
    assert rows < 9 or found[0] != found[1] != found[2]
    block = -(-rows // 10)
    steps = Counter(np.diff(found[0]).tolist())
    assert block == 1 or steps[1] >= rows - rows // block - 2  # neighbours stay together


def test_an_order_of_not_too_many_rows_is_the_permutation_it_always_was() -> None:
    expected = np.random.Generator(np.random.PCG64([7, 3])).permutation(np.arange(1000))
    assert (Order(1000, [7, 3]).rows(0, 1000) == expected).all()


def test_an_order_of_a_hundred_billion_rows_needs_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order, "MAX_PERMUTED", 1 << 16)
    with peak() as most:
        rows = Order(10**11, [1, 0]).rows(10**11 - 65536, 10**11)
    assert len(set(rows.tolist())) == 65536
    assert 0 <= rows.min() < rows.max() < 10**11
    assert most() < 10_000_000


def test_a_copy_of_pairs_is_compressed_and_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread, "_CHUNK", 1000)
    monkeypatch.setattr(reread, "MAX_MEMORY", 5000)
    rows = [f"the {number} line\tdie {number}. Zeile \u2028 {'ü' * 9}" for number in range(5000)]
    path = write_lines(tmp_path / "a.tsv", rows)
    pairs = Reread(Parallel(pairs=path).open())
    with peak() as most:
        count = sum(1 for _ in pairs.first())
        texts = ["\t".join(pair.texts) for pair in zip_twice(pairs)]
        found = most()
    assert count == 5000
    assert texts == rows
    assert found < 3_000_000  # of which the texts that this test holds are most


def zip_twice(pairs: Reread) -> Iterator[object]:
    """Two passes at the same time give the same."""
    for one, another in zip(pairs, pairs, strict=True):
        assert one == another
        yield one


def test_preparing_more_pairs_needs_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the files to the store, with every limit so low that both corpora are beyond it."""
    for module, name, value in (
        (distinct, "RUN", 1024),
        (reading, "_BUFFER", 8192),
        (reread, "MAX_MEMORY", 4096),
        (reread, "_CHUNK", 4096),
        (order, "MAX_PERMUTED", 128),
        (tokenizers, "_LINES_AT_ONCE", 100),
        (doctor, "_SAMPLE", 100),
        (writer, "_CHUNK", 100),
    ):
        monkeypatch.setattr(module, name, value)
    write_lines(tmp_path / "valid.tsv", [f"{line}\t{turned(line)}" for line in some_lines(20, 2)])
    most = {}
    for count in (2000, 2000, 12_000):  # what the first one imports is not counted
        lines = (f"{line}\t{turned(line)}" for line in some_lines(count, 1))
        data = Parallel(pairs=write_lines(tmp_path / f"{count}.tsv", lines))
        with peak() as found:
            most[count] = found() if prepared(tmp_path / f"run-{count}", data, tmp_path) else 0
        rmtree(tmp_path / f"run-{count}")
    assert most[12_000] < most[2000] + 130_000  # 13 bytes for each further pair


def prepared(path: Path, data: Parallel, folder: Path) -> int:
    """The number of batches of an epoch, once a run is prepared."""
    config = override(find_recipe("tiny"), SMALL)
    config = config.changed(batch=config.batch.changed(window=200))
    display, valid = Display(quiet=True), Parallel(pairs=folder / "valid.tsv")
    checked = read_data(config, data, valid, display)
    run = Run.create(path, config)
    prepare(run, checked, None, None, display)
    store, sides = run.store("train"), run.tokenizers()
    assert len(store) == checked.training.report.kept
    return Batches(store, config.batch, sides, 1).epoch_batches()


def test_rare_words_are_forgotten_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokenizers, "MAX_COUNTED", 1000)
    monkeypatch.setattr(tokenizers, "_LINES_AT_ONCE", 100)
    frequent = [f"w{number}" for number in range(50)]
    with peak() as most:
        lines = (f"{' '.join(frequent)} rare{number}" for number in range(4000))
        settings = TokenizerSettings(kind="word", vocabulary=54)
        found = tokenizers.train(settings, lines)
    assert sorted(found.content()) == sorted(frequent)
    assert most() < 500_000
