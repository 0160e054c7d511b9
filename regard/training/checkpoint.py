"""Checkpoints that survive a crash at any moment: safetensors and JSON, hashed, renamed when
complete."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from regard import __version__
from regard.errors import RegardError
from regard.files import hash_file, read_json, read_sealed, sealed, sync_folder, write_json
from regard.training.shards import Part, join_shards

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """One saved step, its files verified against their hashes."""

    folder: Path
    step: int
    manifest: dict[str, Any]

    def tensors(self, name: str, part: Optional[Part] = None) -> Tensors:
        """A group of tensors on the CPU, copied, since training may remove the file; or one
        process's part of each that is sharded, whatever the number of processes that saved it."""
        files = self._files(name)
        try:
            if files == [self.folder / f"{name}.safetensors"]:
                loaded = safetensors.torch.load_file(files[0])
                return {key: each.clone() for key, each in loaded.items()}
            return join_shards(files, part)
        except (OSError, SafetensorError) as error:
            raise RegardError(f"Cannot read {name} of {self.folder} ({error}).") from None

    def progress(self) -> dict[str, Any]:
        return read_json(self.folder / "progress.json")

    def _files(self, name: str) -> list[Path]:
        """The files of a group of tensors: one, or those that the processes of a sharded run
        wrote."""
        whole = self.folder / f"{name}.safetensors"
        return [whole] if whole.exists() else sorted(self.folder.glob(f"{name}-*-of-*.safetensors"))


