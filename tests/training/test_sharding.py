"""Models divided among processes: they learn and write what whole ones do, and their checkpoints
load on any number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import torch
from toy import output, train_small

import regard.training.records
from regard.errors import RegardError, UsageError
from regard.models import Architecture
from regard.processes.ranks import Ranks
from regard.training.checkpoint import Checkpoint, Checkpoints, write_tensors
from regard.training.display import Display
from regard.training.journal import Journal
from regard.training.progress import Progress
from regard.training.records import Records
from regard.training.shards import Part, join_shards

Corpus = dict[str, Path]
SCRIPT = Path(__file__).parent / "sharding_script.py"


def test_every_family_learns_and_writes_the_same_when_it_is_sharded(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(SCRIPT), str(rank), str(tmp_path / "meet")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]
    for process in processes:
        said = output(process)
        assert process.returncode == 0, said
        families = [member.miniatures()[0].kind for member in get_args(get_args(Architecture)[0])]
        assert said.split() == families


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_shards_of_any_number_of_processes_are_read_by_any_other(tmp_path: Path, size: int) -> None:
    torch.manual_seed(1)
    whole = {"a": torch.randn(7, 3), "b": torch.randn(2), "one": torch.randn(1, 4)}
    for rank in range(3):
        part = Part(rank, 3)
        group = {name: tensor[slice(*part.rows(len(tensor)))] for name, tensor in whole.items()}
        counts = {"steps": torch.tensor(3.0)} if rank == 0 else {}
        write_tensors(tmp_path, {"weights": {**group, **counts}}, part)
    assert len(list(tmp_path.iterdir())) == 3
    checkpoint = Checkpoint(tmp_path, 1, {})
    joined = checkpoint.tensors("weights")
    assert joined.pop("steps") == 3
    assert all(torch.equal(joined[name], tensor) for name, tensor in whole.items())
    parts = [checkpoint.tensors("weights", Part(rank, size)) for rank in range(size)]
    assert all(part.pop("steps") == 3 for part in parts)
    for name, tensor in whole.items():
        assert torch.equal(torch.cat([part[name] for part in parts]), tensor)
    files = sorted(tmp_path.iterdir())
    assert join_shards(files, Part(0, 9))["a"].shape == (1, 3)


def test_a_part_that_cannot_be_saved_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    records = Records(Checkpoints(tmp_path), journal, Display(quiet=True), {}, lambda plan: None)
    good = {"weights": {"a": torch.ones(3, 2)}}
    assert records.save_sharded(Progress(step=5), good, True, Ranks())
    assert Checkpoints(tmp_path).steps() == [5]

    bad = {"weights": {"a": torch.full((3, 2), torch.nan)}}
    with pytest.raises(RegardError, match="weights of step 6 are not finite and were not saved"):
        records.save_sharded(Progress(step=6), bad, False, Ranks())

    def fill_the_disk(*given: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(regard.training.records, "write_tensors", fill_the_disk)
    assert not records.save_sharded(Progress(step=7), good, False, Ranks())
    with pytest.raises(RegardError, match=r"No space left on device.: free some space"):
        records.save_sharded(Progress(step=7), good, True, Ranks())
    assert Checkpoints(tmp_path).steps() == [5]
    assert not list(tmp_path.glob("*.tmp"))


def test_what_cannot_be_sharded_is_refused(tmp_path: Path, corpus: Corpus) -> None:
    shard = "training.shard=true"
    with pytest.raises(UsageError, match="muon needs whole matrices"):
        train_small(tmp_path / "a", corpus, shard, "training.optimizer.kind=muon")
    with pytest.raises(UsageError, match="shard=true needs several processes: start them"):
        train_small(tmp_path / "b", corpus, shard, "training.processes=1")
    assert not (tmp_path / "b").exists()
