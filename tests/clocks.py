"""Clocks for tests: time passes as the test says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

from regard.training.settings import TrainingSettings
from regard.training.timekeeper import Timekeeper

TimekeeperMaker = Callable[[TrainingSettings, float], Timekeeper]

still_clock: TimekeeperMaker = partial(Timekeeper, clock=lambda: 0.0)
"""No time passes, so that nothing is decided by the clock."""


def ticking_clock(seconds: float) -> TimekeeperMaker:
    """Each look at the clock finds it so many seconds later."""
    ticks = count()
    return partial(Timekeeper, clock=lambda: seconds * next(ticks))


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