class Checkpoints:
    """The folder of a run's checkpoints.

    Saving: write step-N.tmp/, sync each file, write the manifest of hashes, sync, rename, sync the
    parent, replace latest.json; only then is an older checkpoint removed. Loading verifies the
    hashes and falls back to the previous checkpoint, reporting why. Each checkpoint names the best
    step so far, so that the best and the latest cannot disagree.
    """

    def __init__(self, folder: Path, keep: int = 2, say: Callable[[str], None] = print) -> None:
        self.folder = folder
        self.keep = max(2, keep)
        self.say = say

    def prepare(self) -> None:
        """Create the folder and remove what an interrupted save left behind."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for aside in self.folder.glob("step-*.old"):  # a crash between the two renames
            if not aside.with_suffix("").exists():
                os.rename(aside, aside.with_suffix(""))
        for stray in [*self.folder.glob("step-*.tmp"), *self.folder.glob("step-*.old")]:
            shutil.rmtree(stray, ignore_errors=True)
        for stray in self.folder.glob(".*.tmp"):
            stray.unlink(missing_ok=True)

    def save(
        self,
        step: int,
        groups: Mapping[str, Tensors],
        progress: Mapping[str, Any],
        facts: Mapping[str, Any],
        best: int,
    ) -> None:
        """Save named groups of tensors and the progress; `facts` are added to the manifest.

        `best` is the step of the best validation so far, 0 if there was none.
        """
        temporary = self.begin(step)
        try:
            files = write_tensors(temporary, groups)
            self.complete(step, files, progress, facts, best)
        except BaseException:
            self.abandon(step)
            raise

    def abandon(self, step: int) -> None:
        """Remove the files of a step that could not be completed."""
        shutil.rmtree(self.folder / f"step-{step}.tmp", ignore_errors=True)

    def begin(self, step: int) -> Path:
        """An empty folder for the files of a step; the checkpoint exists once it is `complete`."""
        temporary = self.folder / f"step-{step}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        return temporary

    def complete(
        self,
        step: int,
        files: Mapping[str, Any],
        progress: Mapping[str, Any],
        facts: Mapping[str, Any],
        best: int,
    ) -> None:
        """Add progress and manifest to the files that were written, and rename the folder."""
        temporary = self.folder / f"step-{step}.tmp"
        written = _write(temporary / "progress.json", json.dumps(progress).encode())
        every = {**files, "progress.json": written}
        manifest = {"step": step, "best": best, "files": every, **_versions(), **facts}
        _write(temporary / "manifest.json", json.dumps(sealed(manifest), indent=1).encode())
        sync_folder(temporary)
        self._rename(temporary, self.folder / f"step-{step}")
        write_json(self.folder / "latest.json", {"step": step})
        self._prune(step, best)

    def _rename(self, temporary: Path, final: Path) -> None:
        """Rename; an existing checkpoint of the same step is moved aside first."""
        if final.exists():
            aside = final.with_name(f"{final.name}.old")
            shutil.rmtree(aside, ignore_errors=True)
            os.rename(final, aside)
            os.rename(temporary, final)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.rename(temporary, final)
        sync_folder(self.folder)

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, oldest first."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(r"step-(\d+)(\.old)?", each.name) for each in self.folder.iterdir())
        return sorted({int(match.group(1)) for match in found if match})

    def _folder(self, step: int) -> Path:
        """Of a checkpoint; one that was moved aside counts until another has its name."""
        folder = self.folder / f"step-{step}"
        return folder if folder.exists() else folder.with_name(f"{folder.name}.old")

    def latest(self) -> Checkpoint | None:
        """The newest intact checkpoint, or None if none was ever saved."""
        steps = self.steps()
        for step in reversed(steps):
            try:
                return self._open(step)
            except RegardError as error:
                self.say(f"{error} Falling back to the previous checkpoint.")
        if steps:
            raise RegardError(
                f"No checkpoint in {self.folder} is intact: restore the folder from a backup, or "
                "remove it to train from the beginning."
            )
        return None

    def best(self) -> Checkpoint | None:
        """The checkpoint of the best validation score; without one, the latest."""
        latest = self.latest()
        if latest is None or latest.manifest["best"] in (0, latest.step):
            return latest
        try:
            return self._open(latest.manifest["best"])
        except RegardError as error:
            self.say(f"{error} Using the latest checkpoint.")
            return latest

    def last(self, count: int) -> list[Checkpoint]:
        """The newest `count` checkpoints, oldest first; each must be intact."""
        return [self._open(step) for step in self.steps()[-count:]]

    def verified(self, step: int) -> Checkpoint:
        """A checkpoint that another process has just verified."""
        return self._open(step, verify=False)

    def _open(self, step: int, verify: bool = True) -> Checkpoint:
        folder = self._folder(step)
        try:
            manifest = read_sealed(folder / "manifest.json")
            if manifest["step"] != step:
                raise RegardError(f"The manifest of {folder} belongs to another step.")
            for name, facts in manifest["files"].items():
                if verify and hash_file(folder / name) != facts["sha256"]:
                    raise RegardError(f"{folder / name} is corrupt: its hash has changed.")
            checkpoint = Checkpoint(folder, step, manifest)
            checkpoint.progress()
            return checkpoint
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise RegardError(f"Cannot read the checkpoint {folder} ({error}).") from None

    def _prune(self, saved: int, best: int) -> None:
        """Remove the oldest checkpoints, but never the best; later ones can only be corrupt."""
        steps = self.steps()
        end = steps.index(saved) + 1
        for step in steps[: max(0, end - self.keep)] + steps[end:]:
            if step != best:
                removed = self.folder / f"step-{step}.tmp"
                os.rename(self._folder(step), removed)
                shutil.rmtree(removed, ignore_errors=True)


SAVE_ERRORS = (OSError, SafetensorError, MemoryError)
"""The errors that a full disk, a read-only folder or full memory raises during a save."""


def _versions() -> dict[str, Any]:
    """What a reader of the checkpoint must know about its writer."""
    return {
        "regard": __version__,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }


def write_tensors(
    folder: Path, groups: Mapping[str, Tensors], part: Optional[Part] = None
) -> dict[str, Any]:
    """Write groups of tensors, or a part of them; returns the hash and size of each file."""
    files = {}
    for name, group in groups.items():  # one at a time: each is copied while it is written
        file = f"{name}.safetensors" if part is None else part.file(name)
        tensors = {key: tensor.cpu().contiguous() for key, tensor in group.items()}
        safetensors.torch.save_file(tensors, folder / file)
        with (folder / file).open("rb+") as stream:
            os.fsync(stream.fileno())
        size = (folder / file).stat().st_size
        files[file] = {"sha256": hash_file(folder / file), "size": size}
    return files


def _write(path: Path, data: bytes) -> dict[str, Any]:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
