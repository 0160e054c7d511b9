"""The algorithmic tasks: right answers, lengths as promised, one corpus per seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from regard.corpora.algorithms import MAX_PAIRS, MAX_REPEATS, TASKS, generate, write
from regard.corpora.registry import write_corpus
from regard.errors import UsageError


def examples(name: str) -> list[tuple[list[str], list[str]]]:
    corpus = generate(name, 300, held_out=20)
    return [
        (source.split(), target.split()) for split in corpus.values() for source, target in split
    ]


def length_of(name: str, source: list[str]) -> int:
    """The length of a line as its task counts it."""
    return {
        "copy": len(source),
        "repeat_copy": len(source) - 1,
        "associative_recall": source.count("|"),
        "priority_sort": len(source) // 2,
    }[name]


def test_copies_are_copies() -> None:
    for source, target in examples("copy"):
        assert source == target


def test_repeated_copies_repeat_as_often_as_they_say() -> None:
    counts = set()
    for source, target in examples("repeat_copy"):
        repeats = int(source[-1].removeprefix("x"))
        assert target == source[:-1] * repeats
        counts.add(repeats)
    assert counts == set(range(1, MAX_REPEATS + 1))


def test_what_is_recalled_followed_what_was_asked() -> None:
    for source, target in examples("associative_recall"):
        line = " ".join(source)
        told, asked = line.split(" ? ")
        items = [item.strip() for item in told.split("|")[1:]]
        assert len(set(items)) == len(items)
        assert " ".join(target) == items[items.index(asked) + 1]


def test_sorted_symbols_are_in_order_of_priority() -> None:
    for source, target in examples("priority_sort"):
        numbers = [int(word.removeprefix("p")) for word in source[1::2]]
        assert len(set(numbers)) == len(numbers)
        by_number = dict(zip(numbers, source[::2], strict=True))
        assert target == [by_number[number] for number in sorted(numbers, reverse=True)]


@pytest.mark.parametrize("name", TASKS)
def test_lengths_are_those_of_the_task(name: str) -> None:
    task, corpus = TASKS[name], generate(name, 3000, held_out=20)
    lengths = Counter(length_of(name, source.split()) for source, _ in corpus["train"])
    assert set(lengths) == set(range(task.shortest, task.longest + 1))
    assert lengths[task.shortest] > lengths[task.longest]  # short lines are cheap to learn from
    assert list(corpus) == ["train", "valid", *(f"test.{length}" for length in task.tests)]
    for length in task.tests:
        found = {length_of(name, source.split()) for source, _ in corpus[f"test.{length}"]}
        assert found == {length}
    assert max(task.tests) > task.longest


@pytest.mark.parametrize("name", TASKS)
def test_a_seed_decides_and_the_training_size_does_not(name: str) -> None:
    small, large = generate(name, 20, held_out=10), generate(name, 40, held_out=10)
    assert small["train"] == large["train"][:20]
    assert {**small, "train": []} == {**large, "train": []}
    assert generate(name, 20, seed=2, held_out=10)["valid"] != small["valid"]


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="At most"):
        write_corpus("copy", tmp_path, MAX_PAIRS + 1)
    with pytest.raises(ValueError, match="negative"):
        generate("copy", -1)


def test_write(tmp_path: Path) -> None:
    write_corpus("repeat_copy", tmp_path / "deep", pairs=30)
    corpus = generate("repeat_copy", 30)
    write(corpus, tmp_path / "again")
    names = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert names == sorted(f"{split}.{side}" for split in corpus for side in ("source", "target"))
    for name in names:
        assert (tmp_path / "deep" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    sources = (tmp_path / "deep" / "test.20.source").read_text().splitlines()
    assert sources == [source for source, _ in corpus["test.20"]]
