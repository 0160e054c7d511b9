"""Where the pairs of a corpus come from: the files that training and evaluating are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Optional, Union

from regard.data.annotation import Annotation
from regard.data.annotations import ANNOTATIONS, Kinds
from regard.data.corpus import TEXT, Beside, Pairs, Portion, Task
from regard.data.formats.base import Columns
from regard.data.globs import Matched
from regard.data.languages import Languages
from regard.data.tags import TagKind
from regard.errors import UsageError
from regard.messages import counted
from regard.metrics.table import Writes

PathLike = Union[str, Path]
Paths = Union[PathLike, Sequence[PathLike]]
"""One file, or several that are read one after the other; a path may have wildcards."""

Files = list[list[tuple[Path, ...]]]
"""The files that belong together, for each time the options were given; a pattern gives several."""

_MAX_WEIGHT = 100

FROM_FILES = tuple(kind for kind in ANNOTATIONS.values() if kind.option is not None)
"""The annotations that are read from files; each has a field in `Parallel`."""


@dataclass(frozen=True)
class Parallel:
    """Parallel text: files of source and target lines, or files of pairs; a language model's target
    alone. A path may have wildcards, such as data/*.parquet.

    `trees` is for models that read the dependency tree of each source line, `alignments` for
    those that learn from word links. `columns` chooses
    source and target in files of pairs, such as `en,sv`; four names choose the columns of their
    languages as well. `weights` has a number for each file, pair
    of files or pattern of the training data: how many times an epoch has each of its pairs.
    `languages` are the tags of source and target, such as ("en", "zh-Hant"); a run keeps those it
    was trained on.
    """

    source: Optional[Paths] = None
    target: Optional[Paths] = None
    pairs: Optional[Paths] = None
    trees: Optional[Paths] = None
    columns: Optional[Union[str, Sequence[str]]] = None
    weights: Optional[Union[str, Sequence[float]]] = None
    languages: tuple[Optional[str], Optional[str]] = (None, None)
    alignments: Optional[Paths] = None

    def __post_init__(self) -> None:
        Languages.of(*self.languages)  # refuses what is not a tag

    def __bool__(self) -> bool:
        """Whether there is any file."""
        texts = (self.source, self.target, self.pairs)
        return any(map(paths_of, texts)) or bool(self.annotations)

    @property
    def annotations(self) -> dict[Annotation, tuple[Path, ...]]:
        """The files that annotate the source, one for each file of it."""
        given = {kind: paths_of(getattr(self, kind.option)) for kind in FROM_FILES if kind.option}
        return {kind: paths for kind, paths in given.items() if paths}

    def beside(self, index: int = 0) -> Beside:
        """The files that annotate one of the files of source."""
        return {kind: paths[index] for kind, paths in self.annotations.items()}

    def only(self, kinds: Kinds) -> Parallel:
        """The same without the annotations that a model does not read."""
        left_out = {kind.option for kind in FROM_FILES if kind not in kinds}
        return replace(
            self,
            trees=None if "trees" in left_out else self.trees,
            alignments=None if "alignments" in left_out else self.alignments,
        )

    def open(self, part: str = "", task: Task = TEXT) -> Pairs:
        """`part` is the prefix of the options' names, such as "valid-", for errors."""
        sources, targets, pairs = map(_matched, (self.source, self.target, self.pairs))
        if pairs and not sources and not targets:
            return self._open(_alone(pairs), part, task, holds_pairs=True)
        if sources and targets and not pairs:
            if len(sources) != len(targets):
                raise UsageError(
                    f"--{part}source is given {counted(len(sources), 'time')} but --{part}target "
                    f"{counted(len(targets), 'time')}: give as many of each, in the same order."
                )
            both = zip(sources, targets, strict=True)
            return self._open([[*one.paired(other)] for one, other in both], part, task)
        raise UsageError(
            f"Give both --{part}source and --{part}target, or a file of pairs as --{part}pairs."
        )

    def open_for(
        self,
        reads_source: bool,
        kinds: Kinds,
        writes: Writes = "text",
        part: str = "",
        tags: Optional[TagKind] = None,
    ) -> Pairs:
        """What a model that reads and writes this is trained on."""
        self.check_read_by(kinds, part)
        if not reads_source:
            return self._open_target(part)
        self._check_languages(tags, part)
        return self.open(part, Task(kinds, writes, tags))

    @property
    def has_language_columns(self) -> bool:
        return self.columns is not None and Columns.of(self.columns).has_languages

    def _check_languages(self, tags: Optional[TagKind], part: str) -> None:
        """Refuse pairs whose languages must be known and are not."""
        if tags is None or self.has_language_columns:
            return
        source, target = self.languages
        if target is None or (tags == "both" and source is None):
            raise UsageError(
                "This model translates between several languages: give the columns of the pairs' "
                f"languages, such as --{part}columns source,target,source_language,"
                "target_language, or their language."
            )

    def _open_target(self, part: str) -> Pairs:
        """The lines of target files, each with an empty source."""
        targets = _matched(self.target)
        if not targets or paths_of(self.source) or paths_of(self.pairs):
            raise UsageError(
                f"A language model reads no source: give its text as --{part}target alone."
            )
        return self._open(_alone(targets), part, TEXT)

    def _open(self, given: Files, part: str, task: Task, holds_pairs: bool = False) -> Pairs:
        if not holds_pairs:
            self.refuse_columns(part)
        if part:
            self.refuse_weights()
        files = list(chain.from_iterable(given))
        if len(set(files)) < len(files):
            twice = next(each for each in files if files.count(each) > 1)
            raise UsageError(f"{twice[0]} is given twice: repeat its pairs with --weights instead.")
        for kind, paths in self.annotations.items():
            if len(paths) != len(files):
                raise UsageError(
                    f"--{part}{kind.option} is given {counted(len(paths), 'time')} for "
                    f"{counted(len(files), 'file')}: give one for each, in the same order."
                )
        columns = None if self.columns is None else Columns.of(self.columns, f"{part}columns")
        weights, languages = self._weights(given), Languages.of(*self.languages)
        known = languages if any(languages) else None
        return Pairs(
            [
                Portion(each, self.beside(index), holds_pairs, columns, weights[index], known)
                for index, each in enumerate(files)
            ],
            task,
        )

    def _weights(self, files: Files) -> list[Fraction]:
        """The weight of each file; all that match a pattern have the one of the pattern."""
        count = len(files)
        if self.weights is None:
            return [Fraction(1) for each in files for _ in each]
        given = self.weights.split(",") if isinstance(self.weights, str) else self.weights
        try:
            weights = tuple(Fraction(str(each).strip()) for each in given)
        except (ValueError, ZeroDivisionError):
            weights = ()
        if len(weights) != count or not all(0 < each <= _MAX_WEIGHT for each in weights):
            which = "the file" if count == 1 else f"each of the {count} {_named(files)}"
            example = ",".join(["1", "3", "0.5", "2"][:count]) if count > 1 else "2"
            raise UsageError(
                f"--weights needs one number above 0 and up to {_MAX_WEIGHT} for {which}, such as "
                f"{example}."
            )
        return [weight for weight, each in zip(weights, files, strict=True) for _ in each]

    def refuse_columns(self, part: str = "") -> None:
        """Columns are those of files of pairs."""
        if self.columns is not None:
            raise UsageError(f"--{part}columns has no effect without --{part}pairs; remove it.")

    def refuse_weights(self) -> None:
        """Weights say how often a pair is trained on, and nothing else."""
        if self.weights is not None:
            raise UsageError("Weights have an effect on training data only; remove them.")

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


def check_parallel(
    data: Optional[Parallel],
    valid: Optional[Parallel] = None,
    test: Optional[Parallel] = None,
) -> None:
    """Refuse anything else that a Python caller may pass, such as the name of a file, and what is
    chosen of files that are not given."""
    for part, given in (("", data), ("valid-", valid), ("test-", test)):
        if given is not None and not isinstance(given, Parallel):
            raise UsageError(
                f"{given!r} does not say which side it is: give the files as "
                "Parallel(source, target)."
            )
        if given is not None and not given:
            given.refuse_columns(part)
            given.refuse_weights()


def paths_of(given: Optional[Paths]) -> tuple[Path, ...]:
    """The files, whether none, one, several or patterns were given."""
    return tuple(path for each in _matched(given) for path in each.files)


def _matched(given: Optional[Paths]) -> list[Matched]:
    """The files that each path or pattern matches."""
    if given is None:
        return []
    paths = [given] if isinstance(given, (str, Path)) else given
    return [Matched.of(Path(path)) for path in paths]


def _alone(given: Iterable[Matched]) -> Files:
    return [[(path,) for path in each.files] for each in given]


def _named(files: Files) -> str:
    """What needs a weight each."""
    return "files" if all(len(each) == 1 for each in files) else "files and patterns"


NO_FILES = Parallel()
