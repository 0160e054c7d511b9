"""A cleaned copy of a corpus, and a list of everything that was removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Optional

from regard.data.corpus import Entry, Portion
from regard.data.text import Bad, Content
from regard.diagnosis.blocks import Block
from regard.diagnosis.kinds import Marks, names_of
from regard.errors import UsageError
from regard.files import writing

REMOVED = "removed.tsv"
HEADER = "file\tline\treason\ttext\n"
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst", ".zstd")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n"})


class Cleaner:
    """Writes the pairs without damage to a folder, and the others to `removed.tsv`.

    Files of lines keep their names, without the suffix of a compression; files of pairs become
    TSV. All of them appear when everything is written, and none if something fails.
    """

    def __init__(self, folder: Path, portions: Sequence[Portion], read: Iterable[Path]) -> None:
        """`read` are the files of these portions and all others that are read."""
        self._portions = portions
        self._names = [_names(portion) for portion in portions]
        self.paths = [folder / name for names in self._names for name in names]
        _check(self.paths, folder, read)
        self._folder = folder
        self._stack = ExitStack()
        self._streams: list[list[BinaryIO]] = []
        self.kept = self.removed = 0

    def __enter__(self) -> Cleaner:
        self._folder.mkdir(parents=True, exist_ok=True)
        open_ = self._stack.enter_context
        self._list = open_(writing(self._folder / REMOVED))
        self._streams = [
            [open_(writing(self._folder / name)) for name in names] for names in self._names
        ]
        self._list.write(HEADER.encode())
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def written(self) -> list[Path]:
        """The files, once they are complete."""
        return [*self.paths, self._folder / REMOVED]

    def write(self, block: Block, marks: Marks) -> None:
        """The pairs without marks are kept."""
        portion = self._portions[block.portion]
        streams = self._streams[block.portion]
        for number, (entry, bits) in enumerate(zip(block.entries, marks.tolist(), strict=True)):
            if bits:
                self.removed += 1
                self._remove(portion, entry, block.number + number, names_of(bits)[0])
                continue
            self.kept += 1
            for stream, text in zip(streams, _kept(portion, entry), strict=True):
                stream.write(f"{text}\n".encode())

    def _remove(self, portion: Portion, entry: Entry, number: int, kind: str) -> None:
        """A row for each line; what cannot be used has no text here, but for a usable side."""
        record, reason = entry.record, kind if entry.bad is None else entry.bad.value
        texts: list[Content] = [record.source, record.target]
        wheres = [portion.where(side, record.line) for side in (0, 1)]
        if len(portion.files) == 1 and not portion.holds_pairs:
            texts, wheres = texts[1:], wheres[1:]
        texts += entry.beside
        wheres += [f"{path}:{number}" for path in portion.annotations.values()]
        for where, text in zip(wheres, texts, strict=True):
            path, line = where.rsplit(":", 1)
            shown = "" if isinstance(text, Bad) else text.translate(_ESCAPES)
            row = f"{path.translate(_ESCAPES)}\t{line}\t{reason}\t{shown}\n"
            self._list.write(row.encode("utf-8", "replace"))


def _names(portion: Portion) -> list[str]:
    """Of the cleaned copies of a portion's files."""
    names = [_plain(path) for path in portion.files]
    if portion.holds_pairs:
        names = [f"{Path(name).stem}.tsv" for name in names]
    return names + [_plain(path) for path in portion.annotations.values()]


def _plain(path: Path) -> str:
    return path.stem if path.suffix.lower() in _COMPRESSED else path.name


def _check(paths: Sequence[Path], folder: Path, read: Iterable[Path]) -> None:
    """Refuse to write two files to one, or over one that is read."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: choose a folder for the cleaned copy.")
    twice = [path for path in paths if paths.count(path) > 1 or path.name == REMOVED]
    if twice:
        raise UsageError(
            f"Two files would become {twice[0]}: rename one of them, or clean them one by one."
        )
    given = {path.resolve() for path in read}
    for path in (*paths, folder / REMOVED):
        if path.resolve() in given:
            raise UsageError(
                f"{path} is one of the files that are read: choose another folder for the cleaned "
                "copy."
            )


def _kept(portion: Portion, entry: Entry) -> list[str]:
    """What the cleaned copies have of a pair."""
    record = entry.record
    source, target = str(record.source), str(record.target)
    beside = list(map(str, entry.beside))
    if not portion.holds_pairs:
        sides = [source, target] if len(portion.files) == 2 else [target]
        return sides + beside
    cells = [source, target]
    if portion.columns is not None and portion.columns.has_languages and record.languages:
        cells += [each or "" for each in record.languages]
    return ["\t".join(cell.replace("\t", " ") for cell in cells), *beside]
