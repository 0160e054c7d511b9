"""Summaries: long documents, summaries that follow from them, and one corpus per seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regard.corpora.registry import write_corpus
from regard.corpora.summaries import MAX_PAIRS, WORDINGS, Document, SummariesCorpus, generate, write


@pytest.fixture(scope="module")
def corpus() -> SummariesCorpus:
    return generate(300, seed=3, held_out=50)


def by_reading(document: Document) -> list[str]:
    """What the sentences with the name that is asked for end with, kind by kind."""
    asked, _, text = document.source.removeprefix("about ").partition(" : ")
    said = [each.split() for each in re.findall(r"[^.]+(?= \.)", text)]
    last = {words[-1] for words in said if asked in words}
    return [next(iter(last & set(values))) for _, values in WORDINGS]


def test_a_summary_follows_from_its_document(corpus: SummariesCorpus) -> None:
    for document in corpus.train + corpus.valid + corpus.test:
        city, job, animal = by_reading(document)
        name = document.source.split()[1]
        expected = f"{name} lives in {city} , works as a {job} and keeps a {animal} ."
        assert document.target == expected


def test_documents_are_long_and_all_different(corpus: SummariesCorpus) -> None:
    sources = [each.source for each in corpus.train + corpus.valid + corpus.test]
    assert len(set(sources)) == len(sources) == 400
    assert all(500 < len(source.split()) < 800 for source in sources)


def test_facts_are_anywhere_in_a_document(corpus: SummariesCorpus) -> None:
    """Neither the first sentences nor the last are enough."""
    found = []
    for document in corpus.train:
        words = document.source.split()
        mentions = [index / len(words) for index, word in enumerate(words) if word == words[1]]
        assert len(mentions) == 4
        found += mentions[1:]
    quarters = [sum(q <= 4 * each < q + 1 for each in found) / len(found) for q in range(4)]
    assert all(0.2 < quarter < 0.3 for quarter in quarters)


def test_a_seed_is_a_corpus(corpus: SummariesCorpus, tmp_path: Path) -> None:
    assert generate(300, seed=3, held_out=50) == corpus
    assert generate(10, seed=3, held_out=50).test == corpus.test
    assert generate(300, seed=4, held_out=50).test != corpus.test
    write(corpus, tmp_path)
    assert (tmp_path / "valid.target").read_text().splitlines() == [
        each.target for each in corpus.valid
    ]
    with pytest.raises(ValueError, match="At most 200,000 pairs"):
        generate(MAX_PAIRS + 1)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_the_corpus_has_a_name(tmp_path: Path) -> None:
    write_corpus("summaries", tmp_path / "some", 5)
    assert len((tmp_path / "some" / "train.source").read_text().splitlines()) == 5
    assert len((tmp_path / "some" / "test.target").read_text().splitlines()) == 1000
