"""Training a recipe into a run: config, processes, budget, training."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Optional, Union

from regard.config import check, override
from regard.data.parallel import Parallel, PathLike, check_parallel
from regard.data.store import Batches
from regard.data.tokenizers import Tokenizers
from regard.drawing.curves import save_curves
from regard.errors import Interrupted, RegardError, UsageError
from regard.messages import counted
from regard.metrics.table import WRITTEN
from regard.models.base import Model
from regard.nn.fast.allocator import return_freed_memory
from regard.processes.devices import on_device
from regard.processes.limit import check_count
from regard.processes.memory import bounded_memory
from regard.processes.peers import with_peers
from regard.processes.ranks import Ranks, without_default_group
from regard.recipes import find_recipe
from regard.recipes.config import Budget, Config
from regard.runs.folder import Run
from regard.runs.identity import check_matches, check_same_config, identity
from regard.runs.languages import save_languages
from regard.runs.load import build_model
from regard.runs.plan import (
    device_of,
    extend_plan,
    make_plan,
    plan_device,
    plan_processes,
    save_plan,
)
from regard.runs.prepare import CheckedData, prepare, read_data
from regard.runs.start import Start, check_same_start
from regard.runs.transfer import score_after, score_before
from regard.runs.validate import Validator
from regard.training.board import check_log, logged
from regard.training.display import Display
from regard.training.plan import Plan
from regard.training.records import Records
from regard.training.trainer import Trainer


def train(
    recipe: Optional[Union[str, Config]] = None,
    data: Optional[Parallel] = None,
    *,
    run: PathLike,
    valid: Optional[Parallel] = None,
    tokenizer: Optional[PathLike] = None,
    start: Optional[PathLike] = None,
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    more: bool = False,
    settings: Sequence[str] = (),
    log: Optional[str] = None,
    quiet: bool = False,
    device: Optional[str] = None,
) -> Run:
    """Train a recipe on parallel text into a run folder; an existing run is resumed.

    A language model is trained on a target alone. Without `valid`, some pairs are held out.
    With `run` alone, an existing run is resumed from its folder; with `more`, a finished run is
    trained longer, by a budget in steps, epochs or minutes. `start` is another run whose
    weights and tokenizers a new run starts with, or RUN:encoder for that part of its model. With
    log="tensorboard", the curves are written for TensorBoard as well. `device` is auto, cpu, cuda
    or mps; without, a run continues on the device it was trained on, and a new one is trained on
    the CPU.
    """
    began = time.perf_counter()
    path = Path(run)
    check_log(log)
    check_parallel(data, valid)
    with Ranks.join() as ranks, on_device(device):
        display = Display(quiet=quiet or not ranks.first)
        if not ranks.first:
            return _follow(path, ranks, display)
        with ExitStack() as stack:
            with _reporting_failure(ranks):
                _check_resumable(path)
                budget, origin = _budget(steps, epochs, minutes), Start.of(start)
                config = None if more else _config(recipe, origin, path, budget, settings)
                config = _tagged(config, data)
                prepared = _prepared(path, config, data, valid, tokenizer, origin, display)
                experiment = stack.enter_context(prepared)
                if more:
                    _extend(experiment, budget, bool(recipe or settings), origin)
                plan_device(experiment, display.note)
                processes = plan_processes(experiment, ranks, display.note)
            stack.enter_context(logged(experiment.journal, path / "tensorboard", log))
            together = stack.enter_context(with_peers(ranks, path, processes))
            together.broadcast([READY])
            return train_rank(experiment, together, display, time.perf_counter() - began)


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
    if not Run.exists(path):
        raise UsageError(
            f"Process {ranks.rank} does not find {path}: give a folder that all machines share."
        )
    return train_rank(Run.open(path, verify=False), ranks, display, 0.0)


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

    An error before anything is trained leaves no new run behind, so that the command can be
    corrected and repeated.
    """
    if config is None and not Run.exists(path):
        raise UsageError(
            f"There is no run {path}: to start one, give a recipe, such as tiny, and the files to "
            "train on."
        )
    if start is not None and tokenizer is not None:
        raise UsageError("--tokenizer has no effect with --from, which copies the tokenizer.")
    if not data:
        _check_no_data(config, valid, tokenizer)
    checked: Optional[CheckedData] = None
    if not Run.exists(path):
        assert config is not None
        assert data is not None
        Run.check_free(path)
        if start is not None:
            start.check(config)
        checked = read_data(config, data, valid, display)
    with Run.locked(path):
        is_new = config is not None and not Run.exists(path)
        run = Run.create(path, config) if config and is_new else _existing(path, config, start)
        try:
            if checked is None and data:
                checked = read_data(run.config, data, valid, display)
            prepare(run, checked, tokenizer, start, display)
            save_languages(run, data, display.note)
            checked = None  # may hold the whole text, which training does not need
            yield run
        except (RegardError, MemoryError, RuntimeError):
            if is_new:
                run.discard()
            raise


