"""Choosing a device: what is here, what is not, and what a run remembers."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest
import torch
from toy import SMALL

import regard
from regard.cli import NAMES, VERBS, main
from regard.data.batch import Padded
from regard.errors import UsageError
from regard.nn.state import State
from regard.processes import devices
from regard.processes.devices import (
    chosen_device,
    find_device,
    local_device,
    on_device,
    search_precision,
    wanted_device,
)
from regard.processes.ranks import Ranks, backend
from regard.runs.facts import describe
from regard.runs.folder import Run
from regard.runs.plan import DEVICE


def test_auto_takes_cuda_then_mps_then_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for here, expected in (("cuda mps", "cuda"), ("mps", "mps"), ("", "cpu")):
        for name in ("cuda", "mps"):
            monkeypatch.setitem(devices.AVAILABLE, name, lambda n=name, h=here: n in h)
        assert find_device("auto").type == expected


def test_a_device_that_is_not_here_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(devices.AVAILABLE, "cuda", lambda: False)
    with pytest.raises(UsageError, match="torch finds no cuda device on this machine: use"):
        find_device("cuda")
    with pytest.raises(UsageError, match="'gpu' is not a device: choose auto, cpu, cuda or mps"):
        find_device("gpu")


def test_a_block_chooses_and_the_inner_one_wins() -> None:
    assert wanted_device() is None
    with on_device("cpu"), on_device(None):
        assert wanted_device() == "cpu"
    assert wanted_device() is None
    assert chosen_device().type == "cpu"


def test_the_command_line_refuses_before_it_works(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["score", str(tmp_path), "--device", "gpu"]) == 2
    assert "'gpu' is not a device" in capsys.readouterr().err


def group(local_rank: int, local_size: int, size: int = 4) -> dict[str, str]:
    """What torchrun tells a process."""
    numbers = {"LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": local_size, "WORLD_SIZE": size}
    return {name: str(number) for name, number in numbers.items()}


def test_each_process_of_torchrun_takes_a_gpu_of_its_own_and_nccl() -> None:
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert [local_device(cuda, 2, group(n, 2)).index for n in (0, 1)] == [0, 1]
    assert local_device(cuda, 1, group(0, 1)) == torch.device("cuda:0")  # one on each machine
    assert local_device(cuda, 2, {}) == cuda
    assert local_device(cpu, 0, group(3, 4)) == cpu
    assert backend(local_device(cuda, 4, group(3, 4))) == "nccl"
    assert backend(cpu) == "gloo"
    assert Ranks().with_device(torch.device("cuda", 0)).nccl is None  # alone


def test_more_processes_than_gpus_are_refused_by_all_of_them() -> None:
    for local_rank in (0, 1):
        with pytest.raises(UsageError, match="2 processes were started for 1 GPU: start torchrun"):
            local_device(torch.device("cuda"), 1, group(local_rank, 2))
    with pytest.raises(UsageError, match="Several processes cannot share mps"):
        local_device(torch.device("mps"), 0, group(0, 2))


def test_a_search_is_rounded_where_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("ant bee\ncat dog\neel fox\n")
    data, run = regard.Parallel(tmp_path / "text", tmp_path / "text"), tmp_path / "run"
    regard.train("tiny", data, run=run, steps=2, settings=SMALL, quiet=True)
    assert search_precision() == "float32"
    with on_device(None, precision="bfloat16"):
        rounded = regard.load(run)
        assert rounded.precision == "bfloat16"
        asked = list[bool]()
        read = rounded.model.start

        def start(source: Padded) -> State:
            asked.append(torch.is_autocast_enabled("cpu"))
            return read(source)

        monkeypatch.setattr(rounded.model, "start", start)
        assert isinstance(rounded("ant bee"), str)
        assert asked == [True]
    assert regard.load(run).precision == "float32"
    ask = ["translate", str(run), "--input", str(tmp_path / "text"), "--precision"]
    assert main([*ask, "bfloat16"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main([*ask, "bfloat16", "--int8"]) == 2
    assert "--int8 cannot be combined with --precision" in capsys.readouterr().err
    assert main([*ask, "float16"]) == 2
    assert "'float16' is not a precision" in capsys.readouterr().err


WITHOUT_A_DEVICE = {
    "average": "adds up weights",
    "watch": "shows what training has kept",
    "export": "checks its file against engines of the CPU",
    "import": "copies weights",
    "doctor": "reads text",
    "info": "",
    "settings": "",
    "recipes": "",
    "corpus": "",
}
"""Verbs that compute nothing with a model, or nothing that a device would make faster."""


def test_every_verb_that_computes_takes_a_device() -> None:
    without = {
        name
        for name, verb in zip(NAMES, VERBS, strict=True)
        if "device" not in signature(verb).parameters and name != "plan"
    }
    assert without == set(WITHOUT_A_DEVICE)


def test_the_device_is_kept_with_the_facts_of_a_run_and_not_in_its_config(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("ant bee\ncat dog\neel fox\n")
    data, folder = regard.Parallel(tmp_path / "text", tmp_path / "text"), tmp_path / "run"
    run = regard.train("tiny", data, run=folder, steps=1, settings=SMALL, quiet=True, device="cpu")
    assert run.facts(DEVICE) == {"device": "cpu"}
    assert "device" not in run.config.model_dump_json()
    run.save_facts(DEVICE, {"device": "cuda"})  # as if it had been trained elsewhere
    monkeypatch.setitem(devices.AVAILABLE, "cuda", lambda: False)
    assert isinstance(regard.load(folder)("ant bee"), str)
    assert describe(run)["device"] == "cuda"
    with pytest.raises(UsageError, match="torch finds no cuda device on this machine"):
        regard.train(run=folder, quiet=True)
    regard.train(run=folder, device="cpu")
    assert "trained on cuda so far: on cpu the result may differ" in capsys.readouterr().err
    assert Run.open(folder).facts(DEVICE) == {"device": "cpu"}
