"""What the doctor found in a corpus: counts, findings, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional

from regard.diagnosis.held import Comparison
from regard.messages import counted, percent

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Example:
    """A pair as it is in the files; the texts are shortened."""

    where: str
    source: str
    target: str


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing, as a sentence. An error is what `regard train` refuses."""

    level: Level
    kind: str
    sentence: str
    count: int = 0
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Stretch:
    """Neighbouring pairs whose sides do not belong together: file and line of the first and the
    last source; `shift` is how many lines further down their targets are, if they were found."""

    first: str
    last: str
    pairs: int
    shift: Optional[int]


@dataclass(frozen=True)
class Side:
    """The text of one side. `lengths` counts its lines by words, in steps of five."""

    name: str
    language: Optional[str]
    characters: int
    words: int
    longest: int
    lengths: Sequence[int]


@dataclass(frozen=True)
class Forecast:
    """What an epoch of training a recipe on this corpus takes on this machine: target tokens,
    seconds and bytes."""

    model: str
    parameters: int
    tokens: int
    steps: int
    seconds: float
    memory: int
    fits: bool

    @property
    def facts(self) -> list[tuple[str, str]]:
        fits = "" if self.fits else ", which is more than this machine has"
        epoch = f"{self.tokens:,} target tokens in {counted(self.steps, 'step')}"
        return [
            ("forecast model", f"{self.model} of {self.parameters:,} parameters"),
            ("forecast epoch", f"{epoch}, about {_duration(self.seconds)}"),
            ("forecast memory", f"{self.memory / 2**30:.1f} GB{fits}"),
        ]


@dataclass(frozen=True)
class Report:
    """Everything about a corpus; `damage` has the number of pairs of each kind, and the pairs of
    several kinds count for each."""

    files: tuple[str, ...]
    pairs: int
    damage: Mapping[str, int]
    damaged: int
    findings: tuple[Finding, ...]
    sides: tuple[Side, ...]
    ratio: Optional[float]
    ratios: Sequence[int]
    stretches: tuple[Stretch, ...]
    compared: tuple[Comparison, ...]
    recipe: str
    settings: tuple[str, ...] = ()
    forecast: Optional[Forecast] = None
    removed: Optional[int] = None
    cleaned: tuple[Path, ...] = field(default=())

    @property
    def errors(self) -> list[str]:
        """What `regard train` would refuse."""
        return [each.sentence for each in self.findings if each.level == "error"]

    @property
    def warnings(self) -> list[str]:
        return [each.sentence for each in self.findings if each.level == "warning"]

    @property
    def headline(self) -> str:
        if not self.pairs:
            return "No pair could be read."
        if not self.damaged:
            return f"{counted(self.pairs, 'pair')} without visible damage."
        share = percent(self.damaged, self.pairs)
        return f"{counted(self.pairs, 'pair')}, of which {self.damaged:,} ({share}) have damage."

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values for a table."""
        rows = [("pairs", f"{self.pairs:,}")]
        for side in self.sides:
            language = side.language or "language not known"
            rows.append(
                (
                    side.name,
                    f"{language}; {counted(side.words, 'word')}, "
                    f"{counted(side.characters, 'character')}; the longest line has "
                    f"{counted(side.longest, 'character')}",
                )
            )
        if self.ratio is not None:
            rows.append(("ratio", f"{self.ratio:.2f} characters of target per one of source"))
        if self.pairs:
            settings = "".join(f" --set {each}" for each in self.settings)
            rows.append(("recipe that fits", f"{self.recipe}{settings}"))
        if self.forecast is not None:
            rows += self.forecast.facts
        if self.removed is not None:
            rows.append(("cleaned copy", counted(self.pairs - self.removed, "pair")))
            removed = counted(self.removed, "pair")
            rows.append(("removed", f"{removed}, listed in {self.cleaned[-1]}"))
        return rows

    def __str__(self) -> str:
        lines = [self.headline, *(f"{name}: {value}" for name, value in self.facts[1:])]
        return "\n".join([*lines, *(f"{each.level}: {each.sentence}" for each in self.findings)])

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "cleaned": list(map(str, self.cleaned))}


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
