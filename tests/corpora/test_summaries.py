"""Summaries: long documents, summaries that follow from them, and one corpus per seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from regard.corpora.algorithms import Example, write
from regard.corpora.registry import write_corpus
from regard.corpora.summaries import MAX_PAIRS, NAMES, TESTS, WORDINGS, generate

Corpus = Mapping[str, list[Example]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(300, seed=3, held_out=50)


def by_reading(source: str) -> list[str]:
    """What the sentences with the name that is asked for end with, kind by kind."""
    asked, _, text = source.removeprefix("about ").partition(" : ")
    said = [each.split() for each in re.findall(r"[^.]+(?= \.)", text)]
    last = {words[-1] for words in said if asked in words}
    return [next(iter(last & set(values))) for _, values in WORDINGS]


def people(source: str) -> int:
    return source.count(" .") // 3


def test_a_summary_follows_from_its_document(corpus: Corpus) -> None:
    for source, target in (pair for examples in corpus.values() for pair in examples):
        city, job, animal = by_reading(source)
        name = source.split()[1]
        expected = f"{name} lives in {city} , works as a {job} and keeps a {animal} ."
        assert target == expected


def test_each_split_has_documents_about_as_many_people_as_it_should(corpus: Corpus) -> None:
    for count in TESTS:
        assert {people(source) for source, _ in corpus[f"test.{count}"]} == {count}
    assert all(650 < len(source.split()) < 850 for source, _ in corpus["test.24"])
    sources = [source for examples in corpus.values() for source, _ in examples]
    assert len(set(sources)) == len(sources) == 300 + 50 * (1 + len(TESTS))


def test_half_of_the_words_in_training_are_in_documents_about_two_or_three_people() -> None:
    sizes = Counter(people(source) for source, _ in generate(10_000, held_out=0)["train"])
    assert min(sizes) == 2
    assert max(sizes) == 24
    words = sum(size * count for size, count in sizes.items())
    assert 0.45 < (2 * sizes[2] + 3 * sizes[3]) / words < 0.57


def test_a_few_names_are_frequent_and_all_occur() -> None:
    asked = Counter(source.split()[1] for source, _ in generate(10_000, held_out=0)["train"])
    assert set(asked) == set(NAMES)
    assert 0.5 < sum(asked[name] for name in NAMES[:8]) / 10_000 < 0.9


def test_facts_are_anywhere_in_a_document() -> None:
    """Neither the first sentences nor the last are enough."""
    found = []
    for source, _ in generate(0, seed=3, held_out=500)["test.24"]:
        words = source.split()
        mentions = [index / len(words) for index, word in enumerate(words) if word == words[1]]
        assert len(mentions) == 4
        found += mentions[1:]
    quarters = [sum(q <= 4 * each < q + 1 for each in found) / len(found) for q in range(4)]
    assert all(0.2 < quarter < 0.3 for quarter in quarters)


def test_a_seed_is_a_corpus(corpus: Corpus, tmp_path: Path) -> None:
    assert generate(300, seed=3, held_out=50) == corpus
    assert generate(10, seed=3, held_out=50)["test.6"] == corpus["test.6"]
    assert generate(300, seed=4, held_out=50)["test.6"] != corpus["test.6"]
    write(corpus, tmp_path)
    assert (tmp_path / "valid.target").read_text().splitlines() == [
        target for _, target in corpus["valid"]
    ]
    with pytest.raises(ValueError, match="At most 200,000 pairs"):
        generate(MAX_PAIRS + 1)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_the_corpus_has_a_name(tmp_path: Path) -> None:
    write_corpus("summaries", tmp_path / "some", 5)
    assert len((tmp_path / "some" / "train.source").read_text().splitlines()) == 5
    assert len((tmp_path / "some" / "test.34.target").read_text().splitlines()) == 500
