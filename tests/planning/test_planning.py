"""Plans: exact where they can be, and consistent everywhere else."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard import Parallel, UsageError
from regard.cli import main
from regard.planning import rehearsal
from regard.planning.accelerators import KNOWN, clock_of
from regard.planning.estimate import Memory, Speed, sending_seconds
from regard.planning.plan import read_count
from regard.planning.rehearsal import Cost, Operation, Rehearsal, Trace
from regard.planning.workload import AssumedWorkload, sampled
from regard.recipes import RECIPES, find_recipe
from regard.recipes.config import Config

MINIATURE = ["model.layers=1", "model.width=16", "model.inner=32", "model.heads=2"]
FEW = [*MINIATURE, "tokenizer.vocabulary=300", "batch.tokens=400"]


def sample_of(config: Config, folder: Path) -> Parallel:
    """A little data that a recipe can be trained on."""
    names = {kind.name for kind in config.annotations}
    lines = [f"w{number % 17} x{number % 5} y" for number in range(30)]
    if "sentences" in names:
        lines = [f"{line} ||| {line}" for line in lines]
    elif "pixels" in names:
        lines = [" ".join(f"0,9,{number},255" for _ in range(16)) for number in range(30)]
    elif "numbers" in names:
        lines = [f"0.1,0.{number} 0.3,0.4 0.2,0.7" for number in range(30)]
    written = {"tags": "A B A", "label": "yes", "indices": "1 2 3"}.get(config.writes, "u v w")
    targets = [written if number % 2 else written[::-1] for number in range(30)]
    for name, content in (("source", lines), ("target", targets), ("links", ["0-0"] * 30)):
        (folder / name).write_text("\n".join(content) + "\n")
    if not config.reads_source:
        return Parallel(target=folder / "target")
    links = folder / "links" if "fertility" in names else None
    return Parallel(folder / "source", folder / "target", alignments=links)


@pytest.mark.parametrize("name", RECIPES)
def test_parameters_are_those_of_a_run(name: str, tmp_path: Path) -> None:
    config = find_recipe(name)
    data = sample_of(config, tmp_path)
    with sampled(config, data) as workload, torch.device("meta"):
        planned = Rehearsal(config, workload.sizes, torch.device("meta")).parameters
        source, target = (int(side.max()) + 1 for side in ids_of(workload))
        model = config.model.build(*workload.sizes)
    assert planned == sum(each.numel() for each in model.parameters())
    assert source <= workload.sizes[0] or not config.reads_source
    assert target <= workload.sizes[1]


def ids_of(workload: Any) -> tuple[Any, Any]:
    batch = workload.batch(0)
    source = batch.source.values
    return source if source.numel() else torch.zeros(1), batch.target.values


def test_a_plan_has_the_parameters_of_the_run_that_training_makes(tmp_path: Path) -> None:
    data = sample_of(find_recipe("tiny"), tmp_path)
    run = regard.train("tiny", data, run=tmp_path / "run", steps=1, settings=FEW, quiet=True)
    estimate = regard.plan("tiny", data, device="l4", settings=FEW)
    weights = run.checkpoints().latest().tensors("weights")  # type: ignore[union-attr]
    assert estimate.parameters == sum(each.numel() for each in weights.values())
    assert estimate.pairs == len(run.store("train"))
    assert estimate.memory.weights == sum(each.nbytes for each in weights.values())
    moments = run.checkpoints().latest().tensors("optimizer")  # type: ignore[union-attr]
    assert estimate.memory.optimizer == sum(each.nbytes for each in moments.values())


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ("base", "big")])
def test_assumed_batches_can_be_trained_on(name: str) -> None:
    config = find_recipe(name)
    workload = AssumedWorkload(config, 12, 10)
    step = Rehearsal(config, workload.sizes, torch.device("cpu"))
    step.take(workload.batch(workload.quantile(0.5)).rows(0, 2))
    assert all(bool(each.isfinite().all()) for each in step.model.parameters())


def test_costs_grow_linearly_with_the_rows() -> None:
    config = find_recipe("tiny").changed(model={"kind": "transformer", "width": 32, "inner": 64})
    workload = AssumedWorkload(config, 12, 10)
    step = Rehearsal(config, (500, 500), torch.device("cpu"))
    batch = workload.batch(workload.quantile(0.5)).rows(0, 90)
    batch.source.values.clamp_(max=499)
    batch.target.values.clamp_(max=499)
    step.take(batch.rows(0, 2))
    cost = Cost(step.trace(batch.rows(0, 30)), step.trace(batch.rows(0, 60)), 30, 60)
    direct = step.trace(batch)
    assert cost.flops(90) == pytest.approx(direct.flops, rel=0.02)
    assert cost.peak(90) == pytest.approx(direct.peak, rel=0.1)
    moved = sum(each.moved for each in cost.operations(90))
    assert moved == pytest.approx(sum(each.moved for each in direct.operations), rel=0.1)


def test_an_operation_takes_as_long_as_what_holds_it_up() -> None:
    device = KNOWN["l4"]
    product, copy, start = (
        Operation("product", 1e12, 1e6),
        Operation("copy", 0.0, 1e9),
        Operation("start", 0.0, 8.0),
    )
    cost = Cost(Trace([product, copy, start]), Trace([product, copy, start]), 5, 10)
    expected = 1e12 / (0.5 * device.float32) + 1e9 / (0.8 * device.bandwidth) + device.launch
    assert cost.seconds(10, device, 0.5, 0.8) == pytest.approx(expected)


def test_memory_of_shards_and_time_of_sending() -> None:
    memory = Memory(8e9, 8e9, 16e9, 8e9, 2e9, 1e9, gathered=2e9)
    assert memory.total == 43e9
    assert memory.sharded(8) == pytest.approx(40e9 / 8 + 2e9 + 2e9 + 1e9)
    assert sending_seconds(8e9, 1, 1e9, sharded=False) == 0
    assert sending_seconds(8e9, 8, 1e9, sharded=False) == pytest.approx(2 * 7 / 8 * 8)
    assert sending_seconds(8e9, 8, 1e9, sharded=True) == pytest.approx(3 * 7 / 8 * 8)
    hidden, exposed = (Speed(1, 90, 3.0, sending, 0.5, 0.5) for sending in (1.0, 4.0))
    assert (hidden.seconds, exposed.seconds) == (3.0, 5.0)
    assert exposed.tokens_per_second == 18.0


def test_the_command_line_prints_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "tiny", "--pairs", "100M", "--device", "a100", "--count", "8", "--price", "2"]
    asked += [part for each in FEW for part in ("--set", each)]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fits"]
    assert not found["sharded"]
    assert found["cost"] == pytest.approx(2 * found["device_hours"])
    assert found["device_hours"] == pytest.approx(8 * found["hours"])
    seconds = found["speed"]["tokens"] / found["speed"]["tokens_per_second"]
    assert found["hours"] == pytest.approx(found["steps"] * seconds / 3600)
    tokens = found["steps"] * found["speed"]["tokens"]
    assert tokens == pytest.approx(30 * 100e6 * found["tokens_per_pair"], rel=0.01)
    assert main(asked) == 0
    assert "8 x a100, 80.00 GB each" in capsys.readouterr().out


def test_what_does_not_fit_is_sharded_or_made_smaller() -> None:
    large = [*FEW, "batch.tokens=400000000"]
    one = regard.plan("tiny", pairs=10**6, device="t4", settings=large)
    assert not one.fits
    assert "set batch.tokens to" in one.advice[0]
    fitting = int(one.advice[0].split("batch.tokens to ")[1].split()[0])
    smaller = [*large, f"batch.tokens={fitting}"]
    assert regard.plan("tiny", pairs=10**6, device="t4", settings=smaller).fits


def test_a_device_of_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "REHEARSAL_SECONDS", 0.1)
    estimate = regard.plan("tiny", pairs=1000, device="cpu", settings=FEW, steps=10)
    assert estimate.steps == 10
    assert 0 < estimate.speed.share < 2
    assert estimate.memory.runtime > 50e6  # Python and torch


def test_one_thread_is_timed_by_a_clock_that_other_programs_do_not_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu = torch.device("cpu")
    began = clock_of(cpu)()
    time.sleep(0.3)
    assert clock_of(cpu)() - began < 0.1
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert clock_of(cpu) is clock_of(torch.device("cuda")) is time.perf_counter


@pytest.mark.parametrize(
    ("text", "count"), [("29000", 29000), ("30k", 30_000), ("4.5M", 4_500_000), ("2B", 2 * 10**9)]
)
def test_counts(text: str, count: int) -> None:
    assert read_count(text) == count


@pytest.mark.parametrize("text", ["", "many", "-3", "0", "1e9", "3T"])
def test_wrong_counts(text: str) -> None:
    with pytest.raises(UsageError, match="write 30000, 30k or 100M"):
        read_count(text)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["plan", "tiny"], "Say how large the corpus is"),
        (["plan", "tiny", "--pairs", "1k", "--device", "a10"], "There is no device 'a10'"),
        (["plan", "tinny", "--pairs", "1k"], "There is no recipe 'tinny'"),
        (["plan", "tiny", "--pairs", "1k", "--steps", "3", "--epochs", "2"], "exactly one"),
    ],
)
def test_wrong_plans(asked: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 2
    assert said in capsys.readouterr().err


def test_the_page_shows_the_devices() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "verbs" / "plan.md"
    text = page.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)`.*?\| (.*) \|$", text, flags=re.MULTILINE)
    shown = {name: cells.split(" | ") for name, cells in rows if name in KNOWN}
    assert shown.keys() == KNOWN.keys()
    for name, cells in shown.items():
        device = KNOWN[name]
        short = "–" if device.bfloat16 is None else f"{device.bfloat16 / 1e12:.4g} TFLOP/s"
        assert cells == [
            f"{device.memory / 1e9:.4g} GB",
            f"{device.float32 / 1e12:.4g} TFLOP/s",
            short,
            f"{device.bandwidth / 1e9:,.0f} GB/s",
            f"{device.link / 1e9:,.0f} GB/s",
        ]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--source=empty", "--target=empty"], "empty is empty"),
        (["--sample=empty"], "empty is empty"),
        (["--sample=nowhere"], "Cannot read nowhere"),
        (["--pairs=1k", "--device=h200"], "no device 'h200'"),
        (["--sample=empty", "--device=h200"], "no device 'h200'"),
        (["--sample=some", "--source-tokens=9"], "no effect with a sample"),
    ],
)
def test_nothing_is_measured_before_the_inputs_are_checked(
    asked: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measured(device: torch.device) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr("regard.planning.accelerators.measured", measured)
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("some").write_text("a\tb\n" * 30, encoding="utf-8")
    assert main(["plan", "tiny", *asked]) == 2
    assert says in capsys.readouterr().err
