"""The one training loop: every architecture, every budget, resumable bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Optional

import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.data.store import Batches, Offset
from regard.errors import RegardError
from regard.metrics.table import higher_is_better
from regard.models.base import Model
from regard.models.weights import collect, install
from regard.nn.dropout import set_dropout
from regard.processes.memory import out_of_memory
from regard.processes.ranks import Ranks
from regard.training.checkpoint import Checkpoint
from regard.training.guard import NOT_REPRODUCIBLE, find_non_finite, statistics
from regard.training.halving import Halving
from regard.training.optimizers import optimizer_tensors, restore_optimizer
from regard.training.progress import Progress
from regard.training.records import Records
from regard.training.settings import TrainingSettings
from regard.training.signals import SignalReceived, StopSignals

Scores = Mapping[str, float]
Validate = Callable[[Model, int], Scores]

MAX_SKIPPED = 10
"""Consecutive steps that may be skipped before training stops."""


class Trainer:
    """Turns batches into updates, until it has taken the given number of steps; `metric` is the
    validation score that decides which checkpoint is best."""

    def __init__(
        self,
        model: Model,
        batches: Batches,
        settings: TrainingSettings,
        steps: int,
        metric: str,
        validate: Validate,
        records: Records,
        ranks: Ranks,
    ) -> None:
        self.model = model
        self.batches = batches
        self.settings = settings
        self.steps = steps
        self.metric = metric
        self.validate = validate
        self.records = records
        self.ranks = ranks
        self.optimizer = settings.optimizer.build(model, ranks)
        self.average = settings.average.build(model)
        self.halving = Halving(model, records.display.note)
        self.signals = StopSignals()
        self.progress = Progress()
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
        install(self.model, checkpoint.tensors("weights"))
        restore_optimizer(self.optimizer, checkpoint.tensors("optimizer"))
        self.average.restore(checkpoint.tensors("average"))
        self.progress = Progress(**checkpoint.progress())
        if self.ranks.first:
            self.records.journal.rewind(self.progress.step, validated=not self.progress.due)

    def run(self) -> Progress:
        """Train for all steps, or until a signal asks to stop."""
        self.model.train()
        display = self.records.display
        with self.signals.handled(), display.training(self.steps, self.progress.step):
            self._loop()
        return self.progress

    def _loop(self) -> None:
        progress, settings = self.progress, self.settings
        stream = self.batches.from_offset(Offset(**progress.offset))
        while not progress.finished and (progress.step < self.steps or progress.due):
            stopping = is_best = False
            if not progress.due:
                stopping = self._update(stream)
                self._log()
                last = progress.step == self.steps
                progress.due = last or progress.step % settings.validate_every == 0
            earlier = replace(progress)
            if progress.due and not stopping:
                is_best, stopping = self._validate()
            must = stopping or progress.finished
            saving = must or is_best or progress.step % settings.save_every == 0
            if saving and not self._save(must):
                progress.forget_best(earlier)
            if self.error is not None:
                raise self.error
            if stopping:
                return

    def _update(self, stream: Iterator[tuple[Batch, Offset]]) -> bool:
        """One step of the optimiser; true if this or another process was asked to stop."""
        began = time.perf_counter()
        progress, settings = self.progress, self.settings
        step = progress.step + 1
        taken = [next(stream) for _ in range(settings.accumulate)]
        tokens = sum(batch.tokens for batch, _ in taken)
        batches = [self.ranks.local_rows(batch) for batch, _ in taken]
        before = [each.clone() for each in statistics(self.model)]
        self._seed(step)
        set_dropout(self.model, settings.dropout_at(progress.offset["epoch"]))
        loss, norm, others_stop = self._gradients(batches, tokens)
        progress.step, progress.offset = step, asdict(taken[-1][1])
        if math.isfinite(loss) and math.isfinite(norm):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.optimizer.rate_at(step, self.steps)
            self.optimizer.step()
            self.average.update(step)
            progress.skipped = 0
            progress.loss += loss
            progress.tokens += tokens
        else:
            self._skip(step, batches, before)
        self.optimizer.zero_grad(set_to_none=True)
        progress.seconds += time.perf_counter() - began
        alone = self.ranks.size == 1
        return self._agree(self.signals.number is not None if alone else others_stop)

    def _seed(self, step: int) -> None:
        """Seeding each step by its number makes resuming exact without saving a generator."""
        torch.manual_seed(self.settings.seed * 1_000_003 + step * 1_009 + self.ranks.rank)

    def _gradients(self, batches: list[Batch], tokens: int) -> tuple[float, float, bool]:
        """The clipped gradients of the step, summed over the processes.

        Returns the summed nll, the norm before clipping, and whether any process was asked to stop.
        """
        loss = self.halving.backward(batches, tokens)
        stop = 0.0 if self.signals.number is None else 1.0
        parameters = list(self.model.parameters())
        extra = parameters[0].new_tensor([loss, stop])
        loss, stop = self.ranks.all_reduce_gradients(parameters, extra).tolist()
        clip = self.settings.optimizer.clip or math.inf
        return loss, float(torch.nn.utils.clip_grad_norm_(parameters, clip)), stop > 0

    def _agree(self, stop: bool) -> bool:
        """What all processes decided; one that received no signal itself ends as if it had."""
        if stop:
            self.signals.request()
            self.records.display.note("Stopping after saving.")
        return stop

    def _skip(self, step: int, batches: list[Batch], before: list[Tensor]) -> None:
        """Leave out an update that is not finite, and the statistics gathered in its step."""
        self._seed(step)
        found = self.ranks.gather_text(find_non_finite(self.model, batches))
        culprit = next((each for each in found if each != NOT_REPRODUCIBLE), NOT_REPRODUCIBLE)
        for kept, earlier in zip(statistics(self.model), before, strict=True):
            kept.copy_(earlier)
        self.progress.skipped += 1
        self._write("not_finite", {"where": culprit})
        self.records.display.note(f"Skipped step {step}: non-finite {culprit}.")
        if self.settings.not_finite == "stop" or self.progress.skipped >= MAX_SKIPPED:
            raise RegardError(
                f"Training stopped at step {step} because of a non-finite {culprit}: lower "
                "training.optimizer.rate and start a new run; the last good checkpoint is kept."
            )

    def _log(self) -> None:
        progress = self.progress
        if progress.step % self.settings.log_every or not progress.tokens:
            return
        facts = {
            "loss": progress.loss / progress.tokens,
            "rate": self.settings.optimizer.rate_at(progress.step, self.steps),
            "tokens_per_second": round(progress.tokens / max(progress.seconds, 1e-9), 1),
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
        scores: Scores = self._scores() if self.ranks.first else {}
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
        progress.finished = progress.step >= self.steps or (
            0 < self.settings.patience <= progress.stale
        )
        return is_best, False

    def _scores(self) -> Scores:
        """The scores of the averaged weights; empty if a signal arrived or memory ran out.

        The other processes are waiting, so this one may use a thread for each of them.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(max(threads, self.ranks.size))
        try:
            with self.average.applied(), self.signals.interrupting():
                self.model.eval()
                return self.validate(self.model, self.progress.step)
        except SignalReceived:
            return {}
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            self.error = RegardError(
                f"Not enough memory for the validation of step {self.progress.step}; the step is "
                "saved: free some memory and run the same command."
            )
            return {}
        finally:
            self.model.train()
            torch.set_num_threads(threads)

    def _save(self, must: bool) -> bool:
        """Whether the first process saved a checkpoint; all processes wait for it."""
        saved = True
        if self.ranks.first:
            groups = {
                "weights": collect(self.model),
                "optimizer": optimizer_tensors(self.optimizer),
                "average": self.average.tensors,
            }
            saved = self.records.save(self.progress, groups, must)
        (all_saved,) = self.ranks.broadcast([float(saved)])
        self.ranks.barrier()
        return all_saved > 0
