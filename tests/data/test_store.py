"""The store is whole or does not open; the order of batches follows from the place alone."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import check
from regard.data.batch import EOS, PAD, Batch
from regard.data.line import Line, Pair
from regard.data.ragged import Indices
from regard.data.store import Batches, BatchSettings, Offset, Ragged, Store, by_length
from regard.data.tokenizer import TokenizerSettings, Words
from regard.data.tokenizers import Tokenizers
from regard.errors import RegardError, UsageError


def some_pairs(count: int, seed: int = 0) -> list[Pair]:
    """Pairs that all differ, so that each can be found again in a batch."""
    chooser = random.Random(seed)
    words = ["".join(chooser.choices("abcdefghij", k=chooser.randint(2, 7))) for _ in range(200)]

    def line(number: int) -> str:
        return " ".join([*chooser.choices(words, k=chooser.randint(1, 20)), str(number)])

    return [Pair(number, Line(line(number)), Line(line(number))) for number in range(1, count + 1)]


PAIRS = some_pairs(700)
SIDES = Tokenizers.train(
    check(TokenizerSettings, {"vocabulary": 400}),
    lambda: (pair.source.text for pair in PAIRS),
    lambda: (pair.target.text for pair in PAIRS),
)
SMALL = BatchSettings(tokens=300, window=150, max_length=200)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.write(tmp_path_factory.mktemp("store"), PAIRS, SIDES, 200, keep_text=True)


def rows(batch: Batch) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    sides = []
    for side in (batch.source, batch.target):
        assert torch.equal(side.values == PAD, ~side.mask)
        assert side.values.shape[1] == int(side.lengths.max())
        ids = [tuple(row[:n]) for row, n in zip(side.values.tolist(), side.lengths, strict=True)]
        assert all(row[-1] == EOS and EOS not in row[:-1] for row in ids)
        sides.append([row[:-1] for row in ids])
    return list(zip(*sides, strict=True))


def an_epoch(batches: Batches, epoch: int = 0) -> list[tuple[Batch, Offset]]:
    found = []
    for batch, place in batches.from_offset(Offset(epoch)):
        found.append((batch, place))
        if place.epoch > epoch:
            return found
    raise AssertionError("the order has no end")


def same(first: Batch, second: Batch) -> bool:
    return all(
        torch.equal(one.values, two.values) and torch.equal(one.lengths, two.lengths)
        for one, two in ((first.source, second.source), (first.target, second.target))
    )


def encoded() -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    sources = SIDES.source.encode([pair.source.text for pair in PAIRS])
    targets = SIDES.target.encode([pair.target.text for pair in PAIRS])
    return Counter(zip(map(tuple, sources), map(tuple, targets), strict=True))


def test_what_was_written_is_read(store: Store) -> None:
    assert len(store) == len(PAIRS)
    assert store.skipped == 0
    for index in (0, 1, 350, 699):
        source, target = store.pair(index)
        assert SIDES.source.decode(source.tolist()) == PAIRS[index].source.text
        assert SIDES.target.decode(target.tolist()) == PAIRS[index].target.text
    assert store.pairs(np.array([5, 3])) == [PAIRS[5], PAIRS[3]]


def test_it_is_mapped_for_reading_only(store: Store) -> None:
    assert isinstance(store.source.values, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        store.pair(0)[0][0] = 1


def test_more_than_one_chunk_and_progress(tmp_path: Path) -> None:
    pairs = some_pairs(9_000)
    told: list[int] = []
    store = Store.write(tmp_path, iter(pairs), SIDES, 200, progress=told.append)
    assert told == [4096, 8192, 9000]
    assert len(store) == 9000
    assert SIDES.source.decode(store.pair(8999)[0].tolist()) == pairs[8999].source.text
    with pytest.raises(UsageError, match="without its text"):
        store.pairs(np.array([0]))


def test_pairs_too_long_are_skipped_and_counted(tmp_path: Path) -> None:
    pairs = [
        Pair(1, Line("a"), Line("b")),
        Pair(2, Line("ab " * 50), Line("b")),
        Pair(3, Line("a"), Line("ab " * 50)),
        Pair(4, Line("c"), Line("d")),
    ]
    store = Store.write(tmp_path, pairs, SIDES, 20, keep_text=True)
    assert (len(store), store.skipped) == (2, 2)
    assert [pair.texts for pair in store.pairs(np.array([1]))] == [("c", "d")]
    with pytest.raises(UsageError, match="No pair is left"):
        Store.write(tmp_path, pairs[1:3], SIDES, 20)
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)


def test_an_empty_source_for_language_models(tmp_path: Path) -> None:
    store = Store.write(
        tmp_path,
        [Pair(1, Line(""), Line("abc")), Pair(2, Line(""), Line("d"))],
        SIDES,
        20,
        keep_text=True,
    )
    [batch] = by_length(store, 100)
    assert batch.source.values.tolist() == [[EOS], [EOS]]
    assert [pair.texts for pair in store.pairs(np.array([1]))] == [("", "d")]


@pytest.mark.parametrize(("size", "kind"), [(65_536, np.uint16), (65_537, np.uint32)])
def test_the_width_of_ids_follows_the_vocabulary(size: int, kind: type, tmp_path: Path) -> None:
    large = Words([str(number) for number in range(size - 4)])
    sides = Tokenizers(large, Words(["x"]))
    last = str(size - 5)
    store = Store.write(tmp_path, [Pair(1, Line(f"0 {last}"), Line("x"))], sides, 20)
    assert store.source.values.dtype == kind
    assert store.target.values.dtype == np.uint16
    assert store.pair(0)[0].tolist() == [4, size - 1]
    [batch] = by_length(store, 10)
    assert batch.source.values.tolist() == [[4, size - 1, EOS]]


def failing(after: int) -> Iterator[Pair]:
    yield from some_pairs(after)
    raise UsageError("the reading failed")


def test_an_interrupted_write_leaves_nothing_that_opens(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the reading failed"):
        Store.write(tmp_path, failing(5000), SIDES, 200)
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_rewrite_does_not_open_as_the_old_one(tmp_path: Path) -> None:
    Store.write(tmp_path, PAIRS, SIDES, 200)
    with pytest.raises(UsageError):
        Store.write(tmp_path, failing(5000), SIDES, 200)
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)
    assert len(Store.write(tmp_path, PAIRS[:5], SIDES, 200)) == 5


def test_a_killed_write_leaves_nothing_that_opens(tmp_path: Path) -> None:
    program = f"""
