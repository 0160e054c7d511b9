"""Training from raw text to a run: data checked, tokenizers, encoding, budget, training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from regard.config import differences, override
from regard.data.corpus import Pair, Pairs
from regard.data.doctor import Profile, examine, overlap, refuse_swapped
from regard.data.heads import must_fit
from regard.data.sides import Tokenizers
from regard.data.store import Batches, Store
from regard.memory import bounded_memory, keep_memory
from regard.models.base import Model
from regard.picture import draw_curves
from regard.problem import Misuse, Problem, Stopped
from regard.recipes import Budget, Config, find_recipe
from regard.run import Run
from regard.training.display import Display
from regard.training.ranks import Ranks
from regard.training.trainer import Trainer
from regard.validation import validator

PathLike = Union[str, Path]


@dataclass(frozen=True)
class Files:
    """Where the pairs of one part come from: two files of lines, or one TSV; and, for a model that
    reads dependency trees, a file with the heads of the source words."""

    source: Optional[PathLike] = None
    target: Optional[PathLike] = None
    pairs: Optional[PathLike] = None
    source_heads: Optional[PathLike] = None

    def given(self) -> bool:
        paths = (self.source, self.target, self.pairs, self.source_heads)
        return any(path is not None for path in paths)

    def open(self, part: str) -> Pairs:
        """`part` is the beginning of the options' names, for the error."""
        heads = None if self.source_heads is None else Path(self.source_heads)
        if self.pairs is not None and self.source is None and self.target is None:
            return Pairs.of_tsv(Path(self.pairs), heads)
        if self.source is not None and self.target is not None and self.pairs is None:
            return Pairs.of_files(Path(self.source), Path(self.target), heads)
        raise Misuse(
            f"Give both --{part}source and --{part}target, or one TSV file as --{part}pairs."
        )

    def open_target(self, part: str) -> Pairs:
        """The lines of one file, each with an empty source."""
        if self.target is None or self.source is not None or self.pairs is not None:
            raise Misuse(
                f"A language model reads no source: give its text as --{part}target alone."
            )
        return Pairs.of_target(Path(self.target))

    def open_for(self, config: Config, part: str) -> Pairs:
        """What a model of this config learns from."""
        must_fit(config.reads_heads, self.source_heads is not None, f"--{part}source-heads")
        return self.open(part) if config.reads_source else self.open_target(part)


def train(
    recipe: Optional[str] = None,
    *,
    run: PathLike,
    source: Optional[PathLike] = None,
    target: Optional[PathLike] = None,
    pairs: Optional[PathLike] = None,
    source_heads: Optional[PathLike] = None,
    valid_source: Optional[PathLike] = None,
    valid_target: Optional[PathLike] = None,
    valid_pairs: Optional[PathLike] = None,
    valid_source_heads: Optional[PathLike] = None,
    tokenizer: Optional[PathLike] = None,
    steps: Optional[int] = None,
    epochs: Optional[float] = None,
    minutes: Optional[float] = None,
    save_every: Optional[int] = None,
    seed: Optional[int] = None,
    settings: Sequence[str] = (),
    quiet: bool = False,
) -> Run:
    """Train a recipe on parallel text into a run folder; an existing run is gone on with.

    A language model is trained on a target alone.
    With `run` alone, a run that was begun is resumed from its folder.
    """
    keep_memory()
    ranks = Ranks.join()
    display = Display(quiet=quiet or not ranks.first)
    files = Files(source, target, pairs, source_heads)
    valid = Files(valid_source, valid_target, valid_pairs, valid_source_heads)
    path = Path(run)
    config = _config(recipe, steps, epochs, minutes, save_every, seed, settings)
    if config is None and not Run.exists(path):
        raise Misuse("Give a recipe, such as tiny, and the files to train on.")
    if config is not None and not files.given():
        needed = "--source and --target, or --pairs" if config.reads_source else "--target"
        raise Misuse(f"Give the files to train on: {needed}.")
    try:
        if ranks.first:
            with (
                _prepared(path, config, files, valid, tokenizer, display, ranks) as experiment,
                ranks.with_peers(path, experiment.processes()) as all_ranks,
            ):
                return train_rank(experiment, all_ranks, display)
        (ready,) = ranks.share([0.0])
        if not ready:
            raise Problem("The first process could not begin and has said why.")
        return train_rank(Run.open(path), ranks, display)
    finally:
        ranks.leave()


