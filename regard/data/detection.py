"""Which language a text is in: py3langid, which ranks 97 languages by character n-grams (Lui &
Baldwin 2012)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, Optional

MAX_CHARACTERS = 4096
"""Characters that are read; more do not change the answer."""


class LanguageDetector:
    """Ranks the languages that are asked for, or all that it knows."""

    def __init__(self, labels: Optional[Collection[str]] = None) -> None:
        """`labels` are ISO 639 codes; those that it does not know are left out."""
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier: Any = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        if labels is not None:
            known = self.labels
            self._identifier.set_languages([each for each in labels if each in known])

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(self._identifier.labels)

    def rank(self, text: str) -> list[tuple[str, float]]:
        """The languages with their probabilities, best first."""
        return list(self._identifier.rank(text[:MAX_CHARACTERS]))


@cache
def detector_of_all() -> LanguageDetector:
    """One for all languages, which takes half a second to load."""
    return LanguageDetector()