import os
from pathlib import Path
from regard.data.line import Line, Pair
from regard.data.ragged import Indices
from regard.data.store import Store
from regard.data.tokenizers import Tokenizers
from regard.data.tokenizer import Words
words = Words(["a", "b"])
pairs = (Pair(number, Line("a b"), Line("b a")) for number in range(1, 20_000))
def kill(done):
    if done > 8_000:
        os.kill(os.getpid(), 9)
Store.write(Path({str(tmp_path)!r}), pairs, Tokenizers.one(words), 10, True, kill)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2])
    assert ended.returncode == -9
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)
    assert len(Store.write(tmp_path, PAIRS, SIDES, 200, keep_text=True)) == 700
    assert not list(tmp_path.glob("*.part"))


def test_damaged_stores_are_refused(tmp_path: Path) -> None:
    Store.write(tmp_path, PAIRS, SIDES, 200, keep_text=True)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for damaged in (whole[:-2], whole[: len(whole) // 2], b"", whole + b"\0", None):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            with pytest.raises(UsageError, match="incomplete"):
                Store.open(tmp_path)
        path.write_bytes(whole)
    Store.open(tmp_path)
    for text in ("[]", "{}", "null", '{"format": "regard store 2"}'):
        (tmp_path / "meta.json").write_text(text)
        with pytest.raises(UsageError, match="incomplete"):
            Store.open(tmp_path)


def test_offsets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    Store.write(tmp_path, PAIRS, SIDES, 200)
    path = tmp_path / "target.ids.offsets"
    offsets = np.fromfile(path, np.int64)
    offsets[-1] += 1
    offsets.tofile(path)
    with pytest.raises(UsageError, match="incomplete"):
        Store.open(tmp_path)


def test_a_full_disk_is_a_problem_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RegardError, match="No space left on device"):
        Store.write(tmp_path, PAIRS, SIDES, 200)


def test_a_file_where_the_folder_should_be_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RegardError, match="Cannot write"):
        Store.write(tmp_path / "file", PAIRS, SIDES, 200)


