"""Training a recipe into a run: config, processes, budget, training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Optional

from regard.config import check, differences, override
from regard.data.parallel import Parallel, PathLike
from regard.data.store import Batches
from regard.drawing.curves import draw_curves
from regard.errors import Interrupted, RegardError, UsageError
from regard.models.base import Model
from regard.processes.memory import bounded_memory
from regard.processes.ranks import Ranks
from regard.recipes import Budget, Config, find_recipe
from regard.runs.folder import Run
from regard.runs.prepare import prepare, read_data
from regard.runs.validate import validator
from regard.training.display import Display
from regard.training.trainer import Trainer


def train(
    recipe: Optional[str] = None,
    data: Optional[Parallel] = None,
    *,
    run: PathLike,
    valid: Optional[Parallel] = None,
    tokenizer: Optional[PathLike] = None,
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    settings: Sequence[str] = (),
    quiet: bool = False,
) -> Run:
    """Train a recipe on parallel text into a run folder; an existing run is resumed.

    A language model is trained on a target alone. Without `valid`, some pairs are held out.
    With `run` alone, the run is resumed from what is in its folder.
    """
    ranks = Ranks.join()
    display = Display(quiet=quiet or not ranks.first)
    path = Path(run)
    config = _config(recipe, steps, epochs, minutes, settings)
    if config is None and not Run.exists(path):
        raise UsageError("Give a recipe, such as tiny, and the files to train on.")
    if config is not None and not data:
        needed = "--source and --target, or --pairs" if config.reads_source else "--target"
        raise UsageError(f"Give the files to train on: {needed}.")
    try:
        if ranks.first:
            with (
                _prepared(path, config, data, valid, tokenizer, display, ranks) as experiment,
                ranks.with_peers(path, experiment.processes()) as all_ranks,
            ):
                return train_rank(experiment, all_ranks, display)
        (ready,) = ranks.broadcast([0.0])
        if not ready:
            raise RegardError("The first process could not begin and has said why.")
        return train_rank(Run.open(path), ranks, display)
    finally:
        ranks.leave()


@contextmanager
def _prepared(
    path: Path,
    config: Optional[Config],
    data: Optional[Parallel],
    valid: Optional[Parallel],
    tokenizer: Optional[PathLike],
    display: Display,
    ranks: Ranks,
) -> Iterator[Run]:
    """The run, locked and ready to train, of which the other processes are told.

    Wrong use leaves no new run behind, so that the command can be put right and given again.
    """
    ready = False
    begun: Optional[Run] = None
    try:
        if Run.exists(path):
            run, checked = _again(path, config), None
        else:
            assert config is not None
            assert data is not None
            Run.check_free(path)
            checked = read_data(config, data, valid, display)
            run = begun = Run.create(path, config)
        with run.locked():
            if checked is None and data:
                checked = read_data(run.config, data, valid, display)
            prepare(run, checked, tokenizer, display)
            checked = None  # may hold the whole text, which training does not need
            ready = True
            ranks.broadcast([1.0])
            yield run
    except UsageError:
        if begun is not None:
            begun.discard()
        raise
    finally:
        if not ready:
            ranks.broadcast([0.0])


def _config(
    recipe: Optional[str],
    steps: Optional[int],
    epochs: Optional[float],
    minutes: Optional[float],
    settings: Sequence[str],
) -> Optional[Config]:
    """The complete config that was asked for; None if nothing but a run was given."""
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    given = {name: value for name, value in budget.items() if value is not None}
    if len(given) > 1:
        raise UsageError(
            f"Give one budget only, not {' and '.join('--' + name for name in given)}."
        )
    if recipe is None:
        if given or settings:
            raise UsageError("Give the recipe too, as when the run was started.")
        return None
    config = override(find_recipe(recipe), settings)
    if given:
        config = config.changed(budget=check(Budget, given))
    return config


def _again(path: Path, config: Optional[Config]) -> Run:
    """The run that is there, if it has the same config."""
    run = Run.open(path)
    if config is not None and (changes := differences(run.config, config)):
        raise UsageError(
            f"{path} was started with other settings ({'; '.join(changes)}): give the same ones "
            "to resume it, or another --run to start a new run."
        )
    return run


def train_rank(run: Run, ranks: Ranks, display: Display) -> Run:
    """What each process of a prepared run does."""
    sides = run.tokenizers()
    config = run.config
    model = run.build_model(sides)
    batches = Batches(
        run.store("train"), config.batch, sides, config.training.seed, config.tokenizer.sampling
    )
    checkpoints = run.checkpoints(display.note)
    if ranks.first:
        checkpoints.prepare()
    ranks.barrier()
    trainer = Trainer(
        model,
        batches,
        config.training,
        0,
        validator(run, sides),
        checkpoints,
        run.journal,
        display,
        run.identity(),
        ranks,
    )
    with bounded_memory(ranks.size):
        trainer.steps = _plan(run, trainer, batches, ranks, display)
    checkpoint = checkpoints.latest()
    if checkpoint is not None:
        run.check_matches(checkpoint)
        trainer.resume(checkpoint)
    elif ranks.first:
        run.journal.rewind(0)  # of a beginning that was killed before it saved anything
    _say_beginning(run, model, trainer, display)
    with bounded_memory(ranks.size):
        progress = trainer.run()
    if ranks.first:
        with suppress(OSError):  # what is trained is saved, and a full disk only lacks its picture
            draw_curves(run.journal, run.path / "curves.svg")
        if progress.finished:
            display.note(
                f"Trained {progress.step:,} steps; best at step {progress.best_step:,}. "
                f"The curves are in {run.path / 'curves.svg'}."
            )
    if trainer.stop_signal is not None and not progress.finished:
        text = f"Saved at step {progress.step:,}: the same command goes on from there."
        raise Interrupted(text, trainer.stop_signal)
    return run


def _say_beginning(run: Run, model: Model, trainer: Trainer, display: Display) -> None:
    size = sum(parameter.numel() for parameter in model.parameters())
    pairs = len(run.store("train"))
    if trainer.progress.finished:
        display.note(f"{run.path} is finished: there is nothing left to train.")
    elif trainer.progress.step:
        display.note(f"Going on with {run.path} at step {trainer.progress.step:,}.")
    else:
        display.note(
            f"Training {run.config.model.kind} of {size:,} parameters on {pairs:,} pairs for "
            f"{trainer.steps:,} steps into {run.path}."
        )


def _plan(run: Run, trainer: Trainer, batches: Batches, ranks: Ranks, display: Display) -> int:
    """The budget in steps, decided once and kept, so that the run stays reproducible."""
    budget = run.config.budget
    (shared,) = ranks.broadcast([float(run.steps or 0)])
    if shared:
        return int(shared)
    if budget.minutes is not None:
        with display.waiting("measuring how long a step takes"):
            seconds = trainer.rehearse(min(30.0, budget.minutes * 1.5))
        steps = budget.minutes * 60 * TRAINING_SHARE / seconds
    elif budget.epochs is not None:
        steps = budget.epochs * batches.epoch_batches() / run.config.training.accumulate
    else:
        assert budget.steps is not None
        steps = budget.steps
    (shared,) = ranks.broadcast([max(1.0, round(steps))])
    if ranks.first:
        run.save_steps(int(shared))
    return int(shared)


TRAINING_SHARE = 0.9
"""Of a budget in minutes; the rest is for validating and saving."""
