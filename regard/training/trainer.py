"""The one training loop: every architecture, every budget, resumable bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from regard.data.store import Batches, Offset, Share
from regard.errors import RegardError
from regard.metrics.table import higher_is_better
from regard.models.base import Model
from regard.models.weights import collect, install
from regard.nn.dropout import set_dropout
from regard.processes.memory import out_of_memory
from regard.processes.ranks import Ranks
from regard.training.build import build_gradients
from regard.training.checkpoint import Checkpoint
from regard.training.guard import NOT_REPRODUCIBLE, statistics
from regard.training.optimizers import optimizer_tensors, restore_optimizer
from regard.training.plan import Plan
from regard.training.progress import Progress
from regard.training.records import Records
from regard.training.settings import TrainingSettings
from regard.training.shards import Part, own_tensors
from regard.training.signals import StopSignals
from regard.training.timekeeper import KEEP_GOING, Decision, Timekeeper

Scores = Mapping[str, float]


class Validation(NamedTuple):
    """The scores of a model, and how many lines it translated for them."""

    scores: Scores
    lines: int


Pieces = Generator[None, bool, Validation]
"""A validation that pauses after each piece of work; sent True, it translates no more lines."""

Validate = Callable[[Model, int, Optional[int]], Pieces]
"""Starts the validation of a model at a step, by so many lines or by all."""

MAX_SKIPPED = 10
"""Consecutive steps that may be skipped before training stops."""


class Trainer:
    """Turns batches into updates, until it has taken all steps of the plan; `metric` is the
    validation score that decides which checkpoint is best."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        settings: TrainingSettings,
        plan: Plan,
        metric: str,
        validate: Validate,
        records: Records,
        ranks: Ranks,
    ) -> None:
        self.model = model
        self.batches = batches
        self.settings = settings
        self.plan = plan
        self.metric = metric
        self.validate = validate
        self.records = records
        self.ranks = ranks
        self.gradients = build_gradients(model, settings, ranks, records.display.note)
        self.optimizer = settings.optimizer.build(model, self.gradients.parameters(), ranks)
        self.average = settings.average.build(model)
        self.signals = StopSignals()
        self.progress = Progress()
        self.time = Timekeeper(settings)
        self.error: Optional[RegardError] = None  # ends training once the step is saved

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint as if training had never stopped."""
        if checkpoint.manifest.get("torch") != torch.__version__ or (
            checkpoint.manifest.get("threads") != torch.get_num_threads()
        ):
            self.records.display.note(
                "This run was saved with another version of torch or number of threads: the result "
                "may differ in the last digits from an uninterrupted run."
            )
        part = Part(self.ranks.rank, self.ranks.size) if self.settings.shard else None
        install(self.model, checkpoint.tensors("weights", part))
        restore_optimizer(self.optimizer, checkpoint.tensors("optimizer", part))
        self.average.restore(checkpoint.tensors("average", part))
        self.progress = Progress(**checkpoint.progress())
        if self.plan.is_extended_after(self.progress.step):
            self.progress.finished, self.progress.stale = False, 0
        if self.ranks.first:
            self.records.journal.rewind(self.progress.step, validated=not self.progress.due)

    def run(self) -> Progress:
        """Train for all steps, or until a signal asks to stop."""
        self.model.train()
        display = self.records.display
        self.time = Timekeeper(self.settings, self.progress.elapsed)
        with self.signals.handled(), display.training(self.plan.steps, self.progress.step):
            self._loop()
        return self.progress

    def _loop(self) -> None:
        progress, settings = self.progress, self.settings
        offset = Offset(**progress.offset)
        stream = self.batches.shares(offset, self.ranks.rank, self.ranks.size, self.settings.shard)
        while not progress.finished and (progress.step < self.plan.steps or progress.due):
            stopping = is_best = save_now = False
            if not progress.due:
                stopping, save_now = self._update(stream)
                self._log()
                progress.due = self._is_validated(progress.step)
                if progress.step == self.plan.steps and not stopping:
                    self._save(must=False)  # nothing is lost if the last validation is cut short
            earlier = replace(progress)
            if progress.due and not stopping:
                is_best, stopping = self._validate()
            must = stopping or progress.finished
            saving = must or is_best or save_now or progress.step % settings.save_every == 0
            if saving and not self._save(must):
                progress.forget_best(earlier)
            if self.error is not None:
                raise self.error
            if stopping:
                return

    def _is_validated(self, step: int) -> bool:
        out_of_turn = step == self.plan.steps or step in self.plan.validations
        return out_of_turn or step % self.settings.validate_every == 0

    def _update(self, stream: Iterator[Share]) -> tuple[bool, bool]:
        """One step: whether any process was asked to stop, and whether to save out of turn."""
        began = time.perf_counter()
        with self.time.stepping():
            decision = self._decide(self.progress.step + 1)
            others_stop, news = self._step(stream, decision != KEEP_GOING)
        self.progress.seconds += time.perf_counter() - began
        if news:
            decision = self._share(decision)
        alone = self.ranks.size == 1
        stop = self._agree(self.signals.number is not None if alone else others_stop)
        return stop, decision.save

    def _decide(self, step: int) -> Decision:
        """What the first process decides by its clock: a change of plan is stored at once."""
        if not self.ranks.first:
            return KEEP_GOING
        progress = self.progress
        decision = self.time.decide(self.plan, step, bool(progress.best_step or progress.stale))
        plan = self.plan.after(step, decision.steps, decision.validate)
        if plan != self.plan and not self.records.save_plan(plan):
            return Decision(save=decision.save)
        return decision

    def _share(self, decision: Decision) -> Decision:
        """Tell all processes what the first has decided, and follow it."""
        steps, validate, save = self.ranks.broadcast([float(each) for each in decision])
        shared = Decision(int(steps), validate > 0, save > 0)
        self.plan = self.plan.after(self.progress.step, shared.steps, shared.validate)
        return shared

    def _step(self, stream: Iterator[Share], news: bool) -> tuple[bool, bool]:
        """One step of the optimiser: whether any process was asked to stop, or has news."""
        progress, settings = self.progress, self.settings
        step = progress.step + 1
        taken = [next(stream) for _ in range(settings.accumulate)]
        before = [each.clone() for each in statistics(self.model)]
        self._seed(step)
        set_dropout(self.model, settings.dropout_at(progress.offset["epoch"]))
        found = self.gradients.compute(taken, self.signals.number is not None, news)
        progress.step, progress.offset = step, asdict(taken[-1].offset)
        if math.isfinite(found.loss) and math.isfinite(found.norm):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.optimizer.rate_at(step, self.plan.moment(step))
            self.optimizer.step()
            self.average.update(step)
            progress.skipped = 0
            progress.loss += found.loss
            progress.tokens += sum(share.tokens for share in taken)
        else:
            self._skip(step, taken, before)
        self.optimizer.zero_grad(set_to_none=True)
        return found.stop, found.news

    def _seed(self, step: int) -> None:
        """Seeding each step by its number makes resuming exact without saving a generator."""
        torch.manual_seed(self.settings.seed * 1_000_003 + step * 1_009 + self.ranks.rank)

    def _agree(self, stop: bool) -> bool:
        """What all processes decided; one that received no signal itself ends as if it had."""
        if stop:
            self.signals.request()
            self.records.display.note("Stopping after saving.")
        return stop

    def _skip(self, step: int, shares: list[Share], before: list[Tensor]) -> None:
        """Leave out an update that is not finite, and the statistics gathered in its step."""
        self._seed(step)
        found = self.ranks.gather_text(self.gradients.find_non_finite(shares))
        culprit = next((each for each in found if each != NOT_REPRODUCIBLE), NOT_REPRODUCIBLE)
        for kept, earlier in zip(statistics(self.model), before, strict=True):
            kept.copy_(earlier)
        self.progress.skipped += 1
        self._write("not_finite", {"where": culprit})
        self.records.display.note(f"Skipped step {step}: non-finite {culprit}.")
        if self.settings.not_finite == "stop" or self.progress.skipped >= MAX_SKIPPED:
            raise RegardError(
                f"Training stopped at step {step} because of a non-finite {culprit}: lower "
                f"training.optimizer.rate and start a new run; {self.records.kept()}."
            )

    def _log(self) -> None:
        progress = self.progress
        for part in self.plan.parts[1:]:
            if part.after == progress.step:
                self._write("plan", {"steps": part.steps})
        left = self.time.left(self.plan, progress.step)
        self.records.display.advance(progress.step, self.plan.steps, left)
        if progress.step % self.settings.log_every or not progress.tokens:
            return
        facts = {
            "loss": progress.loss / progress.tokens,
            "rate": self.settings.optimizer.rate_at(progress.step, self.plan.moment(progress.step)),
            "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9), 1),
            "time": round(self.time.elapsed, 1),
        }
        self._write("train", facts)
        self.records.display.step(progress.step, facts["loss"], facts["tokens_per_second"])
        progress.loss, progress.tokens, progress.seconds = 0.0, 0, 0.0

    def _write(self, event: str, facts: Mapping[str, Any]) -> None:
        if self.ranks.first:
            self.records.write(event, self.progress.step, facts)

    def _validate(self) -> tuple[bool, bool]:
        """Score the averaged weights: whether they are the best so far, and whether to stop.

        A validation that a signal ended is repeated when training resumes.
        """
        progress, metric = self.progress, self.metric
        scores = self._scores()
        stop, score, loss = self.ranks.broadcast(
            [float(not scores), scores.get(metric, 0.0), scores.get("loss", 0.0)]
        )
        if self._agree(stop > 0):
            return False, True
        self._write("validation", scores)
        if self.ranks.first:
            self.records.display.validation(progress.step, scores)
        progress.due = False
        is_best = progress.compare(score if higher_is_better(metric) else -score, loss)
        progress.finished = progress.step >= self.plan.steps or (
            0 < self.settings.patience <= progress.stale
        )
        return is_best, False

    def _scores(self) -> Scores:
        """The scores of the averaged weights; empty if a process must stop or is out of memory."""
        with self.average.applied(), self.time.validating():
            self.model.eval()
            try:
                found = self._validation()
            finally:
                self.model.train()
        if found is None:
            return {}
        if self.plan.limit is not None and self.plan.lines is None:
            self.plan = replace(self.plan, lines=found.lines)
            if self.ranks.first:
                self.records.save_plan(self.plan)
        return found.scores

    def _validation(self) -> Optional[Validation]:
        """Piece by piece, until it is done or a process must stop.

        In a budget of minutes the first validation decides by how many lines models are scored.
        """
        pieces = self.validate(self.model, self.progress.step, self.plan.lines)
        longest = self.time.longest_validation(self.plan)
        began, enough = self.time.elapsed, False
        while True:
            try:
                pieces.send(enough) if enough else next(pieces)
            except StopIteration as end:
                found: Validation = end.value
                return found
            except (MemoryError, RuntimeError) as error:
                self._fail_validation(error)
            stop = self.signals.number is not None or self.error is not None
            late = self.ranks.first and self.time.elapsed - began > longest
            flags = torch.tensor([float(stop), float(late)])
            self.ranks.all_reduce(flags)
            if flags[0] > 0:
                pieces.close()
                return None
            enough = bool(flags[1] > 0)

    def _fail_validation(self, error: BaseException) -> None:
        """Training ends, once the step is saved, if memory ran out."""
        if not out_of_memory(error):
            raise error
        self.error = RegardError(
            f"Not enough memory for the validation of step {self.progress.step}; the step is "
            "saved: free some memory and run the same command."
        )

    def _tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint keeps, by the names of its files."""
        return {
            "weights": collect(self.model),
            "optimizer": optimizer_tensors(self.optimizer),
            "average": self.average.tensors,
        }

    def _save(self, must: bool) -> bool:
        """Whether the first process saved a checkpoint; all processes wait for it."""
        saved = True
        self.progress.elapsed = self.time.elapsed
        if self.settings.shard:
            groups = {
                name: own_tensors(self.model, group, self.ranks.first)
                for name, group in self._tensors().items()
            }
            with self.time.saving():
                return self.records.save_sharded(self.progress, groups, must, self.ranks)
        if self.ranks.first:
            with self.time.saving():
                saved = self.records.save(self.progress, self._tensors(), must)
        (all_saved,) = self.ranks.broadcast([float(saved)])
        self.ranks.barrier()
        return all_saved > 0