@pytest.mark.parametrize("window", [1, 37, 150, 700, 10_000])
def test_every_pair_once_in_an_epoch(window: int, store: Store) -> None:
    chosen = BatchSettings(tokens=300, window=window)
    for epoch in (0, 1):
        batches = an_epoch(Batches(store, chosen, SIDES, seed=1), epoch)
        assert Counter(row for batch, _ in batches for row in rows(batch)) == encoded()


def test_each_side_keeps_to_the_budget(store: Store) -> None:
    batches = an_epoch(Batches(store, SMALL, SIDES, seed=1))
    for batch, _ in batches:
        for side in (batch.source, batch.target):
            assert side.values.numel() <= 300 or len(batch) == 1
    fill = sum(batch.tokens for batch, _ in batches) / sum(
        batch.target.values.numel() for batch, _ in batches
    )
    assert fill > 0.8


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_processes_share_each_batch_and_read_their_own_rows_alone(
    sampling: float, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    gather = Ragged.gather

    def counted(ragged: Ragged, rows: Indices) -> Ragged:
        read.append(len(rows))
        return gather(ragged, rows)

    monkeypatch.setattr(Ragged, "gather", counted)
    batches = Batches(store, BatchSettings(tokens=60, window=150), SIDES, 1, sampling)
    whole = an_epoch(batches)
    read.clear()
    for rank in range(3):
        shares = batches.shares(Offset(), rank, 3)
        for (batch, offset), share in zip(whole, shares, strict=False):
            own = batch.rows(rank, None, 3)
            assert (share.tokens, share.offset) == (batch.tokens, offset)
            assert same(share.batch, own)
            assert share.batch.source.values.dtype == own.source.values.dtype
    assert sum(read) == 2 * len(store)  # source and target, by the three processes together
    assert any(len(batch) < 3 for batch, _ in whole)  # so some process has no row of it


def test_a_row_longer_than_the_budget_is_a_batch_of_its_own(store: Store) -> None:
    batches = an_epoch(Batches(store, BatchSettings(tokens=10), SIDES, seed=1))
    assert sum(len(batch) for batch, _ in batches) == len(store)
    assert all(len(b) == 1 for b, _ in batches if b.source.values.shape[1] > 10)


def test_the_same_seed_gives_the_same_order(store: Store) -> None:
    first, second = (an_epoch(Batches(store, SMALL, SIDES, seed=1)) for _ in range(2))
    assert [place for _, place in first] == [place for _, place in second]
    assert all(same(one, two) for (one, _), (two, _) in zip(first, second, strict=True))


def test_another_seed_or_epoch_gives_another_order(store: Store) -> None:
    orders = [
        [
            row
            for batch, _ in an_epoch(Batches(store, SMALL, SIDES, seed), epoch)
            for row in rows(batch)
        ]
        for seed, epoch in ((1, 0), (2, 0), (1, 1))
    ]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_batches_are_not_in_the_order_of_length(store: Store) -> None:
    chosen = BatchSettings(tokens=300)
    widths = [
        batch.target.values.shape[1] for batch, _ in an_epoch(Batches(store, chosen, SIDES, 1))
    ]
    assert widths != sorted(widths)


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_going_on_at_every_place_is_the_same_as_not_stopping(sampling: float, store: Store) -> None:
    batches = Batches(store, SMALL, SIDES, 1, sampling)
    whole = [*an_epoch(batches), *itertools.islice(batches.from_offset(Offset(1)), 10)]
    places = [Offset(), *(place for _, place in whole)]
    for index in range(0, len(whole) - 2, 1 if not sampling else 7):
        again = Batches(store, SMALL, SIDES, 1, sampling).from_offset(
            Offset(**asdict(places[index]))
        )
        for expected, found in zip(whole[index:], itertools.islice(again, 2), strict=False):
            assert expected[1] == found[1]
            assert same(expected[0], found[0])


def test_places_are_plain_numbers() -> None:
    place = Offset(1, 2, 3)
    assert Offset(**json.loads(json.dumps(asdict(place)))) == place


@pytest.mark.parametrize(
    "place", [Offset(0, 99), Offset(0, 0, 9999), Offset(0, -1), Offset(0, 0, -1)]
)
def test_a_place_outside_the_order_is_refused(place: Offset, store: Store) -> None:
    with pytest.raises(UsageError, match="is not in this corpus"):
        next(Batches(store, SMALL, SIDES, 1).from_offset(place))


def test_going_on_prepares_one_window_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    gather = Ragged.gather

    def counted(self: Ragged, rows: np.ndarray) -> Ragged:
        prepared.append(len(rows))
        return gather(self, rows)

    monkeypatch.setattr(Ragged, "gather", counted)
    next(Batches(store, SMALL, SIDES, 1).from_offset(Offset(5, 3, 2)))
    assert prepared == [150, 150]


@pytest.mark.parametrize("window", [50, 10_000])
def test_the_number_of_batches_is_exact(window: int, store: Store) -> None:
    batches = Batches(store, BatchSettings(tokens=300, window=window), SIDES, 1)
    for epoch in (0, 3):
        assert batches.epoch_batches(epoch) == len(an_epoch(batches, epoch))


def test_sampling_cuts_every_epoch_anew_and_keeps_the_text(store: Store) -> None:
    texts = Counter(pair.texts for pair in PAIRS)
    epochs = []
    for epoch in (0, 1):
        found = [
            row for b, _ in an_epoch(Batches(store, SMALL, SIDES, 1, 0.2), epoch) for row in rows(b)
        ]
        assert Counter((SIDES.source.decode(s), SIDES.target.decode(t)) for s, t in found) == texts
        epochs.append(Counter(found))
    assert epochs[0] != epochs[1] != encoded()


def test_sampled_rows_are_cut_to_the_limit(store: Store) -> None:
    chosen = BatchSettings(tokens=300, window=150, max_length=9)
    for batch, _ in an_epoch(Batches(store, chosen, SIDES, 1, 0.5)):
        assert max(batch.source.values.shape[1], batch.target.values.shape[1]) <= 10


def test_sampling_without_text_is_refused(tmp_path: Path) -> None:
    store = Store.write(tmp_path, PAIRS, SIDES, 200)
    with pytest.raises(UsageError, match="without its text"):
        Batches(store, SMALL, SIDES, 1, 0.1)


def test_in_order_has_every_pair_once_by_length(store: Store) -> None:
    batches = list(by_length(store, 300))
    assert Counter(row for batch in batches for row in rows(batch)) == encoded()
    widths = [batch.target.values.shape[1] for batch in batches]
    assert widths == sorted(widths)
    assert all(same(one, two) for one, two in zip(batches, by_length(store, 300), strict=True))


def test_one_pair(tmp_path: Path) -> None:
    store = Store.write(tmp_path, PAIRS[:1], SIDES, 200)
    batches = Batches(store, BatchSettings(), SIDES, 0)
    assert [p for _, p in itertools.islice(batches.from_offset(Offset()), 3)] == [
        Offset(1),
        Offset(2),
        Offset(3),
    ]


def test_a_window_bounds_the_memory(tmp_path: Path) -> None:
    words = Words([str(number) for number in range(100)])
    sides = Tokenizers.one(words)
    line = " ".join(str(number % 100) for number in range(100))
    store = Store.write(
        tmp_path, (Pair(n, Line(line), Line(line)) for n in range(1, 20_001)), sides, 200
    )
    batches = Batches(store, BatchSettings(window=500), sides, 0)
    tracemalloc.start()
    for _ in itertools.islice(batches.from_offset(Offset()), 60):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    whole = 2 * 20_000 * 100 * 2
    assert peak < whole / 2


@settings(max_examples=100, deadline=None)
@given(lists=st.lists(st.lists(st.integers(4, 60_000), max_size=6), min_size=1, max_size=12))
def test_ragged_rows_come_back(lists: list[list[int]]) -> None:
    ragged = Ragged.of(lists)
    order = np.arange(len(lists))[::-1]
    turned = ragged.gather(order)
    assert [turned.row(index).tolist() for index in range(len(turned))] == lists[::-1]
    padded = ragged.padded(0, len(lists))
    for row, ids in zip(padded.values.tolist(), lists, strict=True):
        assert row == ids + [EOS] + [PAD] * (len(row) - len(ids) - 1)


def test_settings_refuse_what_cannot_be() -> None:
    for values in ({"tokens": 0}, {"max_length": -1}, {"window": 0}, {"token": 1}):
        with pytest.raises(UsageError):
            check(BatchSettings, values)
