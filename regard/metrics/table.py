"""The table of metrics, and which of them judge what a model writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Optional

from pydantic import AfterValidator

from regard.metrics.base import Metric
from regard.metrics.symbols import SymbolError
from regard.metrics.text import Bleu, CharacterF, EditRate, ExactMatch, TextMetrics

Writes = Literal["text", "tags", "label", "indices"]

METRICS: dict[str, Callable[[TextMetrics], Metric]] = {
    metric.name: metric for metric in (Bleu, CharacterF, EditRate, ExactMatch, SymbolError)
}

JUDGES: dict[Writes, tuple[str, ...]] = {
    "text": ("bleu", "chrf", "ter", "exact"),
    "tags": ("exact",),
    "label": ("exact",),
    "indices": ("exact",),
}
"""By what a model writes; the first is the one that tables and figures show."""

LOSS = "loss"
"""Chooses checkpoints by the validation loss, without decoding anything."""

DEFAULT = TextMetrics()
QUICK = TextMetrics(bootstrap=0)


def metrics_for(
    writes: Writes, settings: TextMetrics = DEFAULT, chosen: Optional[str] = None
) -> tuple[Metric, ...]:
    """The metrics of what a model writes, the main one first.

    If another metric of the table was chosen for training, it is that one and exact match.
    """
    names = JUDGES[writes]
    if chosen in METRICS and chosen not in names:
        names = (chosen, "exact")
    return tuple(METRICS[name](settings) for name in names)


def higher_is_better(name: str) -> bool:
    """For a name of the table or "loss"."""
    return name != LOSS and METRICS[name](DEFAULT).higher


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
