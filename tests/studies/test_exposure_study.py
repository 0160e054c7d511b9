"""Accumulated error: a shift is none, gold prefixes have none, and a mistake that misleads has."""

from __future__ import annotations

import random

import pytest
import torch

from regard.data.batch import EOS, Batch, Padded, Row
from regard.metrics.error_rates import edits
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.studies import exposure

SOURCES = [Row([4, 5, 6, 7, 8]), Row([8, 6, 4, 5, 7])]
CHAIN = [4, 5, 6, 7, 8, 9]
"""A target whose words follow from each other, whatever the source is."""


def build(size: int, seed: int = 1) -> EncoderDecoder:
    torch.manual_seed(seed)
    config = TransformerConfig(
        layers=1, width=16, inner=16, heads=1, tying="none", dropout=0, smoothing=0
    )
    return config.build(size, size)


def learn(model: EncoderDecoder, sources: list[Row], targets: list[Row]) -> EncoderDecoder:
    batch = Batch(Padded.of_rows(sources), Padded.of_rows(targets))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss = model(batch)
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
    return model.eval()


def test_a_shift_is_one_edit_and_many_mismatches() -> None:
    gold = [4, 5, 6, 7, 8, EOS]
    assert sum(exposure.mismatches([4, 6, 7, 8, EOS], gold)) == 5
    assert exposure.edits_by_position([4, 6, 7, 8, EOS], gold) == [0, 1, 0, 0, 0, 0]
    assert exposure.edits_by_position([4, 9, 5, 6, 7, 8, EOS], gold) == [0, 1, 0, 0, 0, 0]
    assert exposure.edits_by_position([4, 5, 9, 7, 8, EOS], gold) == [0, 0, 1, 0, 0, 0]
    assert exposure.edits_by_position([*gold, 9], gold) == [0, 0, 0, 0, 0, 1]


def test_edits_add_up_to_the_distance_and_none_comes_before_the_first_difference() -> None:
    generator = random.Random(1)
    for _ in range(300):
        written, gold = (
            [*(generator.randrange(4, 7) for _ in range(generator.randrange(8))), EOS]
            for _ in range(2)
        )
        charged = exposure.edits_by_position(written, gold)
        assert sum(charged) == edits(written, gold)
        assert len(charged) == len(gold)
        wrong = exposure.mismatches(written, gold)
        first = wrong.index(1) if 1 in wrong else len(gold) - 1
        assert not any(charged[:first])


def test_a_model_that_makes_no_mistake_has_no_errors() -> None:
    found = exposure.errors(learn(build(9), SOURCES, SOURCES), SOURCES, SOURCES)
    for kind in (found.gold, found.own, found.gold_moved, found.own_moved, found.right):
        assert kind in ([[0] * 6] * 2, [[0] * 3] * 2)
    assert exposure.gap([found], range(6)).value == 0


def test_up_to_the_first_error_own_and_gold_prefixes_are_the_same() -> None:
    found = exposure.errors(build(9, 2).eval(), SOURCES, SOURCES)
    assert exposure.rate(found.gold_moved, range(6)) > 10
    for gold, own in zip(found.gold_moved, found.own_moved, strict=True):
        assert gold.index(1) == own.index(1)


def test_a_gold_prefix_has_no_accumulated_error_and_an_own_one_has() -> None:
    """Two chains which part at the first word, chosen by nothing that the model can see: the wrong
    choice is the only mistake after gold prefixes, and makes all words wrong after own ones."""
    targets = [Row(CHAIN), Row([10, 11, 12, 13, 14, 15])]
    sources = [Row([4, 4]), Row([4, 4])]
    model = learn(build(16), sources, targets)
    found = exposure.errors(model, sources, targets)
    late = range(1, 6)
    assert exposure.rate(found.gold, [0]) == exposure.rate(found.own, [0]) == 50
    assert exposure.rate(found.gold, late) == 0
    assert exposure.rate(found.own, late) == 50
    assert exposure.gap([found], late).value == 50
    assert found.after_first(found.gold) == 0
    assert found.after_first(found.own) > 80


@pytest.mark.parametrize("wrong", [False, True])
def test_prefixes_differ_in_their_last_word_alone(wrong: bool) -> None:
    batch = Batch(Padded.of_rows(SOURCES), Padded.of_rows(SOURCES))
    model = build(9).eval()
    prefixes = exposure.begun(model, batch, 2, wrong)
    for prefix, row in zip(prefixes, SOURCES, strict=True):
        assert prefix[:2] == list(row.ids[:2])
        assert (prefix[2] != row.ids[2]) is wrong
        assert prefix[2] > EOS
    written = exposure.after_own(model, batch, prefixes)
    assert [each[:3] for each in written] == prefixes


def test_one_wrong_word_is_charged_with_what_it_causes() -> None:
    nothing = exposure.Errors([], [], [], [], right=[[0, 1, 0], [0, 0]], wrong=[[1, 1, 0], [1, 1]])
    assert exposure.caused([nothing]).value == pytest.approx(1.5)
    assert exposure.cost([nothing], [0]).value == 100
    assert exposure.cost([nothing], [2]).value == 0
