"""The table of metrics, and which of them judge what a model writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Optional

from pydantic import AfterValidator

from regard.errors import UsageError
from regard.metrics.base import Metric
from regard.metrics.error_rates import LineError, SymbolError, TokenError
from regard.metrics.labels import LabelAccuracy, MacroF1, SpanF1, TagAccuracy
from regard.metrics.points import CoveredArea, SimplePolygons, TourLength, ValidTours
from regard.metrics.text import Bleu, CharacterF, EditRate, ExactMatch, TextMetrics

Writes = Literal["text", "tags", "label", "indices"]
"""What the targets of a family are: text, one tag per source word, one label, or indices of source
words."""

WRITTEN: dict[Writes, str] = {
    "text": "text",
    "tags": "tags",
    "label": "a label",
    "indices": "indices",
}
"""What follows "a model that writes" in a sentence."""

METRICS: dict[str, Callable[[TextMetrics], Metric]] = {
    metric.name: metric
    for metric in (
        *(Bleu, CharacterF, EditRate, ExactMatch),
        *(SymbolError, TokenError, LineError),
        *(TagAccuracy, SpanF1, LabelAccuracy, MacroF1),
        *(CoveredArea, SimplePolygons, TourLength, ValidTours),
    )
}

REPORTED: dict[Writes, tuple[str, ...]] = {
    "text": ("bleu", "chrf", "ter", "exact"),
    "tags": ("tag_accuracy", "span_f1", "exact"),
    "label": ("accuracy", "macro_f1"),
    "indices": ("exact",),
}
"""By what a model writes; the first is the one that tables and figures show."""

ON_REQUEST: dict[Writes, dict[str, tuple[str, ...]]] = {
    "text": {
        "symbol_error": ("symbol_error", "exact"),
        "token_error": ("token_error", "line_error"),
        "line_error": ("line_error", "token_error"),
    },
    "indices": {
        "covered_area": ("covered_area", "simple_polygons", "exact"),
        "tour_length": ("tour_length", "valid_tours", "exact"),
    },
}
"""What is reported instead if training.metric asks for a metric that is not among those."""

LOSS = "loss"
"""Chooses checkpoints by the validation loss, without decoding anything."""

DEFAULT = TextMetrics()
QUICK = TextMetrics(bootstrap=0)


def metrics_for(
    writes: Writes,
    settings: TextMetrics,
    references: Sequence[str],
    chosen: Optional[str] = None,
) -> tuple[Metric, ...]:
    """The metrics of what a model writes that make sense for these references, the main first.

    A metric that was chosen for training may have others reported with it.
    """
    names = ON_REQUEST.get(writes, {}).get(chosen or "", REPORTED[writes])
    every = (METRICS[name](settings) for name in names)
    return tuple(metric for metric in every if metric.applies(references))


def higher_is_better(name: str) -> bool:
    """For a name of the table or "loss"."""
    return name != LOSS and METRICS[name](DEFAULT).higher


def check_applies(name: str, references: Sequence[str]) -> None:
    """Refuse to validate by a metric that makes no sense for these references."""
    if name != LOSS and not METRICS[name](DEFAULT).applies(references):
        raise UsageError(
            f"training.metric={name} does not fit these targets, which have no BIO prefixes: "
            "choose another metric."
        )


def quick_score(
    name: str,
    sources: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[str],
    settings: TextMetrics = QUICK,
) -> float:
    """One number during training, without a confidence interval."""
    return METRICS[name](settings).score(sources, outputs, references).value


def _known(name: str) -> str:
    names = (*METRICS, LOSS)
    if name not in names:
        raise ValueError(f"choose one of {', '.join(names)}")
    return name


MetricName = Annotated[str, AfterValidator(_known)]
"""The name of a metric of the table, or "loss", as a setting."""
