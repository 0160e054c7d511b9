"""The one training loop: every architecture, every budget, resumable bit for bit."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Optional

import torch
from pydantic import Field
from torch import Tensor

from regard.config import Settings
from regard.data.batch import Batch
from regard.data.store import Batches, Place
from regard.errors import RegardError
from regard.metrics.table import MetricName, higher_is_better
from regard.models.base import Model
from regard.models.weights import all_finite, collect, install
from regard.nn.dropout import set_dropout
from regard.processes.ranks import Ranks
from regard.training.average import AverageSettings
from regard.training.checkpoint import SAVE_ERRORS, Checkpoint, Checkpoints
from regard.training.display import Display
from regard.training.guard import FINE, halves, name_culprit, out_of_memory, statistics
from regard.training.journal import Journal
from regard.training.optimizers import OptimizerSettings, optimizer_tensors, restore_optimizer

Scores = Mapping[str, float]


class TrainingSettings(Settings):
    optimizer: OptimizerSettings = OptimizerSettings()
    average: AverageSettings = AverageSettings()
    accumulate: int = Field(default=1, ge=1)  # batches an update
    dropout_start: float = Field(default=1.0, ge=0, le=1)  # the share of dropout in the first pass
    dropout_ramp_epochs: int = Field(default=60, ge=1)  # passes over the data until it is whole
    processes: Optional[int] = Field(default=None, ge=1)  # None: as many as there are cores
    seed: int = Field(default=1, ge=0, lt=2**32)
    save_every: int = Field(default=500, ge=1)
    validate_every: int = Field(default=500, ge=1)
    log_every: int = Field(default=10, ge=1)
    patience: int = Field(default=0, ge=0)  # validations without a better score; 0: never stop
    metric: MetricName = "bleu"  # chooses the best checkpoint
    validation_lines: int = Field(default=500, ge=1)  # decoded at a validation
    not_finite: Literal["skip", "stop"] = "skip"
    keep: int = Field(default=2, ge=2)

    def dropout_at(self, epoch: int) -> float:
        """The share of dropout in a pass over the data, counted from 0.

        A small model learns fast with little, and the more often it has read the same pairs, the
        more it needs to keep it from learning them by heart.
        """
        done = min(1.0, epoch / self.dropout_ramp_epochs)
        return self.dropout_start + (1 - self.dropout_start) * done


@dataclass
class Progress:
    """All that training needs to go on, apart from tensors; plain numbers, so JSON keeps it."""

    step: int = 0
    place: dict[str, int] = field(default_factory=lambda: asdict(Place()))
    best: Optional[float] = None
    best_loss: float = math.inf  # decides between equal scores
    best_step: int = 0
    stale: int = 0
    due: bool = False  # the validation of this step is still to come
    finished: bool = False
    loss: float = 0.0  # summed since the last record in the journal
    tokens: int = 0
    seconds: float = 0.0
    skipped: int = 0  # updates in a row whose gradient was not finite


class _ValidationStopped(Exception):
    """A signal came in the middle of a validation."""


class Trainer:
    """Turns batches into updates, and a budget of steps into a trained model."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        settings: TrainingSettings,
        steps: int,
        validate: Callable[[Model, int], Scores],
        checkpoints: Checkpoints,
        journal: Journal,
        display: Display,
        facts: Mapping[str, Any],
        ranks: Ranks,
    ) -> None:
        self.model = model
        self.batches = batches
        self.settings = settings
        self.steps = steps
        self.validate = validate
        self.checkpoints = checkpoints
        self.journal = journal
        self.display = display
        self.facts = facts
        self.ranks = ranks
        self.optimizer = settings.optimizer.build(model, ranks)
        self.average = settings.average.build(model)
        self.progress = Progress()
        self.stop_signal: Optional[int] = None
        self.signalled = 0.0  # when
        self.validating = False
        self.problem: Optional[RegardError] = None  # ends training as soon as all is saved
        self.journal_failed = False

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint as if there had been no break."""
        if checkpoint.manifest.get("torch") != torch.__version__ or (
            checkpoint.manifest.get("threads") != torch.get_num_threads()
        ):
            self.display.note(
                "This run was saved with another torch or number of threads: it goes on, but the "
                "result may differ in the last digits from an unbroken run."
            )
        install(self.model, checkpoint.tensors("weights"))
        restore_optimizer(self.optimizer, checkpoint.tensors("optimizer"))
        self.average.tensors = checkpoint.tensors("average")
        self.progress = Progress(**checkpoint.progress())
        if self.ranks.first:
            self.journal.rewind(self.progress.step, validated=not self.progress.due)

    def run(self) -> Progress:
        """Train to the end of the budget, or until told to stop."""
        self.model.train()
        previous = self._listen()
        try:
            with self.display.training(self.steps, self.progress.step):
                self._loop()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        return self.progress

    def _loop(self) -> None:
        progress, settings = self.progress, self.settings
        stream = self.batches.from_place(Place(**progress.place))
        while not progress.finished and (progress.step < self.steps or progress.due):
            stopping = False
            if not progress.due:
                stopping = self._update(stream)
                self._record()
                last = progress.step == self.steps
                progress.due = last or progress.step % settings.validate_every == 0
            best = False
            earlier = progress.best, progress.best_loss, progress.best_step, progress.stale
            if progress.due and not stopping:
                best, stopping = self._validate()
            must = stopping or progress.finished
            saving = must or best or progress.step % settings.save_every == 0
            if saving and not self._save(must):
                progress.best, progress.best_loss, progress.best_step, stale = earlier
                progress.stale = stale + 1 if best else progress.stale
            if self.problem is not None:
                raise self.problem
            if stopping:
                return

    def _update(self, stream: Iterator[tuple[Batch, Place]]) -> bool:
        """One step of the optimiser; true if this or another process was told to stop."""
        began = time.perf_counter()
        progress, settings = self.progress, self.settings
        step = progress.step + 1
        taken = [next(stream) for _ in range(settings.accumulate)]
        batches = [batch for batch, _ in taken]
        tokens = sum(batch.tokens for batch in batches)
        self._seed(step)
        gathered = [each.clone() for each in statistics(self.model)]
        set_dropout(self.model, settings.dropout_at(progress.place["epoch"]))
        loss = self._backward([self.ranks.part(batch) for batch in batches], tokens)
        stop = 0.0 if self.stop_signal is None else 1.0
        parameters = list(self.model.parameters())
        shared = self.ranks.all_reduce_gradients(parameters, torch.tensor([loss, stop]))
        loss = float(shared[0])
        norm = float(
            torch.nn.utils.clip_grad_norm_(parameters, settings.optimizer.clip or math.inf)
        )
        progress.step = step
        progress.place = asdict(taken[-1][1])
        if math.isfinite(loss) and math.isfinite(norm):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.optimizer.rate_at(step, self.steps)
            self.optimizer.step()
            self.average.update(step)
            progress.skipped = 0
            progress.loss += loss
            progress.tokens += tokens
        else:
            self._not_finite(step, [self.ranks.part(batch) for batch in batches], gathered)
        self.optimizer.zero_grad(set_to_none=True)
        progress.seconds += time.perf_counter() - began
        alone = self.ranks.size == 1
        return self._agreed(self.stop_signal is not None if alone else float(shared[1]) > 0)

    def _seed(self, step: int) -> None:
        """Seeding each step by its number makes resuming exact without saving a generator."""
        torch.manual_seed(self.settings.seed * 1_000_003 + step * 1_009 + self.ranks.rank)

    def _agreed(self, stop: bool) -> bool:
        """What all processes decided; one that got no signal itself ends as if it had."""
        if stop:
            if self.stop_signal is None:
                self.stop_signal, self.signalled = signal.SIGTERM, time.monotonic()
            self.display.note("Stopping: saving first.")
        return stop

    def _backward(self, batches: list[Batch], tokens: int) -> float:
        """Gradients of the mean loss over all tokens of the step; gives the summed nll.

        A batch that does not fit in memory is computed in halves: the same step, more slowly, but
        for dropout, which is drawn anew.
        """
        try:
            return sum(self._backward_one(batch, tokens) for batch in batches)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            if max(len(batch) for batch in batches) < 2:
                raise RegardError(
                    "Memory does not suffice for a single pair: lower batch.max_length or the "
                    "size of the model, and begin a new run."
                ) from None
        self.optimizer.zero_grad(set_to_none=True)
        self.display.note("A batch did not fit in memory and is computed in halves.")
        smaller = [part for batch in batches for part in halves(batch) if len(part)]
        return self._backward(smaller, tokens)

    def _backward_one(self, batch: Batch, tokens: int) -> float:
        if not len(batch):
            return 0.0
        loss = self.model(batch)
        (loss.total / tokens).backward()
        return float(loss.nll.sum())

    def _not_finite(self, step: int, batches: list[Batch], gathered: list[Tensor]) -> None:
        """Name where a NaN or infinity arose; the update is left out, so it is never saved, nor
        is what was gathered during the step."""
        culprits = self.ranks.gather_text(self._culprit(step, batches))
        culprit = next((each for each in culprits if each != FINE), FINE)
        for kept, before in zip(statistics(self.model), gathered, strict=True):
            kept.copy_(before)
        self.progress.skipped += 1
        self._write("not_finite", {"where": culprit})
        self.display.note(f"Step {step} was left out: {culprit} is not finite.")
        if self.settings.not_finite == "stop" or self.progress.skipped >= 10:
            raise RegardError(
                f"Training stopped at step {step} because {culprit} is not finite: lower "
                "training.optimizer.rate and give the same command with a new run; the last "
                "good checkpoint is kept."
            )

    def _culprit(self, step: int, batches: list[Batch]) -> str:
        """Compute the step once more and look; other processes may know better."""
        self.optimizer.zero_grad(set_to_none=True)
        self._seed(step)
        asked = [batch for batch in batches if len(batch)]
        try:
            return name_culprit(self.model, asked)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            return "something in a batch that does not fit in memory as a whole"

    def _record(self) -> None:
        progress = self.progress
        if progress.step % self.settings.log_every or not progress.tokens:
            return
        facts = {
            "loss": progress.loss / progress.tokens,
            "rate": self.settings.optimizer.rate_at(progress.step, self.steps),
            "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9), 1),
        }
        self._write("train", facts)
        self.display.step(progress.step, facts["loss"], facts["tokens_per_second"])
        progress.loss, progress.tokens, progress.seconds = 0.0, 0, 0.0

    def _write(self, event: str, facts: Mapping[str, Any]) -> None:
        """Add to the journal; a full disk is no reason to stop training, and is said once."""
        if not self.ranks.first:
            return
        try:
            self.journal.add(event, self.progress.step, facts)
        except OSError as error:
            if not self.journal_failed:
                self.display.note(f"The journal cannot be written ({error}); training goes on.")
            self.journal_failed = True

    def _validate(self) -> tuple[bool, bool]:
        """Score the averaged weights: whether they are the best so far, and whether to stop.

        A signal ends the validation at once; it is then done first thing when training goes on.
        """
        progress, metric = self.progress, self.settings.metric
        scores: Scores = self._scores() if self.ranks.first else {}
        stop, value, loss = self.ranks.broadcast(
            [float(not scores), scores.get(metric, 0.0), scores.get("loss", 0.0)]
        )
        if self._agreed(stop > 0):
            return False, True
        self._write("validation", scores)
        if self.ranks.first:
            self.display.validation(progress.step, scores)
        progress.due = False
        progress.finished = progress.step >= self.steps
        value = value if higher_is_better(metric) else -value
        best = -math.inf if progress.best is None else progress.best
        if math.isfinite(value) and (value, -loss) > (best, -progress.best_loss):
            progress.best, progress.best_loss = value, loss
            progress.best_step, progress.stale = progress.step, 0
            return True, False
        progress.stale += 1
        progress.finished |= 0 < self.settings.patience <= progress.stale
        return False, False

    def _scores(self) -> Scores:
        """The scores of the averaged weights; none if a signal came or memory did not suffice.

        The other processes wait meanwhile, so their cores are free for threads of this one.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(max(threads, self.ranks.size))
        try:
            with self.average.applied():
                self.model.eval()
                self.validating = True
                told = self.stop_signal is not None
                scores = {} if told else self.validate(self.model, self.progress.step)
                self.validating = False
                return scores
        except _ValidationStopped:
            return {}
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            self.problem = RegardError(
                f"Memory does not suffice for the validation of step {self.progress.step}; the "
                "step is saved: free some memory and give the same command."
            )
            return {}
        finally:
            self.validating = False
            self.model.train()
            torch.set_num_threads(threads)

    def _save(self, must: bool) -> bool:
        """Whether saving went well, for all processes alike.

        A full disk is no reason to stop training, unless this was the last chance.
        """
        progress, saved = self.progress, True
        if self.ranks.first:
            groups: dict[str, dict[str, Tensor]] = {
                "weights": collect(self.model),
                "optimizer": optimizer_tensors(self.optimizer),
                "average": self.average.tensors,
            }
            try:
                if not all(all_finite(group) for group in groups.values()):
                    raise RegardError(
                        f"The weights of step {progress.step} are not finite and were not saved: "
                        "lower training.optimizer.rate and begin a new run; the last good "
                        "checkpoint is kept."
                    )
                self.journal.sync()
                self.checkpoints.save(
                    progress.step, groups, asdict(progress), self.facts, progress.best_step
                )
            except SAVE_ERRORS as error:
                reason = str(error) or "no memory"
                text = f"The checkpoint of step {progress.step} could not be saved ({reason})"
                if must:
                    raise RegardError(
                        f"{text}: free some space and give the same command."
                    ) from None
                self.display.note(f"{text}; training goes on, the last one is intact.")
                saved = False
        (all_saved,) = self.ranks.broadcast([float(saved)])
        self.ranks.barrier()
        return all_saved > 0

    def _listen(self) -> dict[int, Any]:
        """SIGTERM and Ctrl-C save and stop after the step; a second one stops at once.

        `timeout` and others send a signal to the process and to its group: two within a moment
        are one.
        """

        def remember(number: int, frame: Any) -> None:
            now = time.monotonic()
            if self.stop_signal is not None:
                if now - self.signalled > 1:
                    raise KeyboardInterrupt
                return
            self.stop_signal, self.signalled = number, now
            if self.validating:
                raise _ValidationStopped

        try:
            return {n: signal.signal(n, remember) for n in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not in the main thread, where signals cannot be caught
            return {}

    def rehearse(self, seconds: float) -> float:
        """How long a step takes, measured on the first batches without learning from them."""
        stream = self.batches.from_place(Place())
        before = {name: tensor.clone() for name, tensor in collect(self.model).items()}
        optimizer = self.settings.optimizer.build(self.model, self.ranks)
        took: list[float] = []
        self.model.train()
        began = time.perf_counter()
        more = 1.0
        while more:
            start = time.perf_counter()
            batches = [next(stream)[0] for _ in range(self.settings.accumulate)]
            self._backward([self.ranks.part(batch) for batch in batches], 1)
            self.ranks.all_reduce_gradients(list(self.model.parameters()), torch.zeros(2))
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            took.append(time.perf_counter() - start)
            (more,) = self.ranks.broadcast(
                [float(len(took) < 3 or time.perf_counter() - began < seconds)]
            )
        install(self.model, before)
        del took[: 1 + len(took) // 5]  # the first steps warm the machine up
        return sum(took) / len(took)
