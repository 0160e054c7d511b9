"""Paths with wildcards: the files they match, and which files of two patterns belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from glob import iglob
from pathlib import Path

from regard.errors import UsageError
from regard.messages import counted

_WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]")


@dataclass(frozen=True)
class Matched:
    """A path as it was given, and the files: itself, or all that match it, sorted."""

    given: Path
    files: tuple[Path, ...]

    @staticmethod
    def of(given: Path) -> Matched:
        """A pattern that nothing matches is refused."""
        files = matching(given)
        if not files:
            raise UsageError(f"No file matches {given}: check the folder and the pattern.")
        return Matched(given, files)

    def paired(self, other: Matched) -> list[tuple[Path, Path]]:
        """Each file with the one of the other that belongs to it."""
        if len(self.files) != len(other.files):
            raise UsageError(
                f"{self.given} is {counted(len(self.files), 'file')} but {other.given} is "
                f"{counted(len(other.files), 'file')}: each file needs its counterpart."
            )
        pairs = list(zip(self.files, other.files, strict=True))
        for one, another in pairs:
            if _differ(self._filled(one), other._filled(another)):
                raise UsageError(
                    f"{one} and {another} do not belong together: the wildcards of {self.given} "
                    f"and {other.given} must stand for the same text."
                )
        return pairs

    def _filled(self, path: Path) -> tuple[str, ...]:
        """The text that the wildcards match in a path; nothing where that is ambiguous."""
        literal = map(re.escape, _WILDCARD.split(str(self.given)))
        found = re.fullmatch("(.*?)".join(literal), str(path), re.DOTALL)
        return () if found is None else found.groups()


def matching(given: Path) -> tuple[Path, ...]:
    """The path itself if it exists or has no wildcard; else the files that match it, sorted."""
    pattern = str(given)
    if not _WILDCARD.search(pattern) or given.exists():
        return (given,)
    return tuple(
        sorted(path for path in map(Path, iglob(pattern, recursive=True)) if _is_file(path))
    )


def _is_file(path: Path) -> bool:
    """Whatever is not a folder: what cannot be read is refused by its name later."""
    return not path.is_dir()


def _differ(one: Sequence[str], another: Sequence[str]) -> bool:
    """Whether the texts of as many wildcards are not the same."""
    return len(one) == len(another) and one != another
