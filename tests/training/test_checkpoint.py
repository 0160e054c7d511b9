"""Checkpoints: whole or not there at all, and every damage noticed."""

from __future__ import annotations

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


def test_files_are_synced_before_the_rename_and_the_old_goes_last(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(checkpoints, 1)
    save(checkpoints, 2)
    order: list[str] = []
    fsync, rename, replace, rmtree = os.fsync, os.rename, os.replace, shutil.rmtree

    def name_of(descriptor: int) -> str:
        return Path(os.readlink(f"/proc/self/fd/{descriptor}")).name

    def note_sync(descriptor: int) -> None:
        order.append(f"sync {name_of(descriptor)}")
        fsync(descriptor)

    def note_rename(old: Any, new: Any) -> None:
        order.append(f"rename {Path(old).name} {Path(new).name}")
        rename(old, new)

    def note_replace(old: Any, new: Any) -> None:
        order.append(f"replace {Path(new).name}")
        replace(old, new)

    def note_removal(path: Any, ignore_errors: bool = False) -> None:
        if Path(path).exists():
            order.append(f"remove {Path(path).name}")
        rmtree(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "rename", note_rename)
    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(shutil, "rmtree", note_removal)
    save(checkpoints, 3)
    assert order == [
        "sync weights.safetensors",
        "sync optimizer.safetensors",
        "sync average.safetensors",
        "sync progress.json",
        "sync manifest.json",
        "sync step-3.tmp",
        "rename step-3.tmp step-3",
        "sync checkpoints",
        f"sync .latest.json.{os.getpid()}.tmp",
        "replace latest.json",
        "sync checkpoints",
        "rename step-1 step-1.tmp",
        "remove step-1.tmp",
    ]


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


def test_a_damaged_best_is_said_and_the_latest_used(
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


def test_a_damaged_latest_falls_back_to_the_one_before_and_says_why(
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


def test_after_a_fall_back_the_good_ones_are_kept_and_the_damaged_removed(
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


def test_when_all_are_damaged_it_says_what_to_do(checkpoints: Checkpoints) -> None:
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
        whole = path.read_bytes()
        damages = [whole[: draw.randrange(len(whole))] for _ in range(20)]
        for _ in range(150):
            place, bit = draw.randrange(len(whole)), draw.randrange(8)
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            damages.append(bytes(flipped))
        for damaged in damages:
            path.write_bytes(damaged)
            said.clear()
            with pytest.raises(RegardError):
                checkpoints.latest()
            assert len(said) == 1, path.name
            assert "\n" not in said[0]
        path.write_bytes(whole)
        path.unlink()
        with pytest.raises(RegardError):
            checkpoints.latest()
        path.write_bytes(whole)
    assert checkpoints.latest() is not None


def test_a_checkpoint_under_another_name_is_refused(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    os.rename(checkpoints.folder / "step-1", checkpoints.folder / "step-2")
    with pytest.raises(RegardError):
        checkpoints.latest()


def test_what_an_interrupted_save_left_is_cleared_away(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    (checkpoints.folder / "step-2.tmp").mkdir()
    (checkpoints.folder / "step-2.tmp" / "weights.safetensors").write_bytes(b"half")
    (checkpoints.folder / ".latest.json.tmp").write_bytes(b"{")
    checkpoints.prepare()
    assert sorted(os.listdir(checkpoints.folder)) == ["latest.json", "step-1"]


class Killed(BaseException):
    """Stands for a kill: nothing after it may run, not even what cleans up."""


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Be killed at the n-th call that changes the disk, and after it do nothing."""
    calls = 0

    def guarded(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls >= number:
                raise Killed
            return function(*arguments, **options)

        return call

    for owner, name in (
        (Path, "mkdir"),
        (Path, "open"),
        (Path, "unlink"),
        (os, "fsync"),
        (os, "rename"),
        (os, "replace"),
        (module.shutil, "rmtree"),
    ):
        monkeypatch.setattr(owner, name, guarded(getattr(owner, name)))


@pytest.mark.parametrize("again", [False, True], ids=["new", "same step again"])
def test_a_kill_at_any_call_of_a_save_leaves_a_whole_checkpoint(
    tmp_path: Path, again: bool
) -> None:
    survived = 0
    begun = Checkpoints(tmp_path / "begun")
    for step in (1, 2, 3):
        save(begun, step, best=2)
    for number in range(1, 40):
        shutil.copytree(begun.folder, tmp_path / str(number))
        checkpoints = Checkpoints(tmp_path / str(number), say=lambda text: None)
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, number)
            try:
                save(checkpoints, 3 if again else 4, best=2)
                survived += 1
            except Killed:
                pass
        checkpoints.prepare()
        found, best = checkpoints.latest(), checkpoints.best()
        assert found is not None
        assert best is not None
        assert found.step in ((3,) if again else (3, 4))
        assert best.step == 2
        assert not [name for name in os.listdir(checkpoints.folder) if "tmp" in name]
        assert not [name for name in os.listdir(checkpoints.folder) if "old" in name]
    assert 5 < survived < 30  # the kills went through the whole of a save
