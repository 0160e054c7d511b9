"""Damage to every file of finished and unfinished runs, met by translate, resume, evaluate, look.

A use of a damaged run is refused in one sentence, or gives what it gave before; where a checkpoint
is lost it may give what the run without that checkpoint gives, if it says so.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Optional

from toy import Crash, at_step, crash, some_lines, tensors, train_small, write_corpus, write_lines

import regard.runs.train
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.commands import assert_sentence
from faults.commands import regard as command

Corpus = dict[str, Path]
STEPS = 6
FELL_BACK = re.compile(r"Falling back to the previous checkpoint|Using the latest checkpoint")
FAST = (
    "training.validate_every=2",
    "training.metric=loss",
    "training.validation_lines=2",
    "search.beam=1",
)
SEPARATE = ("tokenizer.joint=false", "model.tying=none", "tokenizer.vocabulary=300")
SAMPLED = (*SEPARATE, "tokenizer.kind=bpe", "tokenizer.sampling=0.2", "training.average.kind=last")


@dataclass(frozen=True)
class Subject:
    """A run that is damaged, and the files it was made from if they are given again."""

    name: str
    run: Path
    train: Optional[Callable[[Path], object]] = None  # repeats the whole command, with its files
    expected: dict[str, str] = field(default_factory=dict)


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    regard.runs.train.save_curves = lambda *given: None  # drawing is slow and reads nothing
    subjects = _subjects(folder)
    lines = write_lines(folder / "lines", some_lines(3, 7))
    for subject in subjects:
        for use in USES:
            inner = folder / "expected" / f"{subject.name}-{use}"
            run = Path(shutil.copytree(subject.run, inner / subject.run.name))
            found, said = _use(use, subject, run, inner, lines)
            assert found is not None, f"{subject.name} cannot be used: {said}"
            subject.expected[use] = found

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        return _attempt(subjects, lines, draw, inner)

    yield attempt


def _subjects(folder: Path) -> list[Subject]:
    corpus = write_corpus(folder / "corpus", pairs=30)
    for side in ("valid_source", "valid_target"):
        write_lines(corpus[side], corpus[side].read_text().splitlines()[:4])

    def words(run: Path) -> object:
        return train_small(run, corpus, *FAST, steps=STEPS, save_every=2)

    def sampled(run: Path) -> object:
        return train_small(run, corpus, *FAST, *SAMPLED, steps=STEPS, save_every=2)

    def started(run: Path) -> object:
        given = {"settings": list(FAST), "start": folder / "finished", "steps": STEPS}
        files = {"source": corpus["source"], "target": corpus["target"]}
        return _started(run, files, given)

    found = []
    for name, train in (("finished", words), ("sampled", sampled), ("started", started)):
        train(folder / name)
        command("align", folder / name, *_both(corpus), f"--output={folder / 'links'}")
        command("translate", folder / name, "--shortlist=9", f"--input={corpus['source']}")
        found.append(Subject(name, folder / name, train))
    for name, train in (("words", words), ("started", started)):
        run = folder / f"unfinished-{name}"
        try:
            with at_step(5, crash):
                train(run)
        except Crash:
            found.append(Subject(run.name, run, train))
    average = folder / "average"
    assert command("average", folder / "finished", f"--run={average}", "--last=2").code == 0
    return [*found, Subject("average", average)]


def _started(run: Path, files: Corpus, given: dict[str, object]) -> object:
    from regard.data.parallel import Parallel

    data = Parallel(files["source"], files["target"])
    chosen = ["training.save_every=2", *given["settings"]]  # type: ignore[misc]
    return regard.train(
        None, data, run=run, start=given["start"], steps=STEPS, settings=chosen, quiet=True
    )


def _both(corpus: Corpus) -> list[str]:
    return [f"--source={corpus['source']}", f"--target={corpus['target']}"]


USES = ("translate", "resume", "repeat", "evaluate", "look")
WEIGHTS = (5, 2, 2, 2, 2)
"""How often a damaged run is translated with, resumed by --run alone, given its whole command with
the files again, evaluated, and looked at."""


def _attempt(subjects: list[Subject], lines: Path, draw: random.Random, inner: Path) -> Counts:
    subject = draw.choice(subjects)
    run = Path(shutil.copytree(subject.run, inner / subject.run.name))
    use = draw.choices(USES, WEIGHTS)[0]
    files = sorted(path for path in run.rglob("*") if path.is_file())  # on any file system
    name = str(draw.choice(files).relative_to(run))
    kind = draw.choices(list(DAMAGES), DAMAGE_WEIGHTS)[0]
    DAMAGES[kind](run / name, draw)
    what = f"{subject.name}: {kind} of {name}, then {use}"
    try:
        found, said = _use(use, subject, run, inner, lines)
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}") from error
    outcome = "refused" if found is None else "same results"
    if found is not None and found != subject.expected[use]:
        if not FELL_BACK.search(said):
            raise AssertionError(f"{what}: {_difference(subject.expected[use], found)}")
        assert found == _without_lost(subject, run, use, name, inner, lines), f"{what}: {said}"
        outcome = "fell back and said so"
    return {
        "damaged files": 1,
        outcome: 1,
        f"kind: {kind}": 1,
        f"use: {use}, {outcome}": 1,
        f"file: {re.sub('[0-9]+', 'N', name)}": 1,
    }


def _difference(expected: str, found: str) -> str:
    """The first place where two results differ, for the report."""
    pairs = enumerate(zip_longest(expected, found))
    start = next(index for index, (one, other) in pairs if one != other)
    near = slice(max(0, start - 60), start + 60)
    return f"silently other: {expected[near]!r} became {found[near]!r}"


def _without_lost(
    subject: Subject, run: Path, use: str, name: str, inner: Path, lines: Path
) -> Optional[str]:
    """What the undamaged run gives without the checkpoint that a damaged file belongs to."""
    other = Path(shutil.copytree(subject.run, inner / "other" / subject.run.name))
    shutil.rmtree((other / name).parent)
    return _use(use, subject, other, inner, lines)[0]


def _use(
    use: str, subject: Subject, run: Path, inner: Path, lines: Path
) -> tuple[Optional[str], str]:
    """What a use gives, None if it is refused, and what it says."""
    if subject.train is None and use in ("resume", "repeat", "evaluate"):
        use = "translate"  # an average has no data and is not trained
    inner.mkdir(exist_ok=True)
    if use in ("resume", "repeat"):
        return _trained(use, subject, run)
    output = inner / "output"
    output.unlink(missing_ok=True)
    given = {
        "translate": ("translate", run, f"--input={lines}", f"--output={output}", "--workers=1"),
        "evaluate": ("evaluate", run, f"--output={output}", "--workers=1", "--beam=1"),
        "look": ("look", run, "ant bee", f"--output={output}"),
    }[use]
    said = command(*given)
    if said.code:
        said.assert_one_sentence()
        assert not output.exists()
        return None, said.errors
    text = output.read_text(encoding="utf-8").replace(str(run), "RUN")
    told = said.output.replace(str(run), "RUN").replace(str(output), "OUT")
    return f"{told}\n{text}", said.errors


def _trained(use: str, subject: Subject, run: Path) -> tuple[Optional[str], str]:
    from regard.errors import RegardError

    said = ""
    if use == "resume":
        ended = command("train", f"--run={run}", "--quiet")
        said = ended.errors
        if ended.code:
            ended.assert_one_sentence()
            return None, said
    else:
        assert subject.train is not None
        try:
            subject.train(run)
        except RegardError as error:
            assert_sentence(error.exit_code, f"regard: {error}")
            return None, str(error)
    return str(sorted(tensors(run, STEPS).items())), said


def _flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data or b"\0")


def _truncate(path: Path, draw: random.Random) -> None:
    size = path.stat().st_size
    with path.open("rb+") as stream:
        stream.truncate(draw.choice([0, draw.randrange(size) if size else 0]))


def _lengthen(path: Path, draw: random.Random) -> None:
    with path.open("ab") as stream:
        stream.write(draw.randbytes(draw.randint(1, 100)))


def _zero(path: Path, draw: random.Random) -> None:
    """A block that was never written, as after a power cut."""
    data = bytearray(path.read_bytes())
    start = draw.randrange(len(data)) if data else 0
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    path.write_bytes(data)


def _remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def _swap(path: Path, draw: random.Random) -> None:
    """The content of another file of the same folder."""
    others = [other for other in sorted(path.parent.iterdir()) if other.is_file()]
    path.write_bytes(draw.choice(others).read_bytes())


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "bit flip": _flip,
    "truncation": _truncate,
    "lengthening": _lengthen,
    "block of zeros": _zero,
    "loss": _remove,
    "other content": _swap,
}
DAMAGE_WEIGHTS = (10, 5, 1, 2, 1, 1)

DAMAGE = Campaign(
    "damage",
    "Bit flips, truncations and other damage to every file of a run",
    {QUICK: 40, FULL: 10_000},
    prepared,
    {"damaged files": 10_000},
)
