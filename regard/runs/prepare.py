"""From raw text to encoded data: reads and checks files, makes tokenizers, encodes pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Optional

import numpy as np

from regard.data.doctor import Examiner, Overlap, Profile, examined, swapped_among
from regard.data.line import Pair
from regard.data.parallel import Parallel, PathLike
from regard.data.reread import Reread
from regard.data.store import Store
from regard.data.tags import tags_in
from regard.data.targets import CLOSED, UNSEEN, Where, labels_of
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.messages import counted
from regard.metrics.table import Writes
from regard.recipes.config import Config
from regard.runs.directions import are_mixed, save_directions
from regard.runs.folder import PART_NAMES, Run
from regard.runs.start import Start
from regard.runs.transfer import copy_validation
from regard.search.base import Visits
from regard.training.display import Display

Stream = Callable[[], Iterator[Pair]]


@dataclass(frozen=True)
class CheckedData:
    """The files of a run, read once and found usable."""

    training: Reread
    validation: Optional[Reread]
    notes: list[str]
    profile: Profile

    @property
    def fingerprint(self) -> dict[str, list[str]]:
        """The hashes of the files by part, wherever they are, and what was chosen of them."""
        parts = {"train": list(self.training.report.fingerprint.values())}
        parts.update(self.training.choices)
        if self.validation is not None:
            parts["valid"] = list(self.validation.report.fingerprint.values())
            parts.update(
                {f"valid {name}": values for name, values in self.validation.choices.items()}
            )
        return parts


@dataclass(frozen=True)
class Parts:
    """The pairs to train on and those to validate with."""

    training: Stream
    validation: Stream
    held_out: bool  # the validation pairs are of the same files
    where: Mapping[str, Where]  # file and line of a target, by part


def read_data(
    config: Config, data: Parallel, valid: Optional[Parallel], display: Display
) -> CheckedData:
    """Read every file once: check, fingerprint and examine it."""
    data.check_teaches(config.annotations)
    training = Reread(config.pairs_of(data))
    validation = Reread(config.pairs_of(valid, "valid-")) if valid else None
    with display.waiting("reading the data"):
        examination = _examine(training, config.writes).examination()
        notes = [*training.report.sentences(), *examination.warnings]
        notes += _repeated(training, config.item)
        notes += _swapped_portions(training)
        notes += _never_written(training, config.search.visits)
        if validation is not None:
            examiner = _examine(validation, config.writes)
            notes += validation.report.sentences()
            if not are_mixed(training.report.directions):
                examiner.refuse_swapped(examination.profile, "the validation files")
    return CheckedData(training, validation, notes, examination.profile)


def _examine(pairs: Reread, writes: Writes) -> Examiner:
    examiner = Examiner(writes)
    for pair in pairs.first():
        examiner.add(pair)
    return examiner


def _repeated(training: Reread, item: str) -> list[str]:
    """A note if pairs are there several times; each copy is trained on."""
    count = training.report.kept
    copies = count - len(training.distinct())
    if not copies:
        return []
    verb = "repeats" if copies == 1 else "repeat"
    return [f"{copies:,} of {counted(count, item)} {verb} an earlier one."]


def _swapped_portions(training: Reread) -> list[str]:
    """A warning for each portion that looks swapped compared with the others; both directions may
    be wanted."""
    sizes = training.report.kept_of
    if len(sizes) == 1:
        return []
    names, examiners = [], []
    for portion, pairs in training.portions():
        names.append(portion.names)
        examiners.append(examined(pairs))
    return [
        f"The source and target of {names[index]} look swapped in comparison with the other files."
        for index in swapped_among(examiners, sizes)
    ]


def _never_written(training: Reread, visits: Visits) -> list[str]:
    """A note if search may not write some of the targets that are trained on."""
    if visits == "any":
        return []
    rows = ((pair.target.text.split(), len(pair.source.text.split())) for pair in training)
    repeats, gaps = 0, 0
    for indices, words in rows:
        different = len(set(indices))
        repeats += different < len(indices)
        gaps += visits == "all" and different < words
    return [
        f"search.visits={visits} never writes {counted(count, 'target')} of the training data, "
        f"where an index is {what}: set search.visits={'any' if repeats else 'once'}."
        for count, what in ((repeats, "repeated"), (gaps, "missing"))
        if count
    ]


def _parts(data: CheckedData, config: Config) -> tuple[Parts, list[str]]:
    """What to train on and what to validate on, and what to say about the data."""
    if data.validation is None:
        parts, note = _hold_out(data.training, config)
        return parts, [*data.notes, note]
    where = {"train": data.training.where, "valid": data.validation.where}
    parts = Parts(data.training.weighted, data.validation.__iter__, False, where)
    return parts, list(data.notes)


def prepare(
    run: Run,
    data: Optional[CheckedData],
    tokenizer: Optional[PathLike],
    start: Optional[Start],
    display: Display,
) -> None:
    """Make the tokenizers and encode the data, unless that has been done already."""
    known = run.facts("data")
    complete = "pairs" in known
    if data is None:
        if not complete or not run.has_store("train") or not run.has_store("valid"):
            raise UsageError(
                f"The data of {run.path} is missing, damaged or incomplete: repeat the whole "
                "command that started the run, with its files, to make it again."
            )
        return
    if known:
        _check_same_data(run, known.get("fingerprint"), data.fingerprint)
    _check_repeatable(run, data, known)
    parts, notes = _parts(data, run.config)
    facts: dict[str, Any] = {"fingerprint": data.fingerprint}
    if not complete:
        for note in notes:
            display.note(note)
        if start is not None:
            facts["start"] = start.copy_to(run, display.note)
            if not start.part:
                copy_validation(run, Run.open(start.path))
        # Saved before anything is encoded, so that what is found here later belongs to this data.
        run.save_facts("data", facts)
    for part in ("train", "valid"):
        if complete and not run.has_store(part):
            display.note(
                f"The {PART_NAMES[part]} data of {run.path} was damaged or missing; encoding it "
                "again."
            )
    _prepare_tokenizers(run, parts.training, tokenizer, display)
    unknown = _why_unknown(run.config, own=tokenizer is None and start is None)
    shared = _encode(run, parts, unknown, display)
    if not complete:
        if tokenizer is not None or start is not None:
            _note_split_tags(run, data.training, display)
        save_directions(run, data.training.report.directions)
        if shared > 0.01:
            display.note(f"{shared:.0%} of the validation pairs are training pairs as well.")
        sizes = {part: len(run.store(part)) for part in ("train", "valid")}
        profile = data.profile.to_json()
        run.save_facts("data", {**facts, "pairs": sizes, "notes": notes, "profile": profile})


def _prepare_tokenizers(
    run: Run, training: Stream, tokenizer: Optional[PathLike], display: Display
) -> None:
    given = None if tokenizer is None else _given_tokenizers(Path(tokenizer), run.config)
    if run.has_tokenizers():
        if given is not None:
            _check_same_tokenizers(run, given)
        return
    with display.waiting("making the tokenizer"):
        if given is None:
            given = Tokenizers.train(
                run.config.tokenizer,
                lambda: (pair.source.text for pair in training() if pair.source.text),
                lambda: (pair.target.text for pair in training()),
                whole=run.config.model.copies,
            )
        given.save(run.path)


def _given_tokenizers(path: Path, config: Config) -> Tokenizers:
    given = Tokenizers.given(path)
    needing_one = {
        "model.copying=false": config.model.copies,
        "model.tying=target": config.model.tying == "all",
    }
    if not given.joint and any(needing_one.values()):
        changes = " and ".join(change for change, needed in needing_one.items() if needed)
        raise UsageError(
            f"{path} has a vocabulary for each side: set {changes}, or give a tokenizer for both."
        )
    return given.whole() if config.model.copies else given


def _why_unknown(config: Config, own: bool) -> str:
    """Why the tokenizer, the run's own or a given one, may lack a tag or label of the training
    data."""
    if own:
        size = config.tokenizer.vocabulary
        return f"for which a vocabulary of {size:,} has no room: raise tokenizer.vocabulary"
    return (
        "which the tokenizer of --from or --tokenizer does not have: correct it, or leave that "
        "option out"
    )


def _note_split_tags(run: Run, training: Reread, display: Display) -> None:
    """Say which tags a tokenizer that was made for other text does not know."""
    tags = tags_in(pair.source.text for pair in training)
    encoded = run.tokenizers().source.encode(tags)
    split = [tag for tag, ids in zip(tags, encoded, strict=True) if len(ids) > 1]
    if split:
        display.note(
            f"The tokenizer does not know {', '.join(split)}: it splits each into several pieces."
        )


def _encode(run: Run, parts: Parts, unknown: str, display: Display) -> float:
    """Write the stores that are not there yet; the share of validation pairs that were met in
    training. `unknown` says why the tokenizer lacks a tag or label to train on."""
    overlap = Overlap(() if parts.held_out else parts.validation())
    if not run.has_store("train"):
        training, where = overlap.watch(parts.training()), parts.where["train"]
        _write_store(run, "train", training, where, unknown, display)
    if not run.has_store("valid"):
        where = parts.where["valid"]
        _write_store(run, "valid", parts.validation(), where, UNSEEN, display)
    return overlap.share


def _write_store(
    run: Run, part: str, pairs: Iterator[Pair], where: Where, unknown: str, display: Display
) -> None:
    config = run.config
    with display.waiting(f"encoding the {PART_NAMES[part]} data"):
        store = Store.write(
            run.store_folder(part),
            pairs,
            run.tokenizers(),
            config.max_pieces,
            keep_text=part == "valid" or config.tokenizer.sampling > 0,
            annotations=config.annotations,
            writes=config.writes,
            where=where,
            unknown=unknown,
        )
    if store.skipped:
        display.note(
            f"Skipped {counted(store.skipped, f'{PART_NAMES[part]} pair')} with more than "
            f"{counted(config.max_pieces, 'piece')}."
        )


def _check_repeatable(run: Run, data: CheckedData, known: Mapping[str, Any]) -> None:
    """Refuse to encode again what an earlier version held out in another way than this one."""
    if not known or run.is_sealed or data.validation is not None:
        return
    repeated = len(data.training.distinct()) < data.training.report.kept
    if repeated and not (run.has_store("train") and run.has_store("valid")):
        raise UsageError(
            f"The data of {run.path} is damaged, and an earlier version of regard held out its "
            "validation pairs differently: restore the folder data from a copy, or start a new "
            "run."
        )


def _check_same_tokenizers(run: Run, given: Tokenizers) -> None:
    own = run.tokenizers()
    pairs = ((own.source, given.source), (own.target, given.target))
    if any((old.content(), old.size) != (new.content(), new.size) for old, new in pairs):
        raise UsageError(
            f"{run.path} was started with another tokenizer: give the same one to resume it, or "
            "choose another folder for a new run."
        )


def _check_same_data(run: Run, before: Any, now: dict[str, list[str]]) -> None:
    if not isinstance(before, dict):
        raise UsageError(f"{run.path / 'data.json'} is corrupt: restore it from a copy.")
    changed = [part for part in {**before, **now} if before.get(part) != now.get(part)]
    if changed:
        files = [part for part in ("train", "valid") if part in changed]
        what = f"{' and '.join(files)} files" if files else " and ".join(changed)
        raise UsageError(
            f"{run.path} was started with other data (the {what} differ): give the same again to "
            "resume it, or choose another folder for a new run."
        )


def _hold_out(pairs: Reread, config: Config) -> tuple[Parts, str]:
    """Without validation files, some of the training pairs are used for it and not trained on.

    They are chosen among the distinct pairs, and no copy of them is trained on either.
    """
    count, distinct = pairs.report.kept, pairs.distinct()
    if len(distinct) < 2:
        raise UsageError(
            f"One {config.item} is not enough to train and validate on: give more."
            if count < 2
            else f"All {config.item}s are the same: give different ones to train on."
        )
    size = min(1000, max(1, len(distinct) // 20))
    random = np.random.default_rng(config.training.seed)
    ranks = random.choice(len(distinct), size, replace=False)
    chosen = frozenset(distinct.indices(ranks).tolist())
    held = [pair for index, pair in enumerate(pairs) if index in chosen]
    held = _with_known_labels(held, pairs.weighted(), config.writes)
    size = len(held)
    texts = {pair.texts for pair in held}

    def training() -> Iterator[Pair]:
        return (each for each in pairs.weighted() if each.texts not in texts)

    copies = sum(pair.texts in texts for pair in pairs) - size
    among = (
        counted(count, config.item)
        if len(distinct) == count
        else f"{len(distinct):,} different {config.item}s"
    )
    note = f"Held out {size:,} of {among} for validation; none of these is trained on"
    note += f", and no copy of them ({copies:,} in all)." if copies else "."
    where = {"train": pairs.where, "valid": pairs.where}
    return Parts(training, held.__iter__, True, where), note


def _with_known_labels(held: list[Pair], pairs: Iterable[Pair], writes: Writes) -> list[Pair]:
    """Those to hold out of which other pairs of an epoch have every tag or label; the others teach
    theirs."""
    if writes not in CLOSED:
        return held
    texts = {pair.texts for pair in held}
    labels = (labels_of(writes, pair.target.text) for pair in pairs if pair.texts not in texts)
    known = frozenset(chain.from_iterable(labels))
    found = [pair for pair in held if known.issuperset(labels_of(writes, pair.target.text))]
    if not found:
        what = "tag" if writes == "tags" else "label"
        raise UsageError(
            f"Each of the pairs that were chosen for validation has a {what} that no other pair "
            "has: give validation files."
        )
    return found
