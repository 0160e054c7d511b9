"""Heads that know what "it" stands for."""

from __future__ import annotations

import numpy as np
import pytest
from untrained import untrained

from regard.corpora import grammar
from regard.data.line import Line
from regard.data.tokenizer import Words
from regard.errors import UsageError
from regard.inspection.look import look
from regard.models.transformer import TransformerConfig
from regard.studies.pronouns import resolving_heads

PAIRS = grammar.generate(0, held_out=30).test


def test_the_nouns_of_a_riddle_are_known() -> None:
    tired, wide = grammar.STREET
    for pair, right, other in ((tired, "animal", "street"), (wide, "street", "animal")):
        words = pair.source.split()
        assert pair.antecedent is not None
        assert pair.rival is not None
        assert (words[pair.antecedent], words[pair.rival]) == (right, other)
    for pair in PAIRS:
        riddle = pair.pronoun is not None
        assert (pair.antecedent is not None) == (pair.rival is not None) == riddle


@pytest.mark.parametrize("position", ["sinusoidal", "syntax"])
def test_heads_are_ranked_by_what_they_look_at(position: str) -> None:
    words = Words(sorted({w for pair in PAIRS for w in f"{pair.source} {pair.target}".split()}))
    config = TransformerConfig.miniatures()[0].changed(position=position)
    predictor = untrained(config, tokenizer=words)
    found = resolving_heads(predictor, PAIRS)
    assert len(found) == 8
    assert [each.right for each in found] == sorted((e.right for e in found), reverse=True)
    riddles = [pair for pair in PAIRS if pair.pronoun is not None]
    best = next(each for each in found if each.kind == "cross")
    looks = [
        look(predictor, Line(pair.source, tuple(head + 1 for head in pair.heads)), pair.target)
        for pair in riddles
    ]
    rows = [
        each.attention("cross", best.layer, best.head, words=True)[pair.pronoun]
        for each, pair in zip(looks, riddles, strict=True)
    ]
    right = [row[pair.antecedent] for row, pair in zip(rows, riddles, strict=True)]
    other = [row[pair.rival] for row, pair in zip(rows, riddles, strict=True)]
    assert best.right == pytest.approx(np.mean([r > o for r, o in zip(right, other, strict=True)]))
    assert best.weight == pytest.approx(np.mean(right), abs=1e-5)
    plain = [pair for pair in PAIRS if pair.pronoun is None]
    with pytest.raises(UsageError, match="no riddle"):
        resolving_heads(predictor, plain)
