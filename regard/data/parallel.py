"""Where the pairs of a corpus come from: the files that training and evaluating are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional, Union

from regard.data.annotations import ANNOTATIONS, Annotation, Kinds
from regard.data.corpus import TEXT, Pairs, Task
from regard.errors import UsageError
from regard.metrics.table import Writes

PathLike = Union[str, Path]

FROM_FILES = tuple(kind for kind in ANNOTATIONS.values() if kind.option is not None)
"""The annotations that are read from files; each has a field in `Parallel`."""


@dataclass(frozen=True)
class Parallel:
    """Parallel text: two files of lines, or one TSV file of pairs; a language model's target alone.

    `trees` is for models that read the dependency tree of each source line, `alignments` for
    those that learn from the word alignment of each pair.
    """

    source: Optional[PathLike] = None
    target: Optional[PathLike] = None
    pairs: Optional[PathLike] = None
    trees: Optional[PathLike] = None
    alignments: Optional[PathLike] = None

    def __bool__(self) -> bool:
        """Whether there is any file."""
        paths = (self.source, self.target, self.pairs, self.trees, self.alignments)
        return any(path is not None for path in paths)

    @property
    def annotations(self) -> dict[Annotation, Path]:
        """The files that annotate the source."""
        given = {kind: getattr(self, kind.option) for kind in FROM_FILES if kind.option}
        return {kind: Path(path) for kind, path in given.items() if path is not None}

    def only(self, kinds: Kinds) -> Parallel:
        """The same without the annotations that a model does not read."""
        return replace(
            self, **{kind.option: None for kind in FROM_FILES if kind.option and kind not in kinds}
        )

    def open(self, part: str = "", task: Task = TEXT) -> Pairs:
        """`part` is the prefix of the options' names, such as "valid-", for errors."""
        if self.pairs is not None and self.source is None and self.target is None:
            return Pairs.of_tsv(Path(self.pairs), self.annotations, task)
        if self.source is not None and self.target is not None and self.pairs is None:
            files = Path(self.source), Path(self.target)
            return Pairs.of_files(*files, self.annotations, task)
        raise UsageError(
            f"Give both --{part}source and --{part}target, or one TSV file as --{part}pairs."
        )

    def open_for(
        self, reads_source: bool, kinds: Kinds, writes: Writes = "text", part: str = ""
    ) -> Pairs:
        """What a model that reads and writes this is trained on."""
        self.check_read_by(kinds, part)
        if not reads_source:
            return self._open_target(part)
        return self.open(part, Task(kinds, writes))

    def _open_target(self, part: str) -> Pairs:
        """The lines of one file, each with an empty source."""
        if self.target is None or self.source is not None or self.pairs is not None:
            raise UsageError(
                f"A language model reads no source: give its text as --{part}target alone."
            )
        return Pairs.of_target(Path(self.target))

    def check_read_by(self, kinds: Kinds, part: str = "") -> None:
        """Refuse files that lack an annotation the model reads, or have one that it does not.

        What follows from the target can only be read with it, so its file may be missing.
        """
        self._check_has([kind for kind in kinds if not kind.reads_target], part)
        for kind in self.annotations:
            if kind not in kinds:
                raise UsageError(
                    f"This model does not read {kind.description}: remove --{part}{kind.option}."
                )

    def check_teaches(self, kinds: Kinds) -> None:
        """Refuse training files that lack what the model learns from."""
        self._check_has(kinds, "")

    def _check_has(self, kinds: Iterable[Annotation], part: str) -> None:
        for kind in kinds:
            if kind.option is not None and kind not in self.annotations:
                raise UsageError(
                    f"This model reads {kind.description}: give --{part}{kind.option}."
                )


NO_FILES = Parallel()
