"""Checkpoints that survive a kill at any moment: safetensors and JSON, hashed, renamed whole."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from regard.errors import RegardError
from regard.files import read_json, sync_folder, write_json

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """One saved moment, its files verified against their hashes."""

    folder: Path
    step: int
    manifest: dict[str, Any]

    def tensors(self, name: str) -> Tensors:
        """A group of tensors, copied, so that training does not lean on a file it may remove."""
        path = self.folder / f"{name}.safetensors"
        try:
            return {key: each.clone() for key, each in safetensors.torch.load_file(path).items()}
        except (OSError, SafetensorError) as error:
            raise RegardError(f"{path} cannot be read ({error}).") from None

    def progress(self) -> dict[str, Any]:
        return read_json(self.folder / "progress.json")


class Checkpoints:
    """The folder of a run's checkpoints.

    Saving: write step-N.tmp/, sync each file, write the manifest of hashes, sync, rename, sync
    the parent, replace the pointer; only then may an older one go. Loading verifies the hashes
    and falls back to the one before, saying why. Each checkpoint names the best so far, so that
    what is best can never be out of step with what is latest.
    """

    def __init__(self, folder: Path, keep: int = 2, say: Callable[[str], None] = print) -> None:
        self.folder = folder
        self.keep = max(2, keep)
        self.say = say

    def prepare(self) -> None:
        """Make the folder and clear away what an interrupted save left behind."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for aside in self.folder.glob("step-*.old"):  # killed between the two renames of a save
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
        """Save named groups of tensors and what else is needed to go on from this step.

        `best` is the step of the best validation so far, 0 if there was none.
        """
        final = self.folder / f"step-{step}"
        temporary = self.folder / f"step-{step}.tmp"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            listed = {}
            for name, group in groups.items():  # one at a time: each is copied while it is written
                file = f"{name}.safetensors"
                listed[file] = _write(temporary / file, safetensors.torch.save(dict(group)))
            told = json.dumps(progress).encode()
            listed["progress.json"] = _write(temporary / "progress.json", told)
            manifest: dict[str, Any] = {
                "step": step,
                "best": best,
                "files": listed,
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                **facts,
            }
            manifest["digest"] = _digest(manifest)
            _write(temporary / "manifest.json", json.dumps(manifest, indent=1).encode())
            sync_folder(temporary)
            self._put_in_place(temporary, final)
            write_json(self.folder / "latest.json", {"step": step})
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self._prune(step, best)

    def _put_in_place(self, temporary: Path, final: Path) -> None:
        """Rename; where a checkpoint of the same step stands, it moves aside first."""
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
        """The steps of which there is a checkpoint, oldest first."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(r"step-(\d+)", entry.name) for entry in self.folder.iterdir())
        return sorted(int(match.group(1)) for match in found if match)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None if there never was one."""
        steps = self.steps()
        for step in reversed(steps):
            try:
                return self._open(step)
            except RegardError as problem:
                self.say(f"{problem} Falling back to the one before.")
        if steps:
            raise RegardError(
                f"No checkpoint in {self.folder} is whole: restore the folder from a copy, or "
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
        except RegardError as problem:
            self.say(f"{problem} Using the latest checkpoint.")
            return latest

    def _open(self, step: int) -> Checkpoint:
        folder = self.folder / f"step-{step}"
        try:
            manifest = read_json(folder / "manifest.json")
            if manifest.pop("digest") != _digest(manifest):
                raise RegardError(f"{folder / 'manifest.json'} was damaged: its hash has changed.")
            if manifest["step"] != step:
                raise RegardError(f"The manifest of {folder} is of another step.")
            for name, facts in manifest["files"].items():
                if _hash(folder / name) != facts["sha256"]:
                    raise RegardError(f"{folder / name} was damaged: its hash has changed.")
            checkpoint = Checkpoint(folder, step, manifest)
            checkpoint.progress()
            return checkpoint
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise RegardError(f"The checkpoint {folder} cannot be read ({error}).") from None

    def _prune(self, saved: int, best: int) -> None:
        """Remove the oldest, but never the best; a later one can only be damaged."""
        steps = self.steps()
        place = steps.index(saved) + 1
        for step in steps[: max(0, place - self.keep)] + steps[place:]:
            if step != best:
                going = self.folder / f"step-{step}.tmp"
                os.rename(self.folder / f"step-{step}", going)
                shutil.rmtree(going, ignore_errors=True)


SAVE_ERRORS = (OSError, SafetensorError, MemoryError)
"""What a full disk, a read-only folder or full memory raises during a save."""


def _write(path: Path, data: bytes) -> dict[str, Any]:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()
