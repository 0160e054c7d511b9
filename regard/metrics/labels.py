"""Metrics of tags and labels: accuracy, F1 of the spans that tags mark, and macro F1 of labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard import __version__
from regard.metrics.base import Metric, Statistics
from regard.metrics.bootstrap import SEED
from regard.metrics.text import ExactMatch, TextMetrics

_PREFIXED = re.compile(r"[BIES]-.+")

Span = tuple[int, int, str]
"""Where it starts, where it stops, and what it is."""


class LabelMetric(Metric):
    """What the metrics of this file share; each takes one reference."""

    details: str  # in the signature

    def __init__(self, settings: TextMetrics) -> None:
        super().__init__(settings.bootstrap)

    def signature(self, resamples: int, references: int = 1) -> str:
        drawn = f"bs:{resamples}|seed:{SEED}|" if resamples else ""
        return f"nrefs:{references}|{drawn}{self.details}|version:regard-{__version__}"


class TagAccuracy(LabelMetric):
    """The percentage of words that have the right tag."""

    name, label, higher = "tag_accuracy", "accuracy", True
    details = "unit:word"

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 2): words that are right, and words."""
        found = []
        for output, reference in zip(outputs, references[0], strict=True):
            tags = reference.split()
            right = sum(map(str.__eq__, output.split(), tags))
            found.append((right, len(tags)))
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        right, words = total.tolist()
        return 100 * right / words if words else 0.0


class LabelAccuracy(ExactMatch):
    """The percentage of lines that have the right label."""

    name, label = "accuracy", "accuracy"


class SpanF1(LabelMetric):
    """F1 of spans, such as names, that BIO or BIOES tags mark; a span counts if both of its ends
    and its type are right.

    As in CoNLL's own script, an I- or E- that continues nothing begins a span.
    """

    name, label, higher = "span_f1", "span F1", True
    details = "unit:span|average:micro|stray:begins"

    def applies(self, references: Sequence[str]) -> bool:
        tags = {tag for line in references for tag in line.split()} - {"O"}
        return bool(tags) and all(map(_PREFIXED.fullmatch, tags))

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 3): spans found that are right, spans found, and spans of the reference."""
        counts = []
        for output, reference in zip(outputs, references[0], strict=True):
            found, right = spans(output.split()), spans(reference.split())
            counts.append((len(found & right), len(found), len(right)))
        return np.array(counts, dtype=np.float64).reshape(-1, 3)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        both, found, right = total.tolist()
        return 200 * both / (found + right) if found + right else 0.0


def spans(tags: Sequence[str]) -> set[Span]:
    """The spans that a line of tags marks."""
    found, start, kind = set[Span](), None, ""
    for index, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        continues = start is not None and prefix in ("I", "E") and name == kind
        if start is not None and not continues:
            found.add((start, index, kind))
            start = None
        if not continues and prefix != "O":
            start, kind = index, name
        if start is not None and prefix in ("E", "S"):
            found.add((start, index + 1, kind))
            start = None
    return found


class MacroF1(LabelMetric):
    """The mean over labels of the F1 of each, however rare it is."""

    name, label, higher = "macro_f1", "macro F1", True
    details = "unit:line|average:macro|absent:left out"

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 3 x labels): for each label whether it is right, written, and wanted."""
        written, wanted = ([line.strip() for line in side] for side in (outputs, references[0]))
        labels = np.array(sorted({*written, *wanted}))
        is_written = np.array(written)[:, None] == labels
        is_wanted = np.array(wanted)[:, None] == labels
        return np.hstack([is_written & is_wanted, is_written, is_wanted]).astype(np.float64)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        right, written, wanted = np.split(total, 3)
        seen = written + wanted > 0
        if not seen.any():
            return 0.0
        return float(100 * (2 * right[seen] / (written + wanted)[seen]).mean())
