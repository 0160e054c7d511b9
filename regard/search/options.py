"""What a person asks of a search, and the search that follows from it and the run's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from regard.config import check
from regard.errors import UsageError
from regard.search.base import Search
from regard.search.beam import Beam
from regard.search.sample import Sample

SEARCHED = ("beam", "length_penalty")
DRAWN = ("temperature", "top_k", "top_p", "seed")


@dataclass(frozen=True)
class SearchOptions:
    """Options of the command line; None where nothing was asked."""

    best: int = 1
    beam: Optional[int] = None
    length_penalty: Optional[float] = None
    sample: bool = False
    temperature: Optional[float] = None
    top_k: Optional[int] = None
    top_p: Optional[float] = None
    seed: Optional[int] = None

    def search(self, configured: Beam) -> Search:
        """The search of a run, changed as asked."""
        if self.sample:
            self._refuse(SEARCHED, "with --sample")
            return self._sample(configured)
        self._refuse(DRAWN, "without --sample")
        width = self.beam or max(configured.beam, self.best)
        if width == 1:
            self._refuse(("length_penalty",), "with greedy search, a beam of 1")
        chosen = {**configured.model_dump(), "beam": width, "best": self.best}
        if self.length_penalty is not None:
            chosen["length_penalty"] = self.length_penalty
        search = check(type(configured), chosen, options=True)
        return search.quick() if width == 1 else search

    def _sample(self, configured: Beam) -> Sample:
        asked = {name: getattr(self, name) for name in DRAWN}
        values = {
            "max_length_ratio": configured.max_length_ratio,
            "max_length_extra": configured.max_length_extra,
            "visits": configured.visits,
            "best": self.best,
            **{name: value for name, value in asked.items() if value is not None},
        }
        return check(Sample, values, options=True)

    def given(self) -> dict[str, object]:
        """What was asked, by the names of the options, apart from the size of the n-best list."""
        asked = {name: getattr(self, name) is not None for name in (*SEARCHED, *DRAWN)}
        return {_option(name): given for name, given in {"sample": self.sample, **asked}.items()}

    def _refuse(self, names: tuple[str, ...], case: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise UsageError(f"{_option(name)} has no effect {case}; remove it.")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
