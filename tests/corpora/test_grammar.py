"""The corpus must keep what it promises: its structure, its riddles, its parts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sentence_builder import check_structure, clause, person

from regard.corpora.clause import Sentence
from regard.corpora.grammar import (
    LARGEST,
    STREET,
    Corpus,
    Pair,
    draw,
    generate,
    realise,
    right_pronoun,
    write,
)
from regard.corpora.lexicon.adjectives import ADJECTIVES
from regard.corpora.lexicon.nouns import KINDS, NOUNS
from regard.corpora.lexicon.verbs import VERBS
from regard.corpora.riddles import PART_OF, RIDDLES, Part


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(20_000, seed=3, held_out=1000)


def everything(corpus: Corpus) -> list[Pair]:
    return corpus.train + corpus.valid + corpus.test


def test_structure_of_every_pair(corpus: Corpus) -> None:
    for pair in everything(corpus):
        check_structure(pair)


def test_spelling(corpus: Corpus) -> None:
    for pair in everything(corpus):
        assert pair.source[0].isupper()
        assert pair.target[0].isupper()
        assert pair.source[-1] == pair.target[-1]
        assert pair.source[-1] in ".?"
        assert ",," not in pair.target
        assert 2 <= len(pair.source.split(" ")) <= 24


def test_sizes_and_distinctness(corpus: Corpus) -> None:
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (20_000, 1000, 1000)
    pairs = everything(corpus)
    assert len({pair.source for pair in pairs}) == len(pairs)
    assert len({pair.target for pair in pairs}) == len(pairs)


def test_the_street_is_as_in_the_notes(corpus: Corpus) -> None:
    tired, wide = STREET
    assert tired.source == "The animal didn't cross the street because it was too tired."
    assert tired.target == "Das Tier überquerte die Straße nicht, weil es zu müde war."
    assert wide.source == "The animal didn't cross the street because it was too wide."
    assert wide.target == "Das Tier überquerte die Straße nicht, weil sie zu breit war."
    assert tired.target.split(" ")[tired.pronoun or 0] == "es"
    assert wide.target.split(" ")[wide.pronoun or 0] == "sie"
    assert not {tired.source, wide.source} & {pair.source for pair in everything(corpus)}
    for pair in STREET:
        check_structure(pair)


def combination(pair: Pair) -> tuple[str, str]:
    """Antecedent and adjective, found in the sentence alone: the noun of the pronoun's gender."""
    words = [word.strip(".,").lower() for word in pair.source.split(" ")]
    candidates = [word for word in words if word in NOUNS]
    assert len(candidates) == 2
    assert pair.pronoun is not None
    gender = {"er": "m", "sie": "f", "es": "n"}[pair.target.split(" ")[pair.pronoun]]
    [antecedent] = [word for word in candidates if NOUNS[word].gender == gender]
    return antecedent, words[-1]


def test_held_out_combinations(corpus: Corpus) -> None:
    train, valid, test = (
        {combination(pair) for pair in part if pair.pronoun is not None}
        for part in (corpus.train, corpus.valid, corpus.test)
    )
    assert not train & valid
    assert not train & test
    assert not valid & test
    for held in (valid, test):
        assert {name for name, _ in held} <= {name for name, _ in train}
        assert {name for _, name in held} <= {name for _, name in train}


def test_every_word_of_a_riddle_is_left_to_training() -> None:
    train = {pair for pair, part in PART_OF.items() if part is Part.TRAIN}
    assert {noun for noun, _ in PART_OF} == {noun for noun, _ in train}
    assert {adjective for _, adjective in PART_OF} == {adjective for _, adjective in train}
    assert PART_OF["animal", "tired"] is PART_OF["street", "wide"] is Part.TEST
    counts = Counter(PART_OF.values())
    assert counts[Part.VALID] > 200
    assert counts[Part.TEST] > 200


def test_a_riddle_has_one_answer() -> None:
    """No adjective fits both places of a frame with the same polarity."""
    for frame in {id(riddle.frame): riddle.frame for riddle in RIDDLES}.values():
        assert not set(frame.subject_against) & set(frame.object_against)
        assert not set(frame.subject_for) & set(frame.object_for)


def test_pronouns_are_balanced(corpus: Corpus) -> None:
    for part in (corpus.train, corpus.valid, corpus.test):
        riddles = [pair for pair in part if pair.pronoun is not None]
        assert 0.25 < len(riddles) / len(part) < 0.30
        answers = Counter(pair.target.split(" ")[pair.pronoun or 0] for pair in riddles)
        assert set(answers) == {"er", "sie", "es"}
        assert all(0.32 < count / len(riddles) < 0.35 for count in answers.values())
        first = [combination(pair)[0] in pair.source.lower().split(" ")[:4] for pair in riddles]
        assert 0.49 < sum(first) / len(first) < 0.51


def test_right_pronoun() -> None:
    tired, wide = STREET
    assert right_pronoun(tired, tired.target)
    assert right_pronoun(wide, wide.target)
    assert not right_pronoun(tired, wide.target)
    assert right_pronoun(tired, "Sie sah das Tier, weil es müde war.")
    assert right_pronoun(wide, "Es ging nicht, denn sie war zu breit.")
    assert not right_pronoun(wide, "Das Tier ging nicht, weil sie es sah.")
    assert not right_pronoun(wide, "sie sie sie")
    assert not right_pronoun(wide, "")
    plain = realise(Sentence(clause(person("I"), "schlafen")))
    with pytest.raises(ValueError, match="no pronoun"):
        right_pronoun(plain, plain.target)


def test_test_set_does_not_depend_on_the_size_of_the_training_set() -> None:
    small, large = generate(100, held_out=50), generate(400, held_out=50)
    assert (small.valid, small.test) == (large.valid, large.test)
    assert small.train == large.train[:100]
    assert generate(100, seed=2, held_out=50).test != small.test


def test_the_same_in_every_process(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from regard.corpora.grammar import generate, write;"
        "write(generate(2000, seed=5, held_out=100), Path(sys.argv[1]))"
    )
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "0").iterdir())
    assert len(names) == 12
    for name in names:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def test_too_much_is_refused() -> None:
    assert LARGEST > 1_000_000
    with pytest.raises(ValueError, match="distinct pairs"):
        generate(LARGEST)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_a_hundred_thousand_distinct_pairs() -> None:
    seen: set[str] = set()
    assert len(draw(100_000, Part.TRAIN, 1, seen)) == 100_000
    assert len(seen) >= 199_000  # source and target may be the same word for word, but hardly are


def test_lexicon_is_a_function() -> None:
    assert len(NOUNS) == sum(len(nouns) for nouns in KINDS.values()) > 250
    assert len({noun.german for noun in NOUNS.values()}) == len(NOUNS)
    assert len({adjective.german for adjective in ADJECTIVES.values()}) == len(ADJECTIVES) > 80
    assert len(VERBS) > 80


def test_write(tmp_path: Path) -> None:
    corpus = generate(30, held_out=10)
    write(corpus, tmp_path / "deep" / "folder")
    folder = tmp_path / "deep" / "folder"
    assert len(list(folder.iterdir())) == 12
    for part, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        columns = [
            (folder / f"{part}.{suffix}").read_text(encoding="utf-8").splitlines()
            for suffix in ("en", "de", "align", "trees")
        ]
        for pair, source, target, alignment, heads in zip(pairs, *columns, strict=True):
            assert (source, target) == (pair.source, pair.target)
            assert (
                tuple(tuple(map(int, link.split("-"))) for link in alignment.split())
                == pair.alignment
            )
            assert tuple(int(head) - 1 for head in heads.split()) == pair.heads
