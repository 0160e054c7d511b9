"""Training a recipe into a run: config, processes, budget, training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Optional

from regard.config import check, differences, override
from regard.data.parallel import Parallel, PathLike
from regard.data.store import Batches
from regard.drawing.curves import save_curves
from regard.errors import Interrupted, RegardError, UsageError
from regard.processes.memory import bounded_memory
from regard.processes.peers import with_peers
from regard.processes.ranks import Ranks
from regard.recipes import Config, find_recipe
from regard.runs.folder import Run
from regard.runs.identity import check_matches, identity
from regard.runs.load import build_model
from regard.runs.plan import plan_processes, plan_steps
from regard.runs.prepare import prepare, read_data
from regard.runs.start import Start, check_same_start
from regard.runs.validate import validator
from regard.training.display import Display
from regard.training.records import Records
from regard.training.trainer import Trainer


def train(
    recipe: Optional[str] = None,
    data: Optional[Parallel] = None,
    *,
    run: PathLike,
    valid: Optional[Parallel] = None,
    tokenizer: Optional[PathLike] = None,
    start: Optional[PathLike] = None,
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    settings: Sequence[str] = (),
    quiet: bool = False,
) -> Run:
    """Train a recipe on parallel text into a run folder; an existing run is resumed.

    A language model is trained on a target alone. Without `valid`, some pairs are held out.
    With `run` alone, an existing run is resumed from its folder. `start` is another run whose
    weights and tokenizers a new run starts with, or RUN:encoder for that part of its model.
    """
    path = Path(run)
    with Ranks.join() as ranks:
        display = Display(quiet=quiet or not ranks.first)
        if not ranks.first:
            return _follow(path, ranks, display)
        with ExitStack() as stack:
            with _reporting_failure(ranks):
                origin = Start.of(start)
                config = _config(recipe, origin, path, steps, epochs, minutes, settings)
                prepared = _prepared(path, config, data, valid, tokenizer, origin, display)
                experiment = stack.enter_context(prepared)
                processes = plan_processes(experiment)
            together = stack.enter_context(with_peers(ranks, path, processes))
            together.broadcast([READY])
            return train_rank(experiment, together, display)


READY, FAILED = 1.0, 0.0
"""What the first process broadcasts once the run can be trained, or cannot be."""


@contextmanager
def _reporting_failure(ranks: Ranks) -> Iterator[None]:
    """Let the other processes end when the first one cannot prepare the run."""
    try:
        yield
    except BaseException:
        ranks.broadcast([FAILED])
        raise


def _follow(path: Path, ranks: Ranks, display: Display) -> Run:
    """What every process but the first does: wait until the run is ready, then train it."""
    (ready,) = ranks.broadcast([FAILED])
    if ready != READY:
        raise RegardError("The first process could not start and has reported why.")
    return train_rank(Run.open(path), ranks, display)


@contextmanager
def _prepared(
    path: Path,
    config: Optional[Config],
    data: Optional[Parallel],
    valid: Optional[Parallel],
    tokenizer: Optional[PathLike],
    start: Optional[Start],
    display: Display,
) -> Iterator[Run]:
    """The run, locked and ready to train.

    A usage error leaves no new run behind, so that the command can be corrected and repeated.
    """
    if config is None and not Run.exists(path):
        raise UsageError("Give a recipe, such as tiny, and the files to train on.")
    if start is not None and tokenizer is not None:
        raise UsageError("--tokenizer has no effect with --from, which copies the tokenizer.")
    if config is not None and not data:
        needed = "--source and --target, or --pairs" if config.reads_source else "--target"
        raise UsageError(f"Give the files to train on: {needed}.")
    created: Optional[Run] = None
    try:
        if Run.exists(path):
            run, checked = _existing(path, config, start), None
        else:
            assert config is not None
            assert data is not None
            Run.check_free(path)
            if start is not None:
                start.check(config)
            checked = read_data(config, data, valid, display)
            run = created = Run.create(path, config)
        with run.locked():
            if checked is None and data:
                checked = read_data(run.config, data, valid, display)
            prepare(run, checked, tokenizer, start, display)
            checked = None  # may hold the whole text, which training does not need
            yield run
    except UsageError:
        if created is not None:
            created.discard()
        raise


def _config(
    recipe: Optional[str],
    start: Optional[Start],
    path: Path,
    steps: Optional[int],
    epochs: Optional[float],
    minutes: Optional[float],
    settings: Sequence[str],
) -> Optional[Config]:
    """The complete config, with all overrides; None if only a run was given."""
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    given = {name: value for name, value in budget.items() if value is not None}
    if len(given) > 1:
        raise UsageError(
            f"Give one budget only, not {' and '.join('--' + name for name in given)}."
        )
    if start is not None:
        config = start.config(recipe, settings, path)
    elif recipe is not None:
        config = override(find_recipe(recipe), settings)
    else:
        if given or settings:
            raise UsageError("Give the recipe too, as when the run was started.")
        return None
    if given:
        config = check(Config, {**config.model_dump(mode="json"), "budget": given})
    return config


def _existing(path: Path, config: Optional[Config], start: Optional[Start]) -> Run:
    """The existing run, if it has the same config."""
    run = Run.open(path)
    if config is not None:
        check_same_start(run, start)
    if config is not None and (changes := differences(run.config, config)):
        raise UsageError(
            f"{path} was started with other settings ({'; '.join(changes)}): give the same ones "
            "to resume it, or another --run to start a new one."
        )
    return run


def train_rank(run: Run, ranks: Ranks, display: Display) -> Run:
    """What each process does with a prepared run."""
    trainer = _trainer(run, ranks, display)
    _resume(run, trainer)
    _announce(run, trainer)
    with bounded_memory(ranks.size):
        progress = trainer.run()
    if ranks.first:
        with suppress(OSError):  # the training is saved; a full disk only costs its figure
            save_curves(run.path / "curves.svg", run.journal.curves(), "step")
        if progress.finished:
            display.note(
                f"Trained {progress.step:,} steps; best at step {progress.best_step:,}. "
                f"The curves are in {run.path / 'curves.svg'}."
            )
    if trainer.signals.number is not None and not progress.finished:
        text = f"Saved at step {progress.step:,}: run the same command to continue."
        raise Interrupted(text, trainer.signals.number)
    return run


def _trainer(run: Run, ranks: Ranks, display: Display) -> Trainer:
    """The trainer of a run, once the number of steps is known."""
    sides, config = run.tokenizers(), run.config
    model = build_model(run, sides)
    seed, sampling = config.training.seed, config.tokenizer.sampling
    store, kinds = run.store("train"), config.annotations
    batches = Batches(store, config.batch, sides, seed, sampling, kinds)
    records = Records(run.checkpoints(display.note), run.journal, display, identity(run))
    if ranks.first:
        records.checkpoints.prepare()
    ranks.barrier()
    with bounded_memory(ranks.size):
        steps = plan_steps(run, model, batches, ranks, display)
    validate = validator(run, sides)
    return Trainer(model, batches, config.training, steps, config.metric, validate, records, ranks)


def _resume(run: Run, trainer: Trainer) -> None:
    """Continue from the latest checkpoint, if there is one."""
    checkpoint = trainer.records.checkpoints.latest()
    if checkpoint is not None:
        check_matches(run, checkpoint)
        trainer.resume(checkpoint)
    elif trainer.ranks.first:
        run.journal.rewind(0)  # of an earlier start that ended before it saved anything


def _announce(run: Run, trainer: Trainer) -> None:
    note = trainer.records.display.note
    if trainer.progress.finished:
        note(f"{run.path} is finished: there is nothing left to train.")
    elif trainer.progress.step:
        note(f"Resuming {run.path} at step {trainer.progress.step:,}.")
    else:
        size = sum(parameter.numel() for parameter in trainer.model.parameters())
        note(
            f"Training {run.config.model.kind} of {size:,} parameters on "
            f"{len(run.store('train')):,} pairs for {trainer.steps:,} steps into {run.path}."
        )