@contextmanager
def _prepared(
    path: Path,
    config: Optional[Config],
    files: Files,
    valid: Files,
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
            run, reading = _again(path, config), None
        else:
            assert config is not None
            Run.must_be_free(path)
            reading = _read(config, files, valid, display)
            run = begun = Run.create(path, config)
        with run.locked():
            if reading is None and files.given():
                reading = _read(run.config, files, valid, display)
            _prepare(run, reading, tokenizer, display)
            ready = True
            ranks.share([1.0])
            yield run
    except Misuse:
        if begun is not None:
            begun.discard()
        raise
    finally:
        if not ready:
            ranks.share([0.0])


def _config(
    recipe: Optional[str],
    steps: Optional[int],
    epochs: Optional[float],
    minutes: Optional[float],
    save_every: Optional[int],
    seed: Optional[int],
    settings: Sequence[str],
) -> Optional[Config]:
    """The complete config that was asked for; None if nothing but a run was given."""
    budget = {"steps": steps, "epochs": epochs, "minutes": minutes}
    given = {name: value for name, value in budget.items() if value is not None}
    if len(given) > 1:
        raise Misuse(f"Give one budget only, not {' and '.join('--' + name for name in given)}.")
    if recipe is None:
        if given or save_every is not None or seed is not None or settings:
            raise Misuse("Give the recipe too, as when the run was begun.")
        return None
    assignments = []
    if save_every is not None:
        assignments.append(f"training.save_every={save_every}")
    if seed is not None:
        assignments.append(f"training.seed={seed}")
    config = override(find_recipe(recipe), [*assignments, *settings])
    if given:
        empty = Budget.model_construct(steps=None, epochs=None, minutes=None)
        config = config.model_copy(update={"budget": empty})
        config = override(config, [f"budget.{name}={value}" for name, value in given.items()])
    return config


def _again(path: Path, config: Optional[Config]) -> Run:
    """The run that is there, if it has the same config."""
    run = Run.open(path)
    if config is not None and (changes := differences(run.config, config)):
        raise Misuse(
            f"{path} was begun with other settings ({'; '.join(changes)}): give the same ones to "
            "go on with it, or another --run to begin anew."
        )
    return run


@dataclass(frozen=True)
class Reading:
    """The files of a run, read through once and found usable."""

    pairs: Pairs
    held: Optional[Pairs]
    kept: int
    notes: list[str]
    profile: Profile
    fingerprint: dict[str, list[str]]


def _read(config: Config, files: Files, valid: Files, display: Display) -> Reading:
    pairs = files.open_for(config, "")
    held = valid.open_for(config, "valid-") if valid.given() else None
    with display.waiting("reading the data"):
        report = pairs.check()
        examination = examine(pairs)
        notes = [*report.sentences(), *examination.warnings]
        if held is not None:
            notes += held.check().sentences()
            refuse_swapped(examination.profile, held, "the validation files")
    fingerprint = _fingerprint(pairs, held)
    return Reading(pairs, held, report.kept, notes, examination.profile, fingerprint)


def _prepare(
    run: Run, reading: Optional[Reading], tokenizer: Optional[PathLike], display: Display
) -> None:
    """Make the tokenizers and encode; what is done already is not done again."""
    known = run.data
    complete = "pairs" in known
    if reading is None:
        if not complete or not run.has_store("train") or not run.has_store("valid"):
            raise Misuse("This run has no data yet: give the whole command again.")
        return
    if known:
        _same_data(run, known.get("fingerprint"), reading.fingerprint)
    notes, pairs = list(reading.notes), reading.pairs
    if reading.held is None:
        training, validation, note = _hold_out(pairs, reading.kept, run.config.training.seed)
        notes.append(note)
    else:
        training, validation = pairs.__iter__, reading.held.__iter__
    if not complete:
        for note in notes:
            display.note(note)
        # Said before anything is encoded, so that what is found here later is known to be of it.
        run.keep_data({"fingerprint": reading.fingerprint})
    _encode(run, training, validation, tokenizer, display)
    if not complete:
        shared = overlap(training(), validation())
        if shared > 0.01:
            display.note(f"{shared:.0%} of the validation pairs are training pairs as well.")
        run.keep_data(
            {
                "fingerprint": reading.fingerprint,
                "pairs": {"train": len(run.store("train")), "valid": len(run.store("valid"))},
                "notes": notes,
                "profile": reading.profile.to_json(),
            }
        )


def _encode(
    run: Run,
    training: Callable[[], Iterator[Pair]],
    validation: Callable[[], Iterator[Pair]],
    tokenizer: Optional[PathLike],
    display: Display,
) -> None:
    settings = run.config.tokenizer
    if not run.has_tokenizers():
        with display.waiting("making the tokenizer"):
            if tokenizer is not None:
                sides = Tokenizers.given(Path(tokenizer))
                if run.config.model.tying == "all" and not sides.joint:
                    raise Misuse(
                        f"{tokenizer} has a vocabulary for each side: set model.tying=target, or "
                        "give a tokenizer for both."
                    )
            else:
                sides = Tokenizers.train(
                    settings,
                    lambda: (pair.source for pair in training() if pair.source),
                    lambda: (pair.target for pair in training()),
                )
            sides.save(run.path)
    elif tokenizer is not None:
        _same_tokenizers(run, Tokenizers.given(Path(tokenizer)))
    sides = run.tokenizers()
    limit = run.config.max_pieces
    for part, stream in (("train", training), ("valid", validation)):
        if not run.has_store(part):
            keep_text = part == "valid" or settings.sampling > 0
            with display.waiting(f"encoding the {part} data"):
                store = Store.write(
                    run.store_folder(part),
                    stream(),
                    sides,
                    limit,
                    keep_text,
                    with_heads=run.config.reads_heads,
                )
            if store.skipped:
                display.note(f"Skipped {store.skipped:,} {part} pairs of more than {limit} pieces.")


def _fingerprint(pairs: Pairs, held: Optional[Pairs]) -> dict[str, list[str]]:
    """The hashes of the files, by part; where they lie does not matter."""
    parts = {"train": list(pairs.fingerprint().values())}
    if held is not None:
        parts["valid"] = list(held.fingerprint().values())
    return parts


def _same_tokenizers(run: Run, given: Tokenizers) -> None:
    own = run.tokenizers()
    pairs = ((own.source, given.source), (own.target, given.target))
    if any((old.content(), old.size) != (new.content(), new.size) for old, new in pairs):
        raise Misuse(
            f"{run.path} was begun with another tokenizer: give the same one to go on with it, or "
            "another --run to begin anew."
        )


def _same_data(run: Run, before: Any, now: dict[str, list[str]]) -> None:
    if not isinstance(before, dict):
        raise Misuse(f"{run.path / 'data.json'} was damaged: restore it from a copy.")
    changed = [part for part in ("train", "valid") if before.get(part) != now.get(part)]
    if changed:
        raise Misuse(
            f"{run.path} was begun with other data (the {' and '.join(changed)} files differ): "
            "give the same files to go on with it, or another --run to begin anew."
        )


def _hold_out(
    pairs: Pairs, count: int, seed: int
) -> tuple[Callable[[], Iterator[Pair]], Callable[[], Iterator[Pair]], str]:
    """Without validation files, some of the training pairs are kept for it and not trained on."""
    if count < 2:
        raise Misuse("One pair is not enough to train on and to validate with: give more.")
    size = min(1000, max(1, count // 20))
    chosen = np.random.default_rng(seed).choice(count, size, replace=False)
    places = frozenset(chosen.tolist())
    texts = {(pair.source, pair.target) for place, pair in enumerate(pairs) if place in places}

    def training() -> Iterator[Pair]:
        return (pair for pair in pairs if (pair.source, pair.target) not in texts)

    def validation() -> Iterator[Pair]:
        return (pair for place, pair in enumerate(pairs) if place in places)

    if next(training(), None) is None:
        raise Misuse("All pairs are the same: give training data with different pairs.")
    note = f"Held out {size:,} of {count:,} pairs for validation; they are not trained on."
    return training, validation, note


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
    ranks.wait()
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
        run.must_be_of(checkpoint)
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
        raise Stopped(text, trainer.stop_signal)
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
    (shared,) = ranks.share([float(run.steps or 0)])
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
    (shared,) = ranks.share([max(1.0, round(steps))])
    if ranks.first:
        run.keep_steps(int(shared))
    return int(shared)


TRAINING_SHARE = 0.9
"""Of a budget in minutes; the rest is for validating and saving."""
