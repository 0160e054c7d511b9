"""Checkpoints: complete or absent, and every corruption is noticed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import RegardError
from regard.training import checkpoint as module
from regard.training.checkpoint import Checkpoints

GROUPS = ("weights", "optimizer", "average")


def save(checkpoints: Checkpoints, step: int, best: int = 0) -> None:
    groups = {name: {"a": torch.full((40,), float(step)), "b": torch.ones(2)} for name in GROUPS}
    checkpoints.save(step, groups, {"step": step}, {"config": "c", "data": {"train": ["d"]}}, best)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def checkpoints(tmp_path: Path, said: list[str]) -> Checkpoints:
    made = Checkpoints(tmp_path / "checkpoints", keep=2, say=said.append)
    made.prepare()
    return made


def test_what_was_saved_comes_back(checkpoints: Checkpoints) -> None:
    assert checkpoints.latest() is None
    assert checkpoints.best() is None
    save(checkpoints, 5)
    found = checkpoints.latest()
    assert found is not None
    assert found.step == 5
    assert found.progress() == {"step": 5}
    assert torch.equal(found.tensors("weights")["a"], torch.full((40,), 5.0))


def test_the_manifest_lists_what_the_protocol_asks_for(checkpoints: Checkpoints) -> None:
    save(checkpoints, 5)
    folder = checkpoints.folder / "step-5"
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert set(manifest["files"]) == {f"{name}.safetensors" for name in GROUPS} | {"progress.json"}
    for name, facts in manifest["files"].items():
        data = (folder / name).read_bytes()
        assert facts == {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    assert manifest["step"] == 5
    assert manifest["config"] == "c"
    assert manifest["data"] == {"train": ["d"]}
    assert manifest["regard"] == regard.__version__
    assert manifest["torch"] == torch.__version__
    assert manifest["threads"] == torch.get_num_threads()
    assert json.loads((checkpoints.folder / "latest.json").read_bytes()) == {"step": 5}


def test_the_oldest_go_but_never_the_best(checkpoints: Checkpoints) -> None:
    for step in range(1, 9):
        save(checkpoints, step, best=min(step, 3))
    assert checkpoints.steps() == [3, 7, 8]
    best = checkpoints.best()
    assert best is not None
    assert best.step == 3


def test_an_older_best_goes_when_there_is_a_better(checkpoints: Checkpoints) -> None:
    for step, best in ((1, 1), (2, 1), (3, 1), (4, 4), (5, 4)):
        save(checkpoints, step, best)
    assert checkpoints.steps() == [4, 5]


def test_without_a_best_the_latest_is_used(checkpoints: Checkpoints, said: list[str]) -> None:
    save(checkpoints, 1, best=0)
    save(checkpoints, 2, best=0)
    best = checkpoints.best()
    assert best is not None
    assert best.step == 2
    assert said == []


def test_a_corrupt_best_is_reported_and_the_latest_used(
    checkpoints: Checkpoints, said: list[str]
) -> None:
    for step in (1, 2, 3):
        save(checkpoints, step, best=1)
    (checkpoints.folder / "step-1" / "weights.safetensors").write_bytes(b"")
    best = checkpoints.best()
    assert best is not None
    assert best.step == 3
    assert len(said) == 1
    assert "corrupt" in said[0]


def test_a_corrupt_latest_falls_back_to_the_previous_one_and_says_why(
    checkpoints: Checkpoints, said: list[str]
) -> None:
    save(checkpoints, 1)
    save(checkpoints, 2)
    path = checkpoints.folder / "step-2" / "optimizer.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = checkpoints.latest()
    assert found is not None
    assert found.step == 1
    assert said == [
        f"{path} is corrupt: its hash has changed. Falling back to the previous checkpoint."
    ]


def test_after_a_fallback_the_intact_ones_are_kept_and_the_corrupt_removed(
    checkpoints: Checkpoints,
) -> None:
    checkpoints.keep = 4
    for step in (10, 20, 30, 40):
        save(checkpoints, step)
    for step in (20, 30, 40):
        (checkpoints.folder / f"step-{step}" / "manifest.json").write_bytes(b"{}")
    checkpoints.keep = 2
    save(checkpoints, 15)
    assert checkpoints.steps() == [10, 15]


def test_when_all_are_corrupt_it_says_what_to_do(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    (checkpoints.folder / "step-1" / "manifest.json").unlink()
    with pytest.raises(RegardError, match="restore the folder from a backup"):
        checkpoints.latest()


def test_every_bit_flip_and_truncation_is_refused_in_one_sentence(
    checkpoints: Checkpoints, said: list[str]
) -> None:
    """Also in the manifest itself, which no other file could vouch for."""
    save(checkpoints, 7, best=7)
    draw = random.Random(1)
    for path in sorted((checkpoints.folder / "step-7").iterdir()):
        intact = path.read_bytes()
        corruptions = [intact[: draw.randrange(len(intact))] for _ in range(20)]
        for _ in range(150):
            index, bit = draw.randrange(len(intact)), draw.randrange(8)
            flipped = bytearray(intact)
            flipped[index] ^= 1 << bit
            corruptions.append(bytes(flipped))
        for corrupt in corruptions:
            path.write_bytes(corrupt)
            said.clear()
            with pytest.raises(RegardError):
                checkpoints.latest()
            assert len(said) == 1, path.name
            assert "\n" not in said[0]
        path.write_bytes(intact)
        path.unlink()
        with pytest.raises(RegardError):
            checkpoints.latest()
        path.write_bytes(intact)
    assert checkpoints.latest() is not None


def test_a_checkpoint_under_another_name_is_refused(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    os.rename(checkpoints.folder / "step-1", checkpoints.folder / "step-2")
    with pytest.raises(RegardError):
        checkpoints.latest()


def test_a_checkpoint_that_is_saved_again_is_there_at_every_moment(
    checkpoints: Checkpoints, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(checkpoints, 5)
    found = list[int]()
    really = os.rename

    def looking(source: Path, target: Path) -> None:
        really(source, target)
        latest = Checkpoints(checkpoints.folder, say=said.append).latest()
        assert latest is not None
        assert torch.equal(latest.tensors("weights")["a"], torch.full((40,), float(latest.step)))
        found.append(latest.step)

    monkeypatch.setattr(os, "rename", looking)
    for step in (5, 10, 15, 15):
        save(checkpoints, step)
    assert found == [5, 5, 10, 15, 15, 15, 15]
    assert not said
    assert checkpoints.steps() == [10, 15]


def test_what_an_interrupted_save_left_is_cleared_away(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    (checkpoints.folder / "step-2.tmp").mkdir()
    (checkpoints.folder / "step-2.tmp" / "weights.safetensors").write_bytes(b"half")
    (checkpoints.folder / ".latest.json.tmp").write_bytes(b"{")
    checkpoints.prepare()
    assert sorted(os.listdir(checkpoints.folder)) == ["latest.json", "step-1"]


class Killed(BaseException):
    """Stands for a kill: nothing after it may run, not even what cleans up."""


class Disk:
    """Counts the file operations of a save, fails at one of them, and knows what is synced.

    A kill fails that operation and all after it; an error fails that one alone.
    """

    OPERATIONS = (
        (Path, "mkdir"),
        (Path, "open"),
        (Path, "unlink"),
        (os, "fsync"),
        (os, "rename"),
        (os, "replace"),
        (module.shutil, "rmtree"),
    )

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, number: int, kill: bool) -> None:
        self.folder, self.number, self.kill = folder, number, kill
        self.calls = 0
        self.synced = self.inodes()
        self.renames: list[tuple[Path, Path]] = []  # since the folder was synced
        for owner, name in self.OPERATIONS:
            patch.setattr(owner, name, self.guarded(getattr(owner, name), name))

    def inodes(self) -> set[int]:
        return {path.stat().st_ino for path in self.folder.rglob("*") if path.is_file()}

    def guarded(self, function: Any, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.kill and self.calls >= self.number:
                raise Killed
            if self.calls == self.number and not options.get("ignore_errors"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            existed = name == "rmtree" and Path(arguments[0]).exists()
            result = function(*arguments, **options)
            if name == "fsync":
                self.synced.add(os.fstat(arguments[0]).st_ino)
            if name == "rename":
                self.renames.append((Path(arguments[0]), Path(arguments[1])))
            if existed or (name == "fsync" and os.path.samestat(*self.stats(arguments[0]))):
                self.renames.clear()  # what is done in a folder becomes durable in order
            return result

        return call

    def stats(self, descriptor: int) -> tuple[os.stat_result, os.stat_result]:
        return os.fstat(descriptor), self.folder.stat()

    def lose_power(self) -> None:
        """What was not synced is lost: renames are undone, and new files are empty."""
        for old, new in reversed(self.renames):
            os.rename(new, old)
        for path in self.folder.rglob("*"):
            if path.is_file() and path.stat().st_ino not in self.synced:
                os.truncate(path, 0)


@pytest.mark.parametrize("again", [False, True], ids=["new", "same step again"])
@pytest.mark.parametrize("failure", ["error", "kill", "power failure"])
def test_a_failure_at_any_file_operation_of_a_save_leaves_intact_checkpoints(
    tmp_path: Path, failure: str, again: bool, said: list[str]
) -> None:
    survived = 0
    earlier = Checkpoints(tmp_path / "earlier")
    for step in (1, 2, 3):
        save(earlier, step, best=2)
    for number in range(1, 40):
        shutil.copytree(earlier.folder, tmp_path / str(number))
        checkpoints = Checkpoints(tmp_path / str(number), say=said.append)
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, checkpoints.folder, number, kill=failure != "error")
            try:
                save(checkpoints, 3 if again else 4, best=2)
                survived += 1
            except (Killed, OSError):
                pass
        if failure == "power failure":
            disk.lose_power()
        checkpoints.prepare()
        found, best = checkpoints.latest(), checkpoints.best()
        assert found is not None
        assert best is not None
        assert found.step in ((3,) if again else (3, 4))
        assert best.step == 2
        assert said == []  # no checkpoint is corrupt
        assert json.loads((checkpoints.folder / "latest.json").read_bytes())["step"] in (3, 4)
        assert not [name for name in os.listdir(checkpoints.folder) if "tmp" in name]
        assert not [name for name in os.listdir(checkpoints.folder) if "old" in name]
        save(checkpoints, 5, best=2)
        assert checkpoints.steps() == [2, found.step, 5]
    assert 5 < survived < 35  # the failures covered the whole save
