"""The clock decides: budgets in minutes are kept, and saves and validations come in time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from clocks import Clock, still_clock, ticking_clock
from toy import Crash, at_step, crash, journal, saved_steps, tensors, terminate, train_small

import regard
from regard.errors import Interrupted, UsageError
from regard.runs.folder import Run
from regard.runs.plan import load_plan
from regard.training.plan import Plan
from regard.training.settings import TrainingSettings
from regard.training.timekeeper import Timekeeper

Corpus = dict[str, Path]

EVERY_HUNDRED = TrainingSettings(validate_every=100, save_every=100)


def simulate(
    plan: Plan,
    step_seconds: Any,
    validation: float = 3.0,
    save: float = 0.5,
    settings: TrainingSettings = EVERY_HUNDRED,
) -> tuple[Plan, float, list[int]]:
    """Train on a machine whose steps take what `step_seconds(now)` says: the plan in the end, how
    long it took, and the steps that were validated."""
    clock = Clock()
    time = Timekeeper(settings, clock=clock)
    step, validated = 0, list[int]()
    while step < plan.steps:
        step += 1
        decision = time.decide(plan, step, bool(validated))
        with time.stepping():
            clock.now += step_seconds(clock.now)
        plan = plan.after(step, decision.steps, decision.validate)
        last = step == plan.steps
        if last:
            with time.saving():
                clock.now += save
        if last or step in plan.validations or step % settings.validate_every == 0:
            with time.validating():
                clock.now += validation
            validated.append(step)
        if last or decision.save or step % settings.save_every == 0:
            with time.saving():
                clock.now += save
    return plan, clock.now, validated


@pytest.mark.parametrize("really", [0.02, 0.1, 0.13, 0.5])
@pytest.mark.parametrize("validation", [0.2, 6.0])
def test_a_budget_in_minutes_is_kept_whatever_the_machine_does(
    really: float, validation: float
) -> None:
    planned = Plan.of(round(0.9 * 120 / 0.1), limit=120.0)
    plan, seconds, validated = simulate(planned, lambda now: really, validation)
    assert 0.9 * 120 <= seconds <= 1.05 * 120
    assert validated[-1] == plan.steps


def test_a_machine_that_becomes_slower_and_faster_keeps_the_budget_too() -> None:
    planned = Plan.of(2700, limit=300.0)
    _, seconds, _ = simulate(planned, lambda now: 0.1 if now < 100 or now > 200 else 0.4)
    assert 0.9 * 300 <= seconds <= 1.05 * 300


def test_a_plan_that_turns_out_right_is_not_revised_often() -> None:
    planned = Plan.of(2700, limit=300.0)
    plan, _, _ = simulate(planned, lambda now: 0.1)
    assert len(plan.parts) < 15


def test_the_first_validation_comes_within_two_minutes_even_if_steps_are_slow() -> None:
    settings = TrainingSettings(validate_every=500, save_every=500)
    _, _, validated = simulate(Plan.of(600), lambda now: 5.0, settings=settings)
    assert 120 <= 5 * validated[0] <= 135
    assert validated[1:] == [500, 600]


def test_checkpoints_are_saved_within_a_minute_and_then_every_five() -> None:
    clock = Clock()
    time = Timekeeper(TrainingSettings(), clock=clock)
    saved = []
    for step in range(1, 100):
        clock.now += 10.0
        if time.decide(Plan.of(1000), step, validated=True).save:
            with time.saving():
                saved.append(clock.now)
    assert saved == [60.0, 360.0, 660.0, 960.0]


def test_the_time_left_counts_the_validations_to_come() -> None:
    clock = Clock()
    time = Timekeeper(TrainingSettings(validate_every=100, save_every=1000), clock=clock)
    with time.stepping():
        clock.now += 0.1
    plain = time.left(Plan.of(200), 100)
    with time.validating():
        clock.now += 20
    assert plain == pytest.approx(100 * 0.1 + 2)
    assert time.left(Plan.of(200), 100) == pytest.approx(100 * 0.1 + 20 + 2)
    assert time.left(Plan.of(350), 100) == pytest.approx(250 * 0.1 + 2 * 20 + 20 + 2)


def train_minutes(run: Path, corpus: Corpus) -> Run:
    return train_small(run, corpus, "training.validate_every=1000", steps=None, minutes=1)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a minute has room for some 30 steps, though 100 were expected."""
    monkeypatch.setattr("regard.runs.plan.seconds_per_step", lambda *arguments: 0.54)
    monkeypatch.setattr("regard.training.trainer.Timekeeper", ticking_clock(0.3))


