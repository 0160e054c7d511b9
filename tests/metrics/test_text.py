"""Metrics of text: what they count, and that each carries what makes it a result."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from regard.config import check
from regard.errors import UsageError
from regard.metrics.base import Score
from regard.metrics.paired import Comparison, System, paired_bootstrap
from regard.metrics.table import METRICS, higher_is_better, metrics_for, quick_score
from regard.metrics.text import ExactMatch, TextMetrics
from regard.training.trainer import TrainingSettings

Systems = list[tuple[str, list[str]]]

REFERENCES = ["the cat sat on the mat", "a dog ran", "it rained all day", "nobody came"]


def text_scores(outputs: list[str], references: list[str], settings: TextMetrics) -> list[Score]:
    metrics = metrics_for("text", settings, references)
    return [metric.score(references, outputs, references) for metric in metrics]


def exact_match(outputs: list[str], references: list[str], settings: TextMetrics) -> Score:
    return ExactMatch(settings).score(references, outputs, references)


def compared(systems: Systems, references: list[str], settings: TextMetrics) -> list[Comparison]:
    return paired_bootstrap(
        [System(*each) for each in systems],
        references,
        references,
        metrics_for("text", settings, references),
    )


def noisy(share: float, seed: int) -> list[str]:
    """REFERENCES many times, with some words replaced."""
    draws = np.random.default_rng(seed)
    return [
        " ".join("word" if draws.random() < share else word for word in line.split())
        for line in REFERENCES * 25
    ]


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
    assert "bs:50" in exact.signature


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
    assert quick_score("bleu", REFERENCES, outputs, REFERENCES) == pytest.approx(full["BLEU"])
    assert quick_score("chrf", REFERENCES, outputs, REFERENCES) == pytest.approx(full["chrF"])
    assert quick_score("exact", REFERENCES, outputs, REFERENCES) == pytest.approx(full["exact"])
    assert quick_score("ter", REFERENCES, outputs, REFERENCES) == pytest.approx(full["TER"])


def test_equal_outputs_are_no_difference_and_clear_ones_are() -> None:
    references = REFERENCES * 10
    worse = ["the mat", "ran a dog", "rain", "came nobody"] * 10
    rows = compared(
        [("baseline", worse), ("same", worse), ("better", references)], references, TextMetrics()
    )
    found = {(row.name, row.metric): row.p_value for row in rows}
    assert found["baseline", "BLEU"] is None
    assert found["same", "BLEU"] == 1.0
    assert found["same", "chrF"] == 1.0
    better = found["better", "BLEU"]
    assert better is not None
    assert better < 0.01


@pytest.mark.parametrize(
    "settings", [TextMetrics(), TextMetrics(lowercase=True, tokenize="char", bootstrap=200)]
)
def test_values_signatures_and_intervals_are_those_of_sacrebleu(settings: TextMetrics) -> None:
    """The draws are the same too; sacreBLEU sums them in single precision."""
    outputs, references = noisy(0.3, 1), REFERENCES * 25
    theirs = [
        BLEU(lowercase=settings.lowercase, tokenize=settings.tokenize),
        CHRF(lowercase=settings.lowercase),
        TER(case_sensitive=not settings.lowercase),
    ]
    ours = text_scores(outputs, references, settings)
    for found, metric in zip(ours, theirs, strict=False):
        expected = metric.corpus_score(outputs, [references], n_bootstrap=settings.bootstrap)
        assert found.value == expected.score
        assert found.signature == str(metric.get_signature())
        assert found.margin == pytest.approx(expected._ci, abs=0.01)


@pytest.mark.parametrize("share", [0.31, 0.35, 0.4])
def test_p_values_are_those_of_sacrebleu(share: float) -> None:
    references = REFERENCES * 25
    systems: Systems = [("a", noisy(0.3, 1)), ("b", noisy(share, 2)), ("c", noisy(share, 3))]
    test = PairedTest(
        systems, {"BLEU": BLEU(), "chrF": CHRF()}, [references], test_type="bs", n_samples=1000
    )
    signatures, table = test()
    found = {(row.metric, row.name): row for row in compared(systems, references, TextMetrics())}
    for label, theirs in (("BLEU", "BLEU"), ("chrF", "chrF2")):
        for (name, _), expected in zip(systems, table[theirs], strict=True):
            row = found[label, name]
            assert row.value == expected.score
            assert row.margin == pytest.approx(expected.ci, abs=0.01)
            assert row.p_value == pytest.approx(expected.p_value, abs=0.002)
            assert row.signature == str(signatures[theirs])


def test_resamples_that_share_nothing_with_their_references_are_scored() -> None:
    outputs = ["a b c d e f", *["x"] * 5]
    scores = text_scores(outputs, ["a b c d e f", *["q"] * 5], TextMetrics())
    assert all(score.margin is not None and score.margin > 0 for score in scores)


LOWER = {"ter", "symbol_error", "token_error", "line_error", "tour_length"}


def test_the_table_says_what_is_better() -> None:
    assert {name for name in METRICS if not higher_is_better(name)} == LOWER
    assert not higher_is_better("loss")
    names = [metric.name for metric in metrics_for("text", TextMetrics(), ["a"])]
    assert names == ["bleu", "chrf", "ter", "exact"]
    for name, make in METRICS.items():
        assert make(TextMetrics()).name == name


def test_the_setting_of_a_metric_is_a_name_of_the_table() -> None:
    for name in (*METRICS, "loss"):
        assert check(TrainingSettings, {"metric": name}).metric == name
    with pytest.raises(UsageError, match="'metric' cannot be 'rouge': choose one of bleu, chrf"):
        check(TrainingSettings, {"metric": "rouge"})


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
