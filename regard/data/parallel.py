"""Where the pairs of a corpus come from: the files that training and evaluating are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional, Union

from regard.data.annotations import Annotation, DependencyTree, Kinds
from regard.data.corpus import Pairs
from regard.data.languages import Languages
from regard.errors import UsageError

PathLike = Union[str, Path]


@dataclass(frozen=True)
class Parallel:
    """Parallel text: two files of lines, or one TSV file of pairs; a language model's target alone.

    `trees` is for models that read the dependency tree of each source line. `languages` are the
    tags of source and target, such as ("en", "zh-Hant"); a run keeps those it was trained on.
    """

    source: Optional[PathLike] = None
    target: Optional[PathLike] = None
    pairs: Optional[PathLike] = None
    trees: Optional[PathLike] = None
    languages: tuple[Optional[str], Optional[str]] = (None, None)

    def __post_init__(self) -> None:
        Languages.of(*self.languages)  # refuses what is not a tag

    def __bool__(self) -> bool:
        """Whether there is any file."""
        paths = (self.source, self.target, self.pairs, self.trees)
        return any(path is not None for path in paths)

    @property
    def annotations(self) -> dict[type[Annotation], Path]:
        """The files that annotate the source."""
        return {} if self.trees is None else {DependencyTree: Path(self.trees)}

    def only(self, kinds: Kinds) -> Parallel:
        """The same without the annotations that a model does not read."""
        return self if DependencyTree in kinds else replace(self, trees=None)

    def open(self, part: str = "") -> Pairs:
        """`part` is the prefix of the options' names, such as "valid-", for errors."""
        if self.pairs is not None and self.source is None and self.target is None:
            return Pairs.of_tsv(Path(self.pairs), self.annotations)
        if self.source is not None and self.target is not None and self.pairs is None:
            return Pairs.of_files(Path(self.source), Path(self.target), self.annotations)
        raise UsageError(
            f"Give both --{part}source and --{part}target, or one TSV file as --{part}pairs."
        )

    def open_for(self, reads_source: bool, kinds: Kinds, part: str = "") -> Pairs:
        """What a model that reads this much is trained on."""
        self.check_read_by(kinds, part)
        return self.open(part) if reads_source else self._open_target(part)

    def _open_target(self, part: str) -> Pairs:
        """The lines of one file, each with an empty source."""
        if self.target is None or self.source is not None or self.pairs is not None:
            raise UsageError(
                f"A language model reads no source: give its text as --{part}target alone."
            )
        return Pairs.of_target(Path(self.target))

    def check_read_by(self, kinds: Kinds, part: str = "") -> None:
        """Refuse files that lack an annotation the model reads, or have one that it does not."""
        for kind in kinds:
            if kind not in self.annotations:
                raise UsageError(
                    f"This model reads {kind.description}: give --{part}{kind.option}."
                )
        for kind in self.annotations:
            if kind not in kinds:
                raise UsageError(
                    f"This model does not read {kind.description}: remove --{part}{kind.option}."
                )


NO_FILES = Parallel()
