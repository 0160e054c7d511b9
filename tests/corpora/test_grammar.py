"""The generated corpus: structure, riddles and splits."""

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
    MAX_PAIRS,
    STREET,
    Example,
    GrammarCorpus,
    draw,
    generate,
    realise,
    right_pronoun,
    write,
)
from regard.corpora.lexicon.adjectives import ADJECTIVES
from regard.corpora.lexicon.nouns import KINDS, NOUNS
from regard.corpora.lexicon.verbs import VERBS
from regard.corpora.riddles import RIDDLES, SPLIT_OF, Split


@pytest.fixture(scope="module")
def corpus() -> GrammarCorpus:
    return generate(20_000, seed=3, held_out=1000)


def everything(corpus: GrammarCorpus) -> list[Example]:
    return corpus.train + corpus.valid + corpus.test


def test_structure_of_every_example(corpus: GrammarCorpus) -> None:
    for example in everything(corpus):
        check_structure(example)


def test_spelling(corpus: GrammarCorpus) -> None:
    for example in everything(corpus):
        assert example.source[0].isupper()
        assert example.target[0].isupper()
        assert example.source[-1] == example.target[-1]
        assert example.source[-1] in ".?"
        assert ",," not in example.target
        assert 2 <= len(example.source.split(" ")) <= 24


def test_sizes_and_distinctness(corpus: GrammarCorpus) -> None:
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (20_000, 1000, 1000)
    examples = everything(corpus)
    assert len({example.source for example in examples}) == len(examples)
    assert len({example.target for example in examples}) == len(examples)


def test_the_street_sentences(corpus: GrammarCorpus) -> None:
    tired, wide = STREET
    assert tired.source == "The animal didn't cross the street because it was too tired."
    assert tired.target == "Das Tier überquerte die Straße nicht, weil es zu müde war."
    assert wide.source == "The animal didn't cross the street because it was too wide."
    assert wide.target == "Das Tier überquerte die Straße nicht, weil sie zu breit war."
    assert tired.target.split(" ")[tired.pronoun or 0] == "es"
    assert wide.target.split(" ")[wide.pronoun or 0] == "sie"
    assert not {tired.source, wide.source} & {example.source for example in everything(corpus)}
    for example in STREET:
        check_structure(example)


def combination(example: Example) -> tuple[str, str]:
    """Antecedent (the noun of the pronoun's gender) and adjective, found in the text alone."""
    words = [word.strip(".,").lower() for word in example.source.split(" ")]
    candidates = [word for word in words if word in NOUNS]
    assert len(candidates) == 2
    assert example.pronoun is not None
    gender = {"er": "m", "sie": "f", "es": "n"}[example.target.split(" ")[example.pronoun]]
    [antecedent] = [word for word in candidates if NOUNS[word].gender == gender]
    return antecedent, words[-1]


def test_held_out_combinations(corpus: GrammarCorpus) -> None:
    train, valid, test = (
        {combination(example) for example in split if example.pronoun is not None}
        for split in (corpus.train, corpus.valid, corpus.test)
    )
    assert not train & valid
    assert not train & test
    assert not valid & test
    for held in (valid, test):
        assert {name for name, _ in held} <= {name for name, _ in train}
        assert {name for _, name in held} <= {name for _, name in train}


def test_every_word_of_a_riddle_occurs_in_training() -> None:
    train = {words for words, split in SPLIT_OF.items() if split is Split.TRAIN}
    assert {noun for noun, _ in SPLIT_OF} == {noun for noun, _ in train}
    assert {adjective for _, adjective in SPLIT_OF} == {adjective for _, adjective in train}
    assert SPLIT_OF["animal", "tired"] is SPLIT_OF["street", "wide"] is Split.TEST
    counts = Counter(SPLIT_OF.values())
    assert counts[Split.VALID] > 200
    assert counts[Split.TEST] > 200


def test_a_riddle_has_one_answer() -> None:
    """No adjective fits both nouns of a frame with the same polarity."""
    for frame in {id(riddle.frame): riddle.frame for riddle in RIDDLES}.values():
        assert not set(frame.subject_against) & set(frame.object_against)
        assert not set(frame.subject_for) & set(frame.object_for)


def test_pronouns_are_balanced(corpus: GrammarCorpus) -> None:
    for split in (corpus.train, corpus.valid, corpus.test):
        riddles = [example for example in split if example.pronoun is not None]
        assert 0.25 < len(riddles) / len(split) < 0.30
        answers = Counter(example.target.split(" ")[example.pronoun or 0] for example in riddles)
        assert set(answers) == {"er", "sie", "es"}
        assert all(0.32 < count / len(riddles) < 0.35 for count in answers.values())
        first = [
            combination(example)[0] in example.source.lower().split(" ")[:4] for example in riddles
        ]
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


def test_every_process_generates_the_same(tmp_path: Path) -> None:
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


def test_impossible_sizes_are_refused() -> None:
    assert MAX_PAIRS > 1_000_000
    with pytest.raises(ValueError, match="distinct pairs"):
        generate(MAX_PAIRS)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_millions_of_distinct_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few of the drawn sentences are repeated as if they were drawn from that many."""
    realised = []

    def note(sentence: Sentence) -> Example:
        realised.append(sentence)
        return realise(sentence)

    monkeypatch.setattr("regard.corpora.grammar.realise", note)
    seen: set[str] = set()
    count = len(draw(20_000, Split.TRAIN, 1, seen))
    assert count == 20_000
    assert len(seen) >= 39_800  # identical source and target are possible but rare
    repeats = len(realised) - count
    assert count**2 / (2 * repeats) > MAX_PAIRS  # on average, repeats = count**2 / (2 * number)


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
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    for split, examples in splits.items():
        columns = [
            (folder / f"{split}.{suffix}").read_text(encoding="utf-8").splitlines()
            for suffix in ("en", "de", "align", "trees")
        ]
        for example, source, target, alignment, tree in zip(examples, *columns, strict=True):
            assert (source, target) == (example.source, example.target)
            assert (
                tuple(tuple(map(int, link.split("-"))) for link in alignment.split())
                == example.alignment
            )
            assert tuple(map(int, tree.split())) == example.tree