def _check_no_data(
    config: Optional[Config], valid: Optional[Parallel], tokenizer: Optional[PathLike]
) -> None:
    """Without training files: refuse what needs them or is only looked at beside them."""
    if config is not None:
        needed = "--source and --target, or --pairs" if config.reads_source else "--target"
        raise UsageError(f"Give the files to train on: {needed}.")
    if valid:
        raise UsageError("Validation files have no effect without training files; remove them.")
    if tokenizer is not None:
        raise UsageError("--tokenizer has no effect without training files; remove it.")


def _budget(
    steps: Optional[int], epochs: Optional[float], minutes: Optional[float]
) -> Optional[Budget]:
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    given = {name: value for name, value in budget.items() if value is not None}
    if len(given) > 1:
        raise UsageError(
            f"Give one budget only, not {' and '.join('--' + name for name in given)}."
        )
    return check(Budget, given, options=True) if given else None


def _config(
    recipe: Optional[Union[str, Config]],
    start: Optional[Start],
    path: Path,
    budget: Optional[Budget],
    settings: Sequence[str],
) -> Optional[Config]:
    """The complete config, with all overrides; None if only a run was given."""
    if recipe is None and start is None:
        if budget is not None:
            raise UsageError(
                "Give the recipe too, as when the run was started; or --more to train a finished "
                "run longer."
            )
        if settings:
            raise UsageError("Give the recipe too, as when the run was started.")
        return None
    if start is not None:
        if isinstance(recipe, Config):
            raise UsageError("Give --from or --config, not both.")
        config = start.config(recipe, settings, path)
    else:
        assert recipe is not None
        config = override(find_recipe(recipe), settings)
    if not Run.exists(path):  # existing ones may have been started with any settings
        _refuse_ignored(config, settings)
    check_count(config.training.processes or 1, "training.processes")
    return config if budget is None else config.changed(budget=budget)


def _refuse_ignored(config: Config, settings: Sequence[str]) -> None:
    """Refuse settings that were asked for, but have no effect with this model."""
    asked = {setting.partition("=")[0].strip() for setting in settings}
    if "tokenizer.marker" in asked and not config.reads_sentences:
        raise UsageError(
            "tokenizer.marker has no effect with a model that reads no sentences; remove it."
        )
    if "search.beam" in asked and config.search.beam > 1 and config.writes in ("tags", "label"):
        written = WRITTEN[config.writes]
        raise UsageError(
            f"search.beam has no effect with a model that writes {written}; remove it."
        )


def _tagged(config: Optional[Config], data: Optional[Parallel]) -> Optional[Config]:
    """With tags of the target language, if the data has columns of languages."""
    if config is None or config.tokenizer.tags or not (data and data.has_language_columns):
        return config
    return override(config, ["tokenizer.tags=target"])


def _extend(
    run: Run, budget: Optional[Budget], other_settings: bool, start: Optional[Start]
) -> None:
    """Train a finished run longer with the settings it has."""
    if start is not None:
        raise UsageError("--from has no effect with --more; remove it.")
    if other_settings:
        raise UsageError("--more keeps the recipe and settings of the run: remove them.")
    if budget is None:
        raise UsageError("Say how much longer to train: give --minutes, --epochs or --steps.")
    extend_plan(run, budget)


