"""Metrics of text: BLEU, chrF and TER by sacreBLEU, and exact match."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Optional

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from regard import __version__
from regard.config import Settings
from regard.errors import UsageError
from regard.metrics.base import Metric, Statistics
from regard.metrics.bootstrap import SEED

Tokenizer = Literal["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"]
DEFAULT_TOKENIZER: Tokenizer = "13a"
TOKENIZER_OF: dict[str, Tokenizer] = {
    "zh": "zh",
    "cmn": "zh",
    "yue": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}
"""For languages whose words are not separated by spaces, or not by spaces alone."""


def tokenizer_for(language: Optional[str]) -> Tokenizer:
    """sacreBLEU's tokenizer for a language, by its tag."""
    return TOKENIZER_OF.get((language or "").split("-")[0].lower(), DEFAULT_TOKENIZER)


def installed(tokenizer: Tokenizer) -> bool:
    """Whether the package that a tokenizer needs is there."""
    from sacrebleu.metrics import BLEU

    try:
        BLEU(tokenize=tokenizer)
    except (RuntimeError, ImportError):
        return False
    return True


def package(tokenizer: Tokenizer) -> str:
    """The command that installs what a tokenizer needs."""
    return f"pip install 'sacrebleu[{tokenizer.partition('-')[0]}]'"


def _check_installed(tokenizer: Optional[Tokenizer]) -> Optional[Tokenizer]:
    if tokenizer is not None and "-" in tokenizer and not installed(tokenizer):
        raise ValueError(f"it is not installed; run {package(tokenizer)}")
    return tokenizer


class TextMetrics(Settings):
    """How text is compared; the defaults are sacreBLEU's own, except that TER heeds case."""

    lowercase: bool = Field(default=False, description="Ignore case when scoring.")
    tokenize: Annotated[Optional[Tokenizer], AfterValidator(_check_installed)] = Field(
        default=None, description="sacreBLEU's tokenizer for BLEU; null: by the target language."
    )
    bootstrap: int = Field(
        default=1000, ge=0, description="Resamples for the confidence interval; 0: no interval."
    )

    def for_language(self, language: Optional[str]) -> TextMetrics:
        """With the tokenizer that a target language needs, unless one was chosen."""
        if self.tokenize is not None:
            return self
        tokenizer = tokenizer_for(language)
        if not installed(tokenizer):
            raise UsageError(
                f"BLEU of '{language}' text needs the tokenizer {tokenizer}: run "
                f"{package(tokenizer)}, or give --tokenize char."
            )
        return self.changed(tokenize=tokenizer)


class SacreMetric(Metric):
    """A metric of sacreBLEU, which keeps statistics per line for its own bootstrap.

    sacreBLEU is imported when a metric is made: it takes a quarter of a second.
    """

    def __init__(self, settings: TextMetrics) -> None:
        super().__init__(settings.bootstrap)
        self._metric = self._make(settings)

    @abstractmethod
    def _make(self, settings: TextMetrics) -> Any:
        """sacreBLEU's own object."""

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        found = self._metric._extract_corpus_statistics(list(outputs), list(map(list, references)))
        return np.array(found, dtype=np.float64)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        return float(self._metric._compute_score_from_stats(total.tolist()).score)

    def signature(self, resamples: int, references: int = 1) -> str:
        self._metric.num_refs = references
        self._metric.n_bootstrap = resamples or None
        self._metric.seed = SEED if resamples else None
        return str(self._metric.get_signature())


class Bleu(SacreMetric):
    """n-gram precision with a brevity penalty (Papineni et al. 2002)."""

    name, label, higher = "bleu", "BLEU", True

    def _make(self, settings: TextMetrics) -> Any:
        from sacrebleu.metrics import BLEU

        tokenizer = settings.tokenize or DEFAULT_TOKENIZER
        return BLEU(
            lowercase=settings.lowercase,
            tokenize=tokenizer,
            force=tokenizer == "none",  # such text is meant to be tokenised already
        )


class CharacterF(SacreMetric):
    """F2 of character n-grams (Popović 2015)."""

    name, label, higher = "chrf", "chrF", True

    def _make(self, settings: TextMetrics) -> Any:
        from sacrebleu.metrics import CHRF

        return CHRF(lowercase=settings.lowercase)


class EditRate(SacreMetric):
    """Edits per reference word, block moves included (Snover et al. 2006)."""

    name, label, higher = "ter", "TER", False

    def _make(self, settings: TextMetrics) -> Any:
        from sacrebleu.metrics import TER

        return TER(case_sensitive=not settings.lowercase)


class Percentage(Metric):
    """Something that is counted in each line, per 100 of something else."""

    details: ClassVar[str]  # in the signature

    def __init__(self, settings: TextMetrics) -> None:
        super().__init__(settings.bootstrap)
        self.lowercase = settings.lowercase

    @abstractmethod
    def count(self, output: str, reference: str) -> tuple[int, int]:
        """In one line: the number counted, and of how many."""

    def statistics(
        self, sources: Sequence[str], outputs: Sequence[str], *references: Sequence[str]
    ) -> Statistics:
        """(lines, 2): of several references, the one that is best for the output counts."""
        best = max if self.higher else min
        counts = [
            best(self.count(self._case(output), self._case(each)) for each in right)
            for output, *right in zip(outputs, *references, strict=True)
        ]
        return np.array(counts, dtype=np.float64).reshape(-1, 2)

    def from_statistics(self, total: NDArray[np.float64]) -> float:
        counted, of = total.tolist()
        return 100 * (counted / of) if of else 0.0

    def signature(self, resamples: int, references: int = 1) -> str:
        case = "lc" if self.lowercase else "mixed"
        drawn = f"bs:{resamples}|seed:{SEED}|" if resamples else ""
        return f"nrefs:{references}|{drawn}case:{case}|{self.details}|version:regard-{__version__}"

    def _case(self, text: str) -> str:
        return text.lower() if self.lowercase else text


class ExactMatch(Percentage):
    """The percentage of outputs that equal one of their references, apart from white space."""

    name, label, higher = "exact", "exact", True
    details = "space:folded"

    def count(self, output: str, reference: str) -> tuple[int, int]:
        return output.split() == reference.split(), 1
