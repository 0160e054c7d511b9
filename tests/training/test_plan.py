"""Plans: how many steps, where each is in the schedule, and what a revision changes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.training.optimizers import OptimizerSettings
from regard.training.plan import Plan

LINEAR = OptimizerSettings(schedule="linear", rate=1.0, warmup=10)


def rates(plan: Plan, settings: OptimizerSettings = LINEAR) -> list[float]:
    return [settings.rate_at(step, plan.moment(step)) for step in range(1, plan.steps + 1)]


def test_a_revision_spreads_the_rest_of_the_schedule_over_other_steps() -> None:
    plan = Plan.of(100).after(40, steps=60)
    assert plan.steps == 60
    before, after = rates(Plan.of(100)), rates(plan)
    assert after[:40] == before[:40]
    assert after[49] == pytest.approx(before[69])  # half of the rest
    assert after[-1] == pytest.approx(before[-1])


@given(some.lists(some.tuples(some.integers(1, 30), some.integers(0, 200)), max_size=6))
def test_however_often_a_plan_is_revised_the_rate_never_jumps_up_and_ends_near_zero(
    revisions: list[tuple[int, int]],
) -> None:
    plan, step = Plan.of(100), 12
    for wait, more in revisions:
        step += wait
        if step < plan.steps:
            plan = plan.after(step, steps=step + more)
    found = rates(plan)[12:]
    assert all(later <= earlier for earlier, later in pairwise(found))
    if plan.steps > plan.parts[-1].after:
        assert found[-1] <= 1 / 91 + 1e-9


def test_the_warm_up_keeps_its_steps_when_the_plan_is_revised() -> None:
    plan = Plan.of(1000).after(4, steps=2000)
    assert rates(plan)[:10] == rates(Plan.of(1000))[:10]


def test_an_extension_warms_up_to_the_rate_of_the_longer_schedule_and_decays_again() -> None:
    plan = Plan.of(100).extended(100, 200, limit=None, more={"steps": 100.0})
    found = rates(plan)
    assert found[:100] == rates(Plan.of(100))
    assert found[100] == pytest.approx(0.1)
    assert max(found[100:]) == pytest.approx(0.5, abs=0.02)
    assert found[150] == pytest.approx((201 - 151) / (201 - 10))
    assert found[-1] == pytest.approx(1 / 191)
    assert plan.is_extended_after(100)
    assert not plan.is_extended_after(99)
    assert not Plan.of(100).after(40, steps=60).is_extended_after(40)


def test_an_extension_of_the_inverse_square_root_schedule_goes_on_where_it_was() -> None:
    settings = OptimizerSettings(schedule="inverse_sqrt", rate=1.0, warmup=10)
    extended = Plan.of(100).extended(100, 200, limit=None, more={"steps": 100.0})
    assert rates(extended, settings) == rates(Plan.of(200), settings)


def test_a_plan_survives_its_file() -> None:
    plan = Plan.of(100, limit=60.0).after(40, steps=60).after(50, validate=True)
    plan = plan.extended(60, 90, limit=90.0, more={"minutes": 0.5})
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert plan.decided == 60


def test_the_plan_of_a_run_that_was_never_revised_may_have_its_steps_alone() -> None:
    assert Plan.from_json({"steps": 8}) == Plan.of(8)


@pytest.mark.parametrize(
    "change",
    [{"steps": 99}, {"steps": 0, "parts": []}, {"parts": [{"after": 0}]}, {"parts": [3]}],
)
def test_a_plan_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    facts = {**Plan.of(100).after(40, steps=60).to_json(), **change}
    with pytest.raises((TypeError, KeyError, ValueError)):
        Plan.from_json(facts)


def test_steps_that_are_not_whole_numbers_are_refused() -> None:
    plan = Plan.of(100)
    wrong = replace(plan, parts=(replace(plan.parts[0], end=1.5),))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fit"):
        Plan.from_json(wrong.to_json())
