"""What training leaves behind and shows: checkpoints, the journal and the display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.models.weights import all_finite
from regard.training.checkpoint import SAVE_ERRORS, Checkpoints
from regard.training.display import Display
from regard.training.journal import Journal
from regard.training.plan import Plan
from regard.training.progress import Progress


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
                raise RegardError(
                    f"The weights of step {progress.step} are not finite and were not saved: lower "
                    f"training.optimizer.rate and start a new run; {self.kept()}."
                )
            self.journal.sync()
            self.checkpoints.save(
                progress.step, groups, asdict(progress), self.identity, progress.best_step
            )
        except SAVE_ERRORS as error:
            reason = str(error) or "not enough memory"
            text = f"Could not save the checkpoint of step {progress.step} ({reason})"
            if must:
                raise RegardError(f"{text}: free some space and run the same command.") from None
            self.display.note(f"{text}; training continues, {self.kept()}.")
            return False
        return True

    def kept(self) -> str:
        """What is left if training fails now."""
        if self.checkpoints.steps():
            return "the last good checkpoint is kept"
        return "there is no checkpoint yet"
