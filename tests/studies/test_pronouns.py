"""Attention heads that resolve the pronoun "it"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from untrained import untrained

from regard.corpora import grammar
from regard.data.line import Line
from regard.data.tokenizer import Words
from regard.errors import UsageError
from regard.inspection.look import look
from regard.models.transformer import TransformerConfig
from regard.studies import pronoun
from regard.studies.pronoun import CHANCE, accuracy
from regard.studies.pronouns import ResolvingHead, resolving_heads

EXAMPLES = grammar.generate(0, held_out=30).test


def test_the_nouns_of_a_riddle_are_known() -> None:
    tired, wide = grammar.STREET
    for example, right, other in ((tired, "animal", "street"), (wide, "street", "animal")):
        words = example.source.split()
        assert example.antecedent is not None
        assert example.distractor is not None
        assert (words[example.antecedent], words[example.distractor]) == (right, other)
    for example in EXAMPLES:
        riddle = example.pronoun is not None
        assert (example.antecedent is not None) == (example.distractor is not None) == riddle


@pytest.mark.parametrize("position", ["sinusoidal", "syntax"])
def test_heads_are_ranked_by_accuracy(position: str) -> None:
    texts = [f"{example.source} {example.target}" for example in EXAMPLES]
    words = Words(sorted({word for text in texts for word in text.split()}))
    config = TransformerConfig.miniatures()[0].changed(position=position)
    predictor = untrained(config, tokenizer=words)
    found = resolving_heads(predictor, EXAMPLES)
    assert len(found) == 8
    assert [each.accuracy for each in found] == sorted((e.accuracy for e in found), reverse=True)
    riddles = [example for example in EXAMPLES if example.pronoun is not None]
    best = next(each for each in found if each.kind == "cross")
    looks = [look(predictor, Line(riddle.source, riddle.tree), riddle.target) for riddle in riddles]
    rows = [
        each.attention("cross", best.layer, best.head, words=True)[riddle.pronoun]
        for each, riddle in zip(looks, riddles, strict=True)
    ]
    right = [row[riddle.antecedent] for row, riddle in zip(rows, riddles, strict=True)]
    other = [row[riddle.distractor] for row, riddle in zip(rows, riddles, strict=True)]
    share = np.mean([r > o for r, o in zip(right, other, strict=True)])
    assert best.accuracy == pytest.approx(share)
    assert best.weight == pytest.approx(np.mean(right), abs=1e-5)
    plain = [example for example in EXAMPLES if example.pronoun is None]
    with pytest.raises(UsageError, match="No riddles"):
        resolving_heads(predictor, plain)


def test_only_the_right_pronoun_resolves_a_riddle() -> None:
    riddles = [each for each in grammar.generate(0).test if each.pronoun is not None][:300]

    def written(pronoun: str | None) -> Callable[[list[str]], list[str]]:
        """Right translations, with this pronoun in the place of the right one."""
        outputs = []
        for riddle in riddles:
            words = riddle.target.split(" ")
            assert riddle.pronoun is not None
            words[riddle.pronoun] = pronoun or words[riddle.pronoun]
            outputs.append(" ".join(words))
        return lambda sources: outputs

    assert accuracy(written(None), riddles) == 100  # type: ignore[arg-type]
    assert accuracy(written("er"), riddles) == pytest.approx(CHANCE, abs=10)  # type: ignore[arg-type]


@pytest.mark.parametrize(("knows", "expected"), [(True, 100), (False, 50)])
def test_a_head_that_always_prefers_the_subject_is_right_by_chance(
    monkeypatch: pytest.MonkeyPatch, knows: bool, expected: float
) -> None:
    """Heads are chosen on other riddles than they are measured on, but on ones like them."""

    def ranked(predictor: object, riddles: list[grammar.Example]) -> list[ResolvingHead]:
        firsts = [each.antecedent < each.distractor for each in riddles]  # type: ignore[operator]
        subject = sum(firsts) / len(firsts)
        parts = (subject, 1 - subject, 1.0 if knows else 0.0)
        heads = [ResolvingHead("encoder", 1, n, part, 0.5) for n, part in enumerate(parts, 1)]
        return sorted(heads, key=lambda each: -each.accuracy)

    monkeypatch.setattr(pronoun, "resolving_heads", ranked)
    riddles = [each for each in grammar.generate(0).test if each.pronoun is not None]
    assert pronoun.looks(None, riddles) == pytest.approx(expected, abs=10)  # type: ignore[arg-type]
