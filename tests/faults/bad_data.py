"""Bad corpora: each is refused in one sentence that names file and line, or what cannot be used is
counted and reported; the pairs that are trained on always belong together.

The first attempts are the table of cases; those after it change random bytes of files in every
format, and of compressed ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from toy import SMALL, turned

from faults.bad_files import CASES, FORMATS, Case, good_pairs
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.children import in_child
from faults.commands import assert_sentence
from faults.subjects import without_drawing
from regard.cli import main
from regard.runs.folder import Run

SETTINGS = (
    *SMALL,
    "tokenizer.kind=bpe",
    "tokenizer.vocabulary=300",
    "tokenizer.sampling=0.1",  # so that the text is kept with the pairs
    "training.processes=1",
)


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        names = list(CASES)
        if number < len(names):
            return _case(names[number], CASES[names[number]], inner)
        return _changed_bytes(draw, inner)

    yield attempt


def _train(run: Path, given: list[str]) -> tuple[int, str]:
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    ended = in_child(lambda: main(["train", "tiny", f"--run={run}", "--steps=1", *given, *chosen]))
    return ended.code, ended.said


def _case(name: str, case: Case, inner: Path) -> Counts:
    given = case.write(inner)
    code, said = _train(inner / "run", given)
    text = re.sub(r"\s+", " ", said)  # notes are wrapped
    if case.refusal is not None:
        assert code == 2, f"{name}: exit code {code}: {said}"
        assert_sentence(code, said)
        assert re.search(case.refusal, text), f"{name}: {said}"
        assert not (inner / "run").exists(), f"{name}: a folder was made"
        return {"cases": 1, "refused": 1, f"case: {name}": 1}
    assert code == 0, f"{name}: exit code {code}: {said}"
    assert re.search(case.note, text), f"{name}: {said}"
    pairs = _encoded(inner / "run")
    wrong = [pair for pair in pairs if pair[1] != turned(pair[0])]
    assert not wrong, f"{name}: {wrong[:3]}"
    assert len(pairs) == case.kept, f"{name}: {len(pairs)} pairs are left"
    return {"cases": 1, "counted and reported": 1, f"case: {name}": 1}


def _encoded(run: Path) -> list[tuple[str, str]]:
    """The pairs that a run trains on, and those it validates with."""
    found = list[tuple[str, str]]()
    for part in ("train", "valid"):
        store = Run.open(run).store(part)
        found += [pair.texts for pair in store.pairs(np.arange(len(store)))]
    return found


def _changed_bytes(draw: random.Random, inner: Path) -> Counts:
    name = draw.choice(list(FORMATS))
    content, given = FORMATS[name](good_pairs()), inner / f"corpus{Path(name).suffix}"
    data = bytearray(content)
    for _ in range(draw.choice([1, 3, 30])):
        start = draw.randrange(len(data))
        change = draw.randrange(5)
        if change == 0:
            data[start] ^= 1 << draw.randrange(8)
        elif change == 1:
            data[start:start] = draw.randbytes(draw.randint(1, 20))
        elif change == 2:
            del data[start : start + draw.randint(1, 50)]
        elif change == 3:
            data[start : start + 1] = draw.choice([b"\0", b"\r", b"\n", b'"', b"\t", b"<", b"{"])
        else:
            del data[start:]
        data = data or bytearray(b"\n")
    given.write_bytes(data)
    code, said = _train(inner / "run", [f"--pairs={given}"])
    outcome = "random changes trained on"
    if code:
        try:
            assert_sentence(code, said)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        assert not (inner / "run").exists(), f"{name}: a folder was made"
        outcome = "random changes refused"
    return {outcome: 1, f"format: {name}, {outcome}": 1}


BAD_DATA = Campaign(
    "bad-data",
    "Bad corpora: a table of cases, and random changes to files of every format",
    {QUICK: 8, FULL: len(CASES) + 200},
    prepared,
    {"cases": 60},
)