def _check_resumable(path: Path) -> None:
    """Refuse a run that was made and not trained."""
    if Run.exists(path):
        Run.open(path).check_trained_here(
            f"there is nothing to resume; start a new run from it with --from {path}"
        )


def _existing(path: Path, config: Optional[Config], start: Optional[Start]) -> Run:
    """The existing run, if it has the same config."""
    run = Run.open(path)
    if config is not None:
        check_same_start(run, start)
        check_same_config(run, config, "another --run", longer=True)
    return run


def train_rank(run: Run, ranks: Ranks, display: Display, elapsed: float) -> Run:
    """What each process does with a prepared run; preparing it took `elapsed` seconds."""
    began = time.perf_counter()
    ranks = ranks.with_device(device_of(run))
    score_before(run, ranks, display)
    trainer = _trainer(run, ranks, display, elapsed + time.perf_counter() - began)
    trainer.progress.elapsed = elapsed + time.perf_counter() - began
    _resume(run, trainer)
    _announce(run, trainer)
    with bounded_memory(ranks.local_size, device_of(run)):
        progress = trainer.run()
    if ranks.first:
        with suppress(OSError):  # the training is saved; a full disk only costs its figure
            save_curves(run.path / "curves.svg", run.journal.curves(), "step")
        if progress.finished:
            display.note(
                f"Trained {counted(progress.step, 'step')}; best at step {progress.best_step:,}. "
                f"The curves are in {run.path / 'curves.svg'}."
            )
    if trainer.signals.number is not None and not progress.finished:
        text = f"Saved at step {progress.step:,}: run the same command to continue."
        raise Interrupted(text, trainer.signals.number)
    if progress.finished:
        score_after(run, ranks, display)
    return run


def _trainer(run: Run, ranks: Ranks, display: Display, elapsed: float) -> Trainer:
    """The trainer of a run, once the number of steps is known."""
    sides, config = run.tokenizers(), run.config
    model = _model(run, sides, ranks)
    seed, sampling = config.training.seed, config.tokenizer.sampling
    store, kinds = run.store("train"), config.annotations
    batches = Batches(store, config.batch, sides, seed, sampling, kinds)
    records = Records(
        run.checkpoints(display.note),
        run.journal,
        display,
        identity(run),
        partial(save_plan, run),
    )
    if ranks.first:
        records.checkpoints.prepare()
    ranks.barrier()
    with bounded_memory(ranks.local_size, model.device):
        plan = make_plan(run, model, batches, ranks, display, elapsed)
    validate = Validator(run, sides, display, ranks)
    return Trainer(model, batches, config.training, plan, config.metric, validate, records, ranks)


def _model(run: Run, sides: Tokenizers, ranks: Ranks) -> Model:
    """The model to be trained, or this process's part of it, where it is trained."""
    if not run.config.training.shard:
        return build_model(run, sides).to(device_of(run))
    with without_default_group():
        from regard.training.sharding import shard  # torch's part of it is slow to import

    return_freed_memory()
    model = build_model(run, sides)
    shard(model, ranks, device_of(run))
    return model


def _resume(run: Run, trainer: Trainer) -> None:
    """Continue from the latest checkpoint, if there is one; the first process verifies it."""
    checkpoints, ranks = trainer.records.checkpoints, trainer.ranks
    checkpoint = checkpoints.latest() if ranks.first else None
    (step,) = ranks.broadcast([float(checkpoint.step if checkpoint else 0)])
    if step and checkpoint is None:
        checkpoint = checkpoints.verified(int(step))
    if checkpoint is not None:
        check_matches(run, checkpoint)
        trainer.resume(checkpoint)
    elif ranks.first:
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
            f"Training {run.config.model.kind} of {counted(size, 'parameter')} on "
            f"{counted(len(run.store('train')), run.config.item)} for {_amount(trainer.plan)} into "
            f"{run.path}."
        )


def _amount(plan: Plan) -> str:
    """How long training is going to be; with a limit in time the number of steps is a guess."""
    steps = counted(plan.steps, "step")
    return steps if plan.limit is None else f"about {steps}"
