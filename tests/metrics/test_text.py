"""Metrics of text: what they count, and that each carries what makes it a result."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from regard.config import check
from regard.errors import UsageError
from regard.metrics.text import (
    TextMetrics,
    exact_match,
    paired_bootstrap,
    quick_score,
    text_scores,
)

REFERENCES = ["the cat sat on the mat", "a dog ran", "it rained all day", "nobody came"]


def test_perfect_output_has_perfect_scores_and_signatures() -> None:
    scores = {score.name: score for score in text_scores(REFERENCES, REFERENCES, TextMetrics())}
    assert {name: score.value for name, score in scores.items()} == pytest.approx(
        {"BLEU": 100, "chrF": 100, "TER": 0, "exact": 100}
    )
    for score in scores.values():
        assert "nrefs:1" in score.signature
        assert "version:" in score.signature
        assert str(score).startswith(score.name)
        assert score.signature in str(score)


def test_the_signature_tells_what_was_chosen() -> None:
    chosen = TextMetrics(lowercase=True, tokenize="char", bootstrap=50)
    bleu, chrf, ter, exact = text_scores(REFERENCES, REFERENCES, chosen)
    assert "case:lc" in bleu.signature
    assert "tok:char" in bleu.signature
    assert "bs:50" in bleu.signature
    assert "case:lc" in chrf.signature
    assert "case:lc" in ter.signature
    assert "case:lc" in exact.signature


def test_exact_match_folds_white_space_and_case_if_asked() -> None:
    outputs = ["the  cat sat on the mat ", "A dog ran", "no", "nobody came"]
    assert exact_match(outputs, REFERENCES, TextMetrics()).value == 50
    assert exact_match(outputs, REFERENCES, TextMetrics(lowercase=True)).value == 75


def test_the_interval_of_exact_match_is_that_of_drawing_lines() -> None:
    outputs = [str(number % 10 < 3) for number in range(500)]
    found = exact_match(outputs, ["True"] * 500, TextMetrics())
    assert found.value == 30
    draws = np.random.default_rng(1).integers(0, 500, (1000, 500))
    means = 100 * (np.array(outputs) == "True")[draws].mean(axis=1)
    expected = (np.quantile(means, 0.975) - np.quantile(means, 0.025)) / 2
    assert found.margin == pytest.approx(expected, rel=0.1)


def test_a_single_line_has_no_interval() -> None:
    assert all(score.margin is None for score in text_scores(["a"], ["a"], TextMetrics()))


def test_the_quick_score_is_the_same_number() -> None:
    outputs = ["the cat sat on a mat", "a dog ran", "it rained", "somebody came"]
    full = {s.name: s.value for s in text_scores(outputs, REFERENCES, TextMetrics(bootstrap=0))}
    assert quick_score("bleu", outputs, REFERENCES) == pytest.approx(full["BLEU"])
    assert quick_score("chrf", outputs, REFERENCES) == pytest.approx(full["chrF"])
    assert quick_score("exact", outputs, REFERENCES) == pytest.approx(full["exact"])


def test_equal_outputs_are_no_difference_and_clear_ones_are() -> None:
    references = REFERENCES * 10
    worse = ["the mat", "ran a dog", "rain", "came nobody"] * 10
    rows = paired_bootstrap(
        [("baseline", worse), ("same", worse), ("better", references)], references, TextMetrics()
    )
    found = {(row.name, row.metric): row.p_value for row in rows}
    assert found["baseline", "BLEU"] is None
    assert found["same", "BLEU"] == 1.0
    assert found["same", "chrF2"] == 1.0
    better = found["better", "BLEU"]
    assert better is not None
    assert better < 0.01


def test_an_unknown_tokenization_is_refused() -> None:
    with pytest.raises(UsageError, match="tokenize"):
        check(TextMetrics, {"tokenize": "klingon"})


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_tokenizer_that_is_not_installed_is_refused_before_any_work(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(
        sys.modules, f"sacrebleu.tokenizers.tokenizer_{language}_mecab", raising=False
    )
    for name in ("MeCab", "mecab_ko"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="is not installed") as caught:
        check(TextMetrics, {"tokenize": f"{language}-mecab"})
    assert f"sacrebleu[{language}]" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
