"""Metrics of tags and labels against counting by hand."""

from __future__ import annotations

import pytest

from regard.errors import UsageError
from regard.metrics.labels import spans
from regard.metrics.paired import System, paired_bootstrap
from regard.metrics.table import METRICS, check_applies, metrics_for
from regard.metrics.text import TextMetrics

SETTINGS = TextMetrics(bootstrap=200)


def value(name: str, outputs: list[str], references: list[str]) -> float:
    return METRICS[name](SETTINGS).score(references, outputs, references).value


def test_accuracy_counts_words_not_lines() -> None:
    assert value("tag_accuracy", ["A B C", "A"], ["A B B", "A"]) == 75.0
    assert value("tag_accuracy", ["A"], ["A B B"]) == pytest.approx(100 / 3)
    assert value("accuracy", ["new  york", "rome"], ["new york", "paris"]) == 50.0


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-X I-X O B-Y", {(0, 2, "X"), (3, 4, "Y")}),
        ("B-X B-X", {(0, 1, "X"), (1, 2, "X")}),
        ("O I-X I-X", {(1, 3, "X")}),  # stray: begins a span
        ("B-X I-Y", {(0, 1, "X"), (1, 2, "Y")}),
        ("S-X B-Y I-Y E-Y O", {(0, 1, "X"), (1, 4, "Y")}),
        ("B-X E-X E-X", {(0, 2, "X"), (2, 3, "X")}),
        ("S-X I-X", {(0, 1, "X"), (1, 2, "X")}),
        ("B-X-1 I-X-1", {(0, 2, "X-1")}),
        ("O O", set()),
    ],
)
def test_spans_of_bio_and_bioes(tags: str, found: set[tuple[int, int, str]]) -> None:
    assert spans(tags.split()) == found


def test_span_f1_is_offered_only_where_tags_have_prefixes() -> None:
    names = [each.name for each in metrics_for("tags", SETTINGS, ["B-X O", "I-X"])]
    assert names == ["tag_accuracy", "span_f1", "exact"]
    assert "span_f1" not in [each.name for each in metrics_for("tags", SETTINGS, ["NOUN O"])]
    assert "span_f1" not in [each.name for each in metrics_for("tags", SETTINGS, ["O O"])]
    with pytest.raises(UsageError, match="span_f1 does not fit"):
        check_applies("span_f1", ["NOUN"])
    score = METRICS["span_f1"](SETTINGS).score(["a b c"], ["B-X O B-Y"], ["B-X I-X B-Y"])
    assert score.value == 50.0  # one of two found is right, one of two wanted is found
    assert "stray:begins" in score.signature


def test_macro_f1_is_the_mean_over_labels() -> None:
    references, outputs = ["a", "a", "a", "b"], ["a", "a", "b", "b"]
    of_a, of_b = 2 * 2 / (2 + 3), 2 * 1 / (2 + 1)
    assert value("macro_f1", outputs, references) == pytest.approx(50 * (of_a + of_b))
    assert value("macro_f1", ["c"], ["c"]) == 100.0


def test_the_paired_bootstrap_works_for_each() -> None:
    references = ["a", "b"] * 40
    good, bad = [*references[:72], *["z"] * 8], ["a"] * 80
    found = paired_bootstrap(
        [System("bad", bad), System("good", good)],
        references,
        references,
        metrics_for("label", SETTINGS, references),
    )
    by_metric = {(each.metric, each.name): each for each in found}
    assert by_metric["accuracy", "good"].value == 90.0
    for metric in ("accuracy", "macro F1"):
        p_value = by_metric[metric, "good"].p_value
        assert p_value is not None
        assert p_value < 0.05
