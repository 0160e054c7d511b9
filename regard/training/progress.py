"""How far training has come."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Optional

from regard.data.store import Offset


@dataclass
class Progress:
    """Everything but tensors that resuming needs: plain numbers, stored as JSON."""

    step: int = 0
    offset: dict[str, int] = field(default_factory=lambda: asdict(Offset()))  # of the next batch
    best: Optional[float] = None
    best_loss: float = math.inf  # decides between equal scores
    best_step: int = 0
    stale: int = 0  # validations since the best one
    due: bool = False  # this step has not been validated yet
    finished: bool = False
    loss: float = 0.0  # summed since the last journal record, as are tokens and seconds
    tokens: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0  # seconds since the run was started, sessions added up
    skipped: int = 0  # consecutive steps whose loss or gradient was not finite

    def compare(self, score: float, loss: float) -> bool:
        """Record a validation: whether its score (higher is better) is the best so far."""
        best = -math.inf if self.best is None else self.best
        if math.isfinite(score) and (score, -loss) > (best, -self.best_loss):
            self.best, self.best_loss = score, loss
            self.best_step, self.stale = self.step, 0
            return True
        self.stale += 1
        return False

    def forget_best(self, earlier: Progress) -> None:
        """Undo `compare`: a best checkpoint that could not be saved does not count."""
        if self.best_step != earlier.best_step:
            self.stale = earlier.stale + 1
        self.best, self.best_loss = earlier.best, earlier.best_loss
        self.best_step = earlier.best_step
