"""The files of a corpus, which never replace those of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.errors import UsageError
from regard.files import write_text


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made, before a corpus is generated for it."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is a file: choose a folder.")


def write_files(folder: Path, files: Mapping[str, Sequence[str]]) -> None:
    """Write the lines of each file; writing the same corpus again changes nothing."""
    texts = {folder / name: "".join(f"{line}\n" for line in files[name]) for name in files}
    for path, text in texts.items():
        if path.exists() and not (path.is_file() and path.read_bytes() == text.encode("utf-8")):
            raise UsageError(
                f"{path} exists with different content: choose another folder, or delete the files "
                "of the other corpus."
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_text(path, text)
