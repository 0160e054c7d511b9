"""Alignment error rate, computed by hand."""

from __future__ import annotations

import pytest

from regard.errors import UsageError
from regard.metrics.alignment import alignment_scores, error_rate, parse_gold, pharaoh


def test_sure_and_possible_links_are_read() -> None:
    gold = parse_gold("0-0 1p2 3?4")
    assert gold.sure == {(0, 0)}
    assert gold.possible == {(0, 0), (1, 2), (3, 4)}
    assert parse_gold("").sure == frozenset()


def test_words_may_count_from_one_and_sides_may_be_swapped() -> None:
    assert parse_gold("1-2 3p1", first=1, swapped=True).possible == {(1, 0), (0, 2)}


@pytest.mark.parametrize("line", ["0:0", "0-", "-1-0", "0-0-0", "a-b", "1-1p", "0 1"])
def test_what_is_not_a_link_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="is not a link"):
        parse_gold(line)
    with pytest.raises(UsageError, match="is not a link"):
        parse_gold("0-1", first=1)


def test_the_error_rate_is_that_of_the_formula() -> None:
    gold = [parse_gold("0-0 1-1 2p2")]
    found = [frozenset({(0, 0), (2, 2), (3, 3)})]
    # one sure of two, two possible of three found: 1 - (1 + 2) / (3 + 2)
    assert error_rate(found, gold) == pytest.approx(1 - 3 / 5)
    aer, precision, recall = alignment_scores(found, gold, "method:argmax")
    assert aer.value == pytest.approx(40)
    assert precision.value == pytest.approx(200 / 3)
    assert recall.value == pytest.approx(50)
    assert aer.signature == "method:argmax|links:3|sure:2|possible:3|lines:1"


def test_perfect_is_0_and_all_wrong_is_100() -> None:
    gold = [parse_gold("0-0"), parse_gold("1-0")]
    assert error_rate([frozenset({(0, 0)}), frozenset({(1, 0)})], gold) == 0
    assert error_rate([frozenset({(0, 1)}), frozenset({(0, 0)})], gold) == 1
    assert error_rate([frozenset()], [parse_gold("")]) == 0


def test_links_are_written_in_order() -> None:
    assert pharaoh({(2, 1), (0, 3), (0, 0)}) == "0-0 0-3 2-1"