@pytest.mark.usefixtures("slow")
def test_revisions_are_stored_and_a_resumed_run_repeats_them(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_step(25, crash), pytest.raises(Crash):
        train_minutes(tmp_path / "broken", corpus)
    revised = load_plan(Run.open(tmp_path / "broken"))
    assert len(revised.parts) > 1
    assert revised.validations  # the first one came early
    monkeypatch.setattr("regard.training.trainer.Timekeeper", still_clock)
    shutil.copytree(tmp_path / "broken", tmp_path / "again")
    train_minutes(tmp_path / "broken", corpus)
    shutil.rmtree(tmp_path / "again" / "checkpoints")  # repeats everything from the beginning
    train_minutes(tmp_path / "again", corpus)
    assert load_plan(Run.open(tmp_path / "broken")) == revised
    assert tensors(tmp_path / "broken", revised.steps) == tensors(tmp_path / "again", revised.steps)
    assert journal(tmp_path / "broken") == journal(tmp_path / "again")
    recorded = [each for each in journal(tmp_path / "again") if each["event"] == "plan"]
    assert [each["step"] for each in recorded] == [part.after for part in revised.parts[1:]]


@pytest.mark.usefixtures("slow")
def test_the_last_step_is_saved_before_it_is_validated(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise Crash

    monkeypatch.setattr("regard.runs.validate.by_length", fail)
    with pytest.raises(Crash):
        train_small(tmp_path / "run", corpus, steps=4)
    assert saved_steps(tmp_path / "run") == [4]
    monkeypatch.undo()
    train_small(tmp_path / "run", corpus, steps=4)
    validations = [each for each in journal(tmp_path / "run") if each["event"] == "validation"]
    assert [each["step"] for each in validations] == [4]


def test_a_finished_run_is_trained_longer_and_resumes_exactly(
    tmp_path: Path, corpus: Corpus
) -> None:
    for name in ("whole", "broken"):
        train_small(tmp_path / name, corpus, steps=4, save_every=2)
    regard.train(run=tmp_path / "whole", steps=6, more=True, quiet=True)
    with at_step(3, crash), pytest.raises(Crash):
        regard.train(run=tmp_path / "broken", steps=6, more=True, quiet=True)
    with at_step(1, terminate), pytest.raises(Interrupted):
        regard.train(run=tmp_path / "broken", quiet=True)
    regard.train(run=tmp_path / "broken", steps=6, more=True, quiet=True)  # resumes, adds nothing
    assert load_plan(Run.open(tmp_path / "broken")).steps == 10
    assert tensors(tmp_path / "broken", 10) == tensors(tmp_path / "whole", 10)
    regard.train(run=tmp_path / "broken", steps=6, more=True, quiet=True)
    assert load_plan(Run.open(tmp_path / "broken")).steps == 16
    assert saved_steps(tmp_path / "broken")[-1] == 16


def test_more_minutes_and_epochs(tmp_path: Path, corpus: Corpus) -> None:
    train_small(tmp_path / "run", corpus, steps=4)
    regard.train(run=tmp_path / "run", epochs=1, more=True, quiet=True)
    steps = load_plan(Run.open(tmp_path / "run")).steps
    assert steps > 4
    regard.train(run=tmp_path / "run", minutes=0.02, more=True, quiet=True)
    plan = load_plan(Run.open(tmp_path / "run"))
    assert plan.limit is not None
    assert plan.steps > steps


def test_what_more_cannot_do_is_refused(tmp_path: Path, corpus: Corpus) -> None:
    run = tmp_path / "run"
    train_small(run, corpus, steps=2)
    refused = {
        "how much longer": {},
        "one budget only": {"steps": 2, "minutes": 1.0},
        "keeps the recipe": {"recipe": "tiny", "steps": 2},
    }
    for sentence, given in refused.items():
        with pytest.raises(UsageError, match=sentence):
            regard.train(run=run, more=True, quiet=True, **given)  # type: ignore[arg-type]
    with at_step(1, crash), pytest.raises(Crash):
        train_small(tmp_path / "new", corpus, steps=2)
    with pytest.raises(UsageError, match="not finished yet"):
        regard.train(run=tmp_path / "new", steps=2, more=True, quiet=True)
    with pytest.raises(UsageError, match="--more"):
        regard.train(run=run, steps=9, quiet=True)


def test_a_corrupt_plan_is_refused(tmp_path: Path, corpus: Corpus) -> None:
    train_small(tmp_path / "run", corpus, steps=2)
    for text in ('{"steps": "2"}', '{"steps": 2, "parts": [{"after": 1}]}', "[]"):
        (tmp_path / "run" / "plan.json").write_text(text)
        with pytest.raises(UsageError, match="corrupt"):
            regard.train(run=tmp_path / "run", quiet=True)
    assert json.loads((tmp_path / "run" / "config.json").read_bytes())
