"""The probes of the study of difficulties respond to what they probe."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from regard.corpora import grammar
from regard.corpora.riddles import Split
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.studies import difficulties
from regard.studies.difficulties import Probes
from regard.studies.laboratory import Laboratory

EXAMPLES = grammar.generate(0).test[:60]


def targets() -> list[str]:
    return [each.target for each in EXAMPLES]


def probes(folder: Path, usual: list[str], narrow: list[str]) -> Probes:
    """With translations as if models had written them."""
    found = Probes(Laboratory(folder, quick=True, seeds=(1,)))
    found.test = EXAMPLES
    found.__dict__.update(usual=[usual], narrow=[narrow])
    return found


def test_a_difficulty_costs_what_is_lost_on_its_sentences(tmp_path: Path) -> None:
    right = targets()
    lost = ["" if difficulties.is_question(each) else each.target for each in EXAMPLES]
    found = probes(tmp_path, right, lost)
    assert found.cost_of_narrow(difficulties.is_question) == [100]
    assert found.cost_of_narrow(lambda each: not difficulties.is_question(each)) == [0]


def test_unseen_nouns_are_found_in_both_numbers() -> None:
    assert difficulties.forms("mouse") == {"mouse", "mice"}
    share = sum(map(difficulties.has_unseen, EXAMPLES)) / len(EXAMPLES)
    assert 0.02 < share < 0.5


def test_the_pronoun_of_a_document_is_in_its_second_sentence() -> None:
    for first, second in islice(difficulties.documents(Split.TEST), 20):
        assert second.source.startswith("It ")
        assert first.source.endswith(".")
        assert difficulties.pronoun_right(f"{first.target} {second.target}", second.target)
    right = "Es war zu müde."
    assert not difficulties.pronoun_right("Das Tier schlief. Sie war zu müde.", right)
    assert not difficulties.pronoun_right("Es schlief. Sie war zu müde.", right)


@pytest.mark.parametrize(
    ("one", "other", "forms"),
    [
        ("der", "dem", True),
        ("kleine", "kleinen", True),
        ("der", "der", False),
        ("Hund", "Katze", False),
        ("der", "Hund", False),
    ],
)
def test_forms_of_one_word(one: str, other: str, forms: bool) -> None:
    assert difficulties.other_form(one, other) is forms


def test_agreement_counts_wrong_forms(tmp_path: Path) -> None:
    wrong_forms = [" ".join(f"{word}n" for word in text.split()) for text in targets()]
    other_words = [" ".join("xyz" for _ in text.split()) for text in targets()]
    for outputs, expected in ((wrong_forms, 100.0), (other_words, 0.0)):
        found, chance = probes(tmp_path, outputs, outputs).agreement()
        assert found == [pytest.approx(expected, abs=15)]
        assert chance[0] < 30


def test_meaning_counts_what_is_wrong_and_more_probable(laboratory: Laboratory) -> None:
    class Judge:
        """Prefers right translations, or wrong ones."""

        def __init__(self, sign: int) -> None:
            self.sign = sign
            self.calls = 0

        def score(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[float, int]]:
            self.calls += 1
            return [(float(self.sign * self.calls), 1) for _ in pairs]

    class Judged(Laboratory):
        sign = 1

        def predictor(self, run: Run, beam: int = 1) -> Predictor:
            return Judge(self.sign)  # type: ignore[return-value]

    for sign, expected in ((-1, 0.0), (1, 100.0)):
        judged = Judged(laboratory.folder, quick=True, seeds=(1,))
        object.__setattr__(judged, "sign", sign)
        assert Probes(judged).meaning() == [expected]
