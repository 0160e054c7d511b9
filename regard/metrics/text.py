"""BLEU, chrF and TER by sacreBLEU, and exact match: what corpora of text are judged by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from pydantic import Field, model_validator
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

from regard import __version__
from regard.config import Settings


class TextMetrics(Settings):
    """How text is compared; the defaults are sacreBLEU's own, but that TER heeds case as well."""

    lowercase: bool = False
    tokenize: str = Field(default="13a", pattern="^(13a|none|intl|char|zh|ja-mecab|ko-mecab)$")
    bootstrap: int = Field(default=1000, ge=0)  # resamples for the confidence interval; 0: none

    @model_validator(mode="after")
    def _can_tokenize(self) -> TextMetrics:
        try:
            _bleu(self)
        except RuntimeError:
            extra = self.tokenize.partition("-")[0]
            raise ValueError(
                f"the tokenizer {self.tokenize} is not installed, which "
                f"'pip install sacrebleu[{extra}]' does"
            ) from None
        return self


@dataclass(frozen=True)
class Score:
    """A number with its signature and, if resampled, its 95 % confidence interval."""

    name: str
    value: float
    signature: str
    margin: Optional[float] = None

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.2f}"
        return f"{self.name} {self.value:.2f}{margin}  [{self.signature}]"


def text_scores(
    outputs: Sequence[str], references: Sequence[str], settings: TextMetrics
) -> list[Score]:
    """BLEU, chrF, TER and exact match (%) of the outputs."""
    scores = [_score(metric, outputs, references, settings) for metric in _metrics(settings)]
    return [*scores, exact_match(outputs, references, settings)]


def bleu(outputs: Sequence[str], references: Sequence[str], settings: TextMetrics) -> Score:
    return _score(_bleu(settings), outputs, references, settings)


def _score(
    metric: Metric, outputs: Sequence[str], references: Sequence[str], settings: TextMetrics
) -> Score:
    resamples = settings.bootstrap if len(outputs) > 1 else 0
    result = metric.corpus_score(outputs, [list(references)], n_bootstrap=resamples or 1)
    margin = float(result._ci) if resamples else None
    name = {"chrF2": "chrF"}.get(result.name, result.name)
    return Score(name, float(result.score), str(metric.get_signature()), margin)


def exact_match(outputs: Sequence[str], references: Sequence[str], settings: TextMetrics) -> Score:
    """The share of outputs that equal their reference, in per cent."""
    hits = np.array(
        [
            _plain(output, settings) == _plain(reference, settings)
            for output, reference in zip(outputs, references, strict=True)
        ]
    )
    margin = None
    if settings.bootstrap and len(hits) > 1:
        draws = np.random.default_rng(12345)
        means = draws.binomial(len(hits), hits.mean(), settings.bootstrap) / len(hits)
        margin = float(100 * (np.quantile(means, 0.975) - np.quantile(means, 0.025)) / 2)
    case = "lc" if settings.lowercase else "mixed"
    signature = f"nrefs:1|case:{case}|space:folded|version:regard-{__version__}"
    return Score("exact", float(100 * hits.mean()) if len(hits) else 0.0, signature, margin)


def piece_perplexity(scored: Sequence[tuple[float, int]]) -> Score:
    """Of log p of each line and its number of pieces, its end among them."""
    pieces = sum(count for _, count in scored)
    signature = f"unit:piece|pieces:{pieces}|pairs:{len(scored)}"
    return Score("perplexity", _perplexity(scored, pieces), signature)


def word_perplexity(scored: Sequence[tuple[float, int]], lines: Sequence[str]) -> Score:
    """The same by the word, which does not depend on how words are cut into pieces.

    It means nothing if some of the lines were not read to their end.
    """
    words = sum(len(line.split()) + 1 for line in lines)
    signature = f"unit:word|words:{words}|lines:{len(lines)}"
    return Score("word perplexity", _perplexity(scored, words), signature)


def _perplexity(scored: Sequence[tuple[float, int]], units: int) -> float:
    """exp(-log p / units), where the end of each line is a unit too."""
    return math.exp(min(700.0, -sum(total for total, _ in scored) / units))


def quick_score(name: str, outputs: Sequence[str], references: Sequence[str]) -> float:
    """One number during training, without resampling."""
    settings = TextMetrics(bootstrap=0)
    if name == "exact":
        return exact_match(outputs, references, settings).value
    metric = CHRF() if name == "chrf" else _bleu(settings)
    return float(metric.corpus_score(list(outputs), [list(references)]).score)


def _character_f(settings: TextMetrics) -> Metric:
    """chrF with plain numbers: the mean over resamples fails where some are numpy's and some not,
    as when a resample shares no character with its references."""
    metric = CHRF(lowercase=settings.lowercase)
    compute = metric._compute_score_from_stats

    def plain(stats: list[int]) -> Any:
        found = compute(stats)
        found.score = float(found.score)
        return found

    metric._compute_score_from_stats = plain
    return metric


def _bleu(settings: TextMetrics) -> Metric:
    return BLEU(
        lowercase=settings.lowercase,
        tokenize=settings.tokenize,
        force=settings.tokenize == "none",  # the text is meant to be tokenised already
    )


def _metrics(settings: TextMetrics) -> list[Metric]:
    return [
        _bleu(settings),
        _character_f(settings),
        TER(case_sensitive=not settings.lowercase),
    ]


def _plain(text: str, settings: TextMetrics) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text.lower() if settings.lowercase else text


def _p_value(found: Optional[float], equal: bool) -> Optional[float]:
    """sacreBLEU gives the least possible value where there is no difference at all."""
    if found is None:
        return None
    return 1.0 if equal else float(found)


@dataclass(frozen=True)
class Comparison:
    """One system beside the baseline on the same lines: paired bootstrap (Koehn 2004)."""

    name: str
    metric: str
    value: float
    margin: float
    p_value: Optional[float]  # None for the baseline itself
    signature: str


def paired_bootstrap(
    systems: Sequence[tuple[str, Sequence[str]]], references: Sequence[str], settings: TextMetrics
) -> list[Comparison]:
    """Compare systems, the first being the baseline, by sacreBLEU's paired bootstrap."""
    from sacrebleu.significance import PairedTest

    metrics = {type(metric).__name__: metric for metric in _metrics(settings)[:2]}
    test = PairedTest(
        [(name, list(outputs)) for name, outputs in systems],
        metrics,
        references=[list(references)],
        test_type="bs",
        n_samples=max(settings.bootstrap, 100),
    )
    signatures, table = test()
    return [
        Comparison(
            name=system,
            metric=metric,
            value=float(result.score),
            margin=float(result.ci),
            p_value=_p_value(result.p_value, result.score == results[0].score),
            signature=str(signatures[metric]),
        )
        for metric, results in table.items()
        if metric != "System"
        for system, result in zip(table["System"], results, strict=True)
    ]
