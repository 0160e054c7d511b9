"""Error rates: of symbols by position, of tokens by edits, of lines."""

from __future__ import annotations

from itertools import product

import pytest

from regard.metrics.error_rates import LineError, SymbolError, TokenError
from regard.metrics.table import higher_is_better, metrics_for, quick_score
from regard.metrics.text import TextMetrics


@pytest.mark.parametrize(
    ("output", "reference", "errors"),
    [
        ("a b c d", "a b c d", 0),
        ("a x c d", "a b c d", 1),
        ("a b", "a b c d", 2),  # what is missing is wrong
        ("", "a b c d", 4),
        ("a b c d e f", "a b c d", 2),  # what is too much as well
        ("b c d", "a b c d", 4),  # all that follows a missing symbol is out of place
        ("  a  b c\td ", "a b c d", 0),
    ],
)
def test_errors_are_counted_by_position(output: str, reference: str, errors: int) -> None:
    assert quick_score("symbol_error", [""], [output], [reference]) == 100 * errors / 4


def test_lines_count_by_their_symbols() -> None:
    metric = SymbolError(TextMetrics())
    found = metric.score(["", ""], ["a a a", "b"], ["a a a", "c"])
    assert found.value == 25
    assert found.margin is not None
    assert "by:position" in found.signature
    assert "bs:1000" in found.signature
    assert not higher_is_better("symbol_error")


def test_the_nearest_of_several_references_counts() -> None:
    metric = SymbolError(TextMetrics(bootstrap=0))
    found = metric.score([""] * 2, ["a b c", "d"], ["a x y", "d e"], ["a b z", "x y"])
    assert found.value == 100 * (1 + 1) / (3 + 2)
    assert found.signature.startswith("nrefs:2|")


def test_case_counts_unless_it_is_folded() -> None:
    assert SymbolError(TextMetrics()).score([""], ["A"], ["a"]).value == 100
    assert SymbolError(TextMetrics(lowercase=True)).score([""], ["A"], ["a"]).value == 0


def test_a_metric_chosen_for_training_judges_the_run() -> None:
    def names(chosen: str) -> list[str]:
        return [metric.name for metric in metrics_for("text", TextMetrics(), [], chosen)]

    assert names("symbol_error") == ["symbol_error", "exact"]
    assert names("token_error") == ["token_error", "line_error"]
    assert names("exact") == names("bleu") == names("loss") == ["bleu", "chrf", "ter", "exact"]


@pytest.mark.parametrize(
    ("output", "reference", "edits"),
    [
        ("K AE T", "K AE T", 0),
        ("K AH T", "K AE T", 1),
        ("AE T", "K AE T", 1),  # one deletion, however many positions move
        ("S K AE T S", "K AE T", 2),
        ("", "K AE T", 3),
        ("T AE K", "K AE T", 2),
        ("AE K T", "K AE T", 2),  # moving a token is two edits
        ("kae t", "K AE T", 3),
    ],
)
def test_edits_are_the_fewest(output: str, reference: str, edits: int) -> None:
    assert quick_score("token_error", [""], [output], [reference]) == 100 * (edits / 3)
    assert quick_score("line_error", [""], [output], [reference]) == (100 if edits else 0)


def test_edits_agree_with_a_plain_recursion() -> None:
    def plain(one: str, other: str) -> int:
        if not one or not other:
            return len(one) + len(other)
        same = plain(one[1:], other[1:]) + (one[0] != other[0])
        return min(same, plain(one[1:], other) + 1, plain(one, other[1:]) + 1)

    texts = ["".join(each) for size in range(4) for each in product("ab", repeat=size)]
    for one, other in product(texts, texts):
        assert TokenError.count(one, other) == (plain(one, other), len(other))


def test_any_of_several_pronunciations_is_right() -> None:
    outputs, first, second = ["R IY D", "B AW"], ["R EH D", "B OW"], ["R IY D", "B OW"]
    settings = TextMetrics(bootstrap=0)
    assert LineError(settings).score(["read", "bow"], outputs, first, second).value == 50
    assert TokenError(settings).score(["read", "bow"], outputs, first, second).value == 20
    assert not higher_is_better("line_error")
