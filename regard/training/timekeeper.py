"""Time: how long the rest of training takes, and what to do when it is not what was planned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Optional

from regard.training.plan import Plan
from regard.training.settings import TrainingSettings

MEMORY_SECONDS = 60.0
"""Older steps hardly count in the estimate of how long a step takes."""

FIRST_SAVE_SECONDS, SAVE_SECONDS = 60.0, 300.0
"""Checkpoints are saved at least this often, whatever `save_every` says."""

FIRST_VALIDATION_SECONDS = 120.0
"""The first validation comes no later, whatever `validate_every` says."""

FIRST_VALIDATION_SHARE = 0.2
"""Nor later than this share of a budget in minutes: how long it takes must be known early."""

VALIDATION_SHARE = 0.05
"""The first validation ends after this share of a budget in minutes: an untrained model may
translate for very long."""

END_SECONDS = 2.0
"""For drawing the curves and leaving."""

TOLERANCE = 0.02
"""The plan is revised when the steps left differ by more than this share from those that fit."""


class Decision(NamedTuple):
    """What to do after the next step: another number of steps in all (0: as planned), a validation
    out of turn, a checkpoint out of turn."""

    steps: int = 0
    validate: bool = False
    save: bool = False


KEEP_GOING = Decision()


class Timekeeper:
    """Knows how long steps, validations and saves take on this machine, now.

    `elapsed` is what earlier sessions of the run have taken.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        elapsed: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._began = clock() - elapsed
        self._steps = self._seconds = 0.0  # of recent steps
        self._validation: Optional[float] = None
        self._save = 0.0
        self._saved_at: Optional[float] = None
        self._started_at = self._checked_at = elapsed

    @property
    def elapsed(self) -> float:
        """Seconds of work since the run was started."""
        return self._clock() - self._began

    @contextmanager
    def stepping(self) -> Iterator[None]:
        began = self._clock()
        yield
        seconds = self._clock() - began
        fade = math.exp(-seconds / MEMORY_SECONDS)
        self._steps, self._seconds = self._steps * fade + 1, self._seconds * fade + seconds

    @contextmanager
    def validating(self) -> Iterator[None]:
        began = self._clock()
        yield
        self._validation = self._clock() - began

    @contextmanager
    def saving(self) -> Iterator[None]:
        began = self._clock()
        yield
        self._save = self._clock() - began
        self._saved_at = self.elapsed

    def longest_validation(self, plan: Plan) -> float:
        """Seconds after which a validation translates no more lines."""
        if plan.limit is None or plan.lines is not None:
            return math.inf
        return VALIDATION_SHARE * plan.limit

    def left(self, plan: Plan, step: int) -> float:
        """Seconds until the run is finished."""
        if not self._steps:
            return math.nan
        return self._seconds_for(step, max(0, plan.steps - step)) + self._ending()

    def decide(self, plan: Plan, step: int, validated: bool) -> Decision:
        """For the step that comes next; `validated` is whether there has been a validation yet."""
        now = self.elapsed
        save = self._save_is_due(now)
        if step <= plan.decided:
            return Decision(save=save)
        validate = not validated and self._first_validation_is_due(plan, now)
        return Decision(self._revision(plan, step, now), validate, save)

    def _seconds_for(self, step: int, more: int) -> float:
        """For so many steps after a step, validations and saves on the way included."""
        each, settings = self._seconds / self._steps, self._settings
        validations = (step + more - 1) // settings.validate_every - step // settings.validate_every
        saves = more / settings.save_every
        return more * each + max(0, validations) * (self._validation or 0.0) + saves * self._save

    def _fitting(self, step: int, seconds: float) -> int:
        """How many steps after a step fit into the seconds."""
        low, high = 0, max(0, int(seconds * self._steps / self._seconds))
        while low < high:
            middle = (low + high + 1) // 2
            if self._seconds_for(step, middle) <= seconds:
                low = middle
            else:
                high = middle - 1
        return low

    def _ending(self) -> float:
        """The last step is saved, validated and saved again."""
        return (self._validation or 0.0) + 2 * self._save + END_SECONDS

    def _revision(self, plan: Plan, step: int, now: float) -> int:
        if plan.limit is None or self._steps < 2:
            return 0
        if now - self._checked_at < max(1.0, plan.limit / 100):
            return 0
        self._checked_at = now
        unknown = 0.05 * plan.limit if self._validation is None else 0.0
        taken = step - 1  # the next step is taken in any case
        steps = max(step, taken + self._fitting(taken, plan.limit - now - self._ending() - unknown))
        tolerance = max(1, TOLERANCE * (plan.steps - step))
        return steps if abs(steps - plan.steps) > tolerance else 0

    def _first_validation_is_due(self, plan: Plan, now: float) -> bool:
        share = math.inf if plan.limit is None else FIRST_VALIDATION_SHARE * plan.limit
        return now - self._started_at >= min(FIRST_VALIDATION_SECONDS, share)

    def _save_is_due(self, now: float) -> bool:
        if self._saved_at is None:
            return now - self._started_at >= FIRST_SAVE_SECONDS
        return now - self._saved_at >= SAVE_SECONDS
