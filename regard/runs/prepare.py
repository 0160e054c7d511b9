"""From raw text to encoded data: files are read and checked, tokenizers made, pairs encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from regard.data.corpus import Pair, Pairs
from regard.data.doctor import Profile, examine, overlap, refuse_swapped
from regard.data.store import Store
from regard.data.tokenizers import Tokenizers
from regard.data.trees import must_fit
from regard.errors import UsageError
from regard.recipes import Config
from regard.runs.folder import Run
from regard.training.display import Display

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
        raise UsageError(
            f"Give both --{part}source and --{part}target, or one TSV file as --{part}pairs."
        )

    def open_target(self, part: str) -> Pairs:
        """The lines of one file, each with an empty source."""
        if self.target is None or self.source is not None or self.pairs is not None:
            raise UsageError(
                f"A language model reads no source: give its text as --{part}target alone."
            )
        return Pairs.of_target(Path(self.target))

    def open_for(self, config: Config, part: str) -> Pairs:
        """What a model of this config learns from."""
        must_fit(config.reads_heads, self.source_heads is not None, f"--{part}source-heads")
        return self.open(part) if config.reads_source else self.open_target(part)


@dataclass(frozen=True)
class CheckedData:
    """The files of a run, read through once and found usable."""

    pairs: Pairs
    held: Optional[Pairs]
    kept: int
    notes: list[str]
    profile: Profile
    fingerprint: dict[str, list[str]]


def read_data(config: Config, files: Files, valid: Files, display: Display) -> CheckedData:
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
    return CheckedData(pairs, held, report.kept, notes, examination.profile, fingerprint)


def prepare(
    run: Run, reading: Optional[CheckedData], tokenizer: Optional[PathLike], display: Display
) -> None:
    """Make the tokenizers and encode; what is done already is not done again."""
    known = run.data
    complete = "pairs" in known
    if reading is None:
        if not complete or not run.has_store("train") or not run.has_store("valid"):
            raise UsageError("This run has no data yet: give the whole command again.")
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
        run.save_data_facts({"fingerprint": reading.fingerprint})
    _encode(run, training, validation, tokenizer, display)
    if not complete:
        shared = overlap(training(), validation())
        if shared > 0.01:
            display.note(f"{shared:.0%} of the validation pairs are training pairs as well.")
        run.save_data_facts(
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
                    raise UsageError(
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
        raise UsageError(
            f"{run.path} was begun with another tokenizer: give the same one to go on with it, or "
            "another --run to begin anew."
        )


def _same_data(run: Run, before: Any, now: dict[str, list[str]]) -> None:
    if not isinstance(before, dict):
        raise UsageError(f"{run.path / 'data.json'} was damaged: restore it from a copy.")
    changed = [part for part in ("train", "valid") if before.get(part) != now.get(part)]
    if changed:
        raise UsageError(
            f"{run.path} was begun with other data (the {' and '.join(changed)} files differ): "
            "give the same files to go on with it, or another --run to begin anew."
        )


def _hold_out(
    pairs: Pairs, count: int, seed: int
) -> tuple[Callable[[], Iterator[Pair]], Callable[[], Iterator[Pair]], str]:
    """Without validation files, some of the training pairs are kept for it and not trained on."""
    if count < 2:
        raise UsageError("One pair is not enough to train on and to validate with: give more.")
    size = min(1000, max(1, count // 20))
    chosen = np.random.default_rng(seed).choice(count, size, replace=False)
    places = frozenset(chosen.tolist())
    texts = {(pair.source, pair.target) for place, pair in enumerate(pairs) if place in places}

    def training() -> Iterator[Pair]:
        return (pair for pair in pairs if (pair.source, pair.target) not in texts)

    def validation() -> Iterator[Pair]:
        return (pair for place, pair in enumerate(pairs) if place in places)

    if next(training(), None) is None:
        raise UsageError("All pairs are the same: give training data with different pairs.")
    note = f"Held out {size:,} of {count:,} pairs for validation; they are not trained on."
    return training, validation, note
