"""What training leaves behind and shows: checkpoints, the journal and the display."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.models.weights import all_finite
from regard.processes.ranks import Ranks
from regard.training.checkpoint import SAVE_ERRORS, Checkpoints, write_tensors
from regard.training.display import Display
from regard.training.journal import Journal
from regard.training.plan import Plan
from regard.training.progress import Progress
from regard.training.shards import Part


@dataclass
class Records:
    """A full disk is reported but does not stop training, unless what it costs is the result.

    `identity` is stored in each checkpoint: which config and data it belongs to.
    """

    checkpoints: Checkpoints
    journal: Journal
    display: Display
    identity: Mapping[str, Any]
    write_plan: Callable[[Plan], None]
    journal_failed: bool = False

    def write(self, event: str, step: int, facts: Mapping[str, Any]) -> None:
        """Add to the journal; that it cannot be written is reported once."""
        try:
            self.journal.add(event, step, facts)
        except OSError as error:
            if not self.journal_failed:
                self.display.note(f"Cannot write the journal ({error}); training continues.")
            self.journal_failed = True

    def save_plan(self, plan: Plan) -> bool:
        """Whether a change of plan could be stored; otherwise it must not be followed."""
        try:
            self.write_plan(plan)
        except OSError:
            return False
        return True

    def save(self, progress: Progress, groups: Mapping[str, dict[str, Tensor]], must: bool) -> bool:
        """Save a checkpoint: whether it succeeded. If it `must`, a failure is an error."""
        try:
            if not all(all_finite(group) for group in groups.values()):
                raise self._not_finite(progress.step)
            self.journal.sync()
            self.checkpoints.save(
                progress.step, groups, asdict(progress), self.identity, progress.best_step
            )
        except SAVE_ERRORS as error:
            self._fail(progress.step, str(error) or "not enough memory", must)
            return False
        return True

    def save_sharded(
        self,
        progress: Progress,
        groups: Mapping[str, dict[str, Tensor]],
        must: bool,
        ranks: Ranks,
    ) -> bool:
        """The same where each process has a part of every tensor, which it writes itself; what is
        not divided, such as counts of steps, is in the groups of the first process alone."""
        step, first = progress.step, ranks.first
        begun = "" if not first else _problem(lambda: self._begin(step))
        ranks.barrier()
        files: dict[str, Any] = {}

        def write() -> None:
            folder = self.checkpoints.folder / f"step-{step}.tmp"
            files.update(write_tensors(folder, groups, Part(ranks.rank, ranks.size)))

        finite = all(all_finite(group) for group in groups.values())
        told = json.dumps([begun or _problem(write), files, finite])
        problems, written, are_finite = zip(*map(json.loads, ranks.gather_text(told)), strict=True)
        problem = next(filter(None, problems), "")
        if first and not problem and all(are_finite):
            every = {name: facts for more in written for name, facts in more.items()}
            facts = asdict(progress), self.identity, progress.best_step
            problem = _problem(lambda: self.checkpoints.complete(step, every, *facts))
        problem = ranks.gather_text(problem)[0]
        if first and (problem or not all(are_finite)):
            self.checkpoints.abandon(step)
        if not all(are_finite):
            raise self._not_finite(step)
        if problem:
            self._fail(step, problem, must)
        return not problem

    def _begin(self, step: int) -> None:
        self.journal.sync()
        self.checkpoints.begin(step)

    def _not_finite(self, step: int) -> RegardError:
        return RegardError(
            f"The weights of step {step} are not finite and were not saved: lower "
            f"training.optimizer.rate and start a new run; {self.kept()}."
        )

    def _fail(self, step: int, reason: str, must: bool) -> None:
        text = f"Could not save the checkpoint of step {step} ({reason})"
        if must:
            raise RegardError(f"{text}: free some space and run the same command.") from None
        self.display.note(f"{text}; training continues, {self.kept()}.")

    def kept(self) -> str:
        """What is left if training fails now."""
        if self.checkpoints.steps():
            return "the last good checkpoint is kept"
        return "there is no checkpoint yet"


def _problem(save: Callable[[], None]) -> str:
    """Why something could not be saved; empty if it could."""
    try:
        save()
    except SAVE_ERRORS as error:
        return str(error) or "not enough memory"
    return ""
