"""The short forms of the campaigns that `make faults` runs in full, and the machinery of them."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts, Skipped, run_campaign
from faults.children import CRASHED, in_child
from faults.nans import modules, spoil
from faults.registry import CAMPAIGNS
from faults.subjects import IN_TURN, Miniature, small_corpus

QUICK_ONES = sorted(set(CAMPAIGNS) - {"ranks", "server", "overload"})
"""What the others try is also in tests/training/test_ranks.py, in test_limits.py and test_spec.py
of tests/serving, and in the hostile texts of test_html.py and test_served_page.py there. How much
is finished under overload is measured by the full form alone."""


@pytest.mark.parametrize("name", QUICK_ONES)
def test_the_short_form_of_a_campaign_passes(name: str) -> None:
    report = run_campaign(CAMPAIGNS[name], QUICK, seed=1)
    assert not report.failures, report.failures[0]["what"]
    assert report.passed
    assert report.executed == CAMPAIGNS[name].sizes[QUICK]


def test_a_nan_that_nothing_reads_counts_as_without_effect_by_equal_bytes(tmp_path: Path) -> None:
    """Without a story before its question, an entity network never reads this module's output."""
    member = next(each for each in IN_TURN if each[0] == "entity-0-last")
    subject = Miniature.of(*member, small_corpus(tmp_path), tmp_path / "own")
    module = "encoder.of_sentence"
    assert module in modules(subject, tmp_path)
    for name in ("source", "valid_source"):
        text = subject.files[name].read_text()
        subject.files[name].write_text(text.replace(f" {subject.config.tokenizer.marker}", ""))
    (tmp_path / "none").mkdir()
    assert module not in modules(subject, tmp_path / "none")
    counts = spoil(subject, module, 2, "NaN", tmp_path / "none")
    assert counts["NaNs without effect, by equal bytes"] == 1


def campaign(attempt: Attempt, **more: int) -> Campaign:
    @contextmanager
    def prepared(folder: Path) -> Iterator[Attempt]:
        yield attempt

    return Campaign("example", "An example", {QUICK: 4, FULL: 8}, prepared, more)


def fail_at_two(number: int, draw: random.Random, folder: Path) -> Counts:
    if number == 2:
        raise ValueError("this one fails")
    return {"drawn": draw.randrange(10**9)}


def test_a_failure_is_reported_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    report = run_campaign(campaign(fail_at_two), QUICK, seed=7)
    (failure,) = report.failures
    assert not report.passed
    assert report.executed == 4
    assert failure["repeat"] == "cd tests && python -m faults example --seed 7 --only 2"
    assert "ValueError: this one fails" in failure["what"]
    report.write(tmp_path)
    written = json.loads((tmp_path / "example.json").read_text())
    assert written["failures"] == report.failures
    assert written["counts"] == dict(report.counts)


def test_an_attempt_follows_from_seed_and_number_alone() -> None:
    drawn = {
        seed: [
            run_campaign(campaign(fail_at_two), form, seed, jobs, only=[3]).counts["drawn"]
            for form, jobs in ((QUICK, 1), (FULL, 2))
        ]
        for seed in (1, 2)
    }
    assert drawn[1][0] == drawn[1][1] != drawn[2][0]


def test_a_process_that_dies_fails_its_attempt_and_no_other() -> None:
    def die(number: int, draw: random.Random, folder: Path) -> Counts:
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"lived": 1}

    report = run_campaign(campaign(die), QUICK, seed=1)
    assert [each["case"] for each in report.failures] == [1]
    assert "ended with -9" in report.failures[0]["what"]
    assert report.counts["lived"] == 3


def test_what_was_skipped_or_is_too_little_is_not_passed_over() -> None:
    def skip(number: int, draw: random.Random, folder: Path) -> Counts:
        if number % 2:
            raise Skipped("not here")
        return {"done": 1}

    report = run_campaign(campaign(skip, done=5), FULL, seed=1)
    assert report.executed == 4
    assert report.skipped == {"not here": 4}
    assert report.missed == ["4 done, but 5 are needed"]
    assert "4 skipped (not here)" in report.sentence()


def test_a_child_ends_with_its_code_and_what_it_said() -> None:
    def speak() -> int:
        print("hello")
        return 3

    ended = in_child(speak)
    assert (ended.code, ended.said) == (3, "hello\n")
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL)).code == -signal.SIGKILL
    crashed = in_child(lambda: 1 // 0)
    assert crashed.code == CRASHED
    assert "ZeroDivisionError" in crashed.said
