"""How many steps a run takes, and where each of them is in the learning-rate schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Optional


class Moment(NamedTuple):
    """Where a step is in its schedule, which warms up after step `begin` and has `end` steps."""

    begin: int
    position: float
    end: int


@dataclass(frozen=True)
class Part:
    """What holds after step `after`: training ends at step `steps`, and by then the schedule runs
    from `position` to its `end`. Its warm-up started after step `begin`."""

    after: int
    steps: int
    position: float
    end: int
    begin: int = 0

    def moment(self, step: int) -> Moment:
        speed = (self.end - self.position) / max(1, self.steps - self.after)
        return Moment(self.begin, self.position + (step - self.after) * speed, self.end)


@dataclass(frozen=True)
class Plan:
    """The parts of a run, oldest first, and the steps that are validated out of turn.

    A budget in minutes gives the plan a `limit`: seconds of work since the run was started. When
    the machine turns out slower or faster than expected, the plan is revised: what is left of the
    schedule is spread over the steps that still fit. Each revision is stored with the run, so that
    a resumed run repeats it. `lines` is how many lines are translated in each validation, if that
    was decided by time, and `more` the budget of the last extension.
    """

    parts: tuple[Part, ...]
    limit: Optional[float] = None
    validations: tuple[int, ...] = ()
    lines: Optional[int] = None
    more: Optional[Mapping[str, float]] = None

    @staticmethod
    def of(steps: int, limit: Optional[float] = None) -> Plan:
        return Plan((Part(0, steps, 0.0, steps),), limit)

    @property
    def steps(self) -> int:
        return self.parts[-1].steps

    @property
    def decided(self) -> int:
        """What happens up to this step is decided; a resumed run repeats it."""
        return max(self.parts[-1].after, *self.validations, 0)

    def moment(self, step: int) -> Moment:
        """The part that begins last before a step decides."""
        first, *later = self.parts
        return next((p for p in reversed(later) if p.after < step), first).moment(step)

    def after(self, step: int, steps: int = 0, validate: bool = False) -> Plan:
        """What changes after a step: the rest of the schedule in another number of steps in all,
        unless it is 0, and a validation out of turn."""
        parts, validations = self.parts, self.validations
        if steps:
            begin, position, end = self.moment(step)
            parts = (*parts, Part(step, steps, position, end, begin))
        if validate:
            validations = (*validations, step)
        return replace(self, parts=parts, validations=validations)

    def extended(
        self, after: int, steps: int, limit: Optional[float], more: Mapping[str, float]
    ) -> Plan:
        """Train on until `steps`: the learning rate warms up again to where a schedule of so many
        steps is by then, and decays to the new end."""
        part = Part(after, steps, float(after), steps, begin=after)
        return replace(self, parts=(*self.parts, part), limit=limit, more=more)

    def is_extended_after(self, step: int) -> bool:
        return any(part.begin == part.after == step for part in self.parts[1:])

    def to_json(self) -> dict[str, Any]:
        return {"steps": self.steps, **asdict(self)}

    @staticmethod
    def from_json(facts: Mapping[str, Any]) -> Plan:
        """Raises TypeError, KeyError or ValueError if these are not the facts of a plan."""
        steps: int = facts["steps"]
        limit, lines, more = (facts.get(name) for name in ("limit", "lines", "more"))
        parts = tuple(Part(**each) for each in facts.get("parts", ())) or Plan.of(steps).parts
        plan = Plan(parts, limit, tuple(facts.get("validations", ())), lines, more)
        whole = [number for part in parts for number in (part.after, part.steps, part.end)]
        if plan.steps != steps or not all(type(n) is int and n >= 0 for n in whole) or steps < 1:
            raise ValueError("the steps do not fit together")
        return plan
