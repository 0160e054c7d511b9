"""Folders of other tools that are damaged, incomplete, oversized or malicious: refused in one
sentence, or imported with the same translations; nothing in them is ever executed."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from toy import some_lines, write_lines

from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.commands import regard as command
from faults.damage import DAMAGE_WEIGHTS, DAMAGES

sys.path.append(str(Path(__file__).parent.parent / "interop"))

from folders import write_marian

TEXTS = ("config.json", "vocab.json", "tokenizer_config.json")
HARMLESS = ("generation_config.json",)
"""Not read at all."""


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    theirs, lines = folder / "theirs", write_lines(folder / "lines", some_lines(3, 5))
    write_marian(theirs)
    expected = _imported(theirs, folder / "whole", lines)
    assert expected is not None

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        copy = Path(shutil.copytree(theirs, inner / "theirs"))
        witness = inner / "witness"
        kind = draw.choices(list(KINDS), KIND_WEIGHTS)[0]
        name = KINDS[kind](copy, draw, witness)
        found = _imported(copy, inner / "run", lines)
        assert not witness.exists(), f"{kind} of {name}: something was executed"
        what = f"{kind} of {name}"
        outcome = "refused" if found is None else "imported with the same translations"
        if found not in (None, expected):
            assert _may_differ(kind, name), f"{what}: silently other translations {found!r}"
            outcome = "imported, and other in what no file can tell"
        assert kind != "pickle" or found is None, f"{what}: imported"
        return {"folders": 1, outcome: 1, f"{kind}: {outcome}": 1, f"file: {name}": 1}

    yield attempt


def _may_differ(kind: str, name: str) -> bool:
    """Their files have no hashes: a change that leaves a valid file cannot be noticed."""
    return kind != "pickle" and name != "pytorch_model.bin"


def _imported(folder: Path, run: Path, lines: Path) -> str | None:
    """The translations of an imported folder; None if it is refused."""
    said = command("import", "huggingface", folder, f"--run={run}")
    if said.code:
        said.assert_one_sentence()
        assert not run.exists(), "a folder was made"
        return None
    output = run.parent / f"{run.name}.output"
    said = command("translate", run, f"--input={lines}", f"--output={output}", "--beam=1")
    assert said.code == 0, said.errors
    return output.read_text(encoding="utf-8")


def _damaged(folder: Path, draw: random.Random, witness: Path) -> str:
    path = draw.choice(sorted(path for path in folder.iterdir() if path.name not in HARMLESS))
    kind = draw.choices(list(DAMAGES), DAMAGE_WEIGHTS)[0]
    DAMAGES[kind](path, draw)
    return path.name


def _incomplete(folder: Path, draw: random.Random, witness: Path) -> str:
    path = draw.choice(sorted(path for path in folder.iterdir() if path.name not in HARMLESS))
    path.unlink()
    if draw.random() < 0.3:
        path.mkdir()
    return path.name


def _oversized(folder: Path, draw: random.Random, witness: Path) -> str:
    """Sparse: no space is used."""
    path = draw.choice(sorted(path for path in folder.iterdir() if path.name not in HARMLESS))
    os.truncate(path, draw.choice([2**31, 2**36, 2**40]))
    return path.name


VALUES: tuple[Any, ...] = (None, -1, 0, 1, 7, 10**9, 10**30, 0.5, "x", "", [], {}, True, [[1]])


def _edited(folder: Path, draw: random.Random, witness: Path) -> str:
    """Another value of an entry, or one of another name."""
    path = folder / draw.choice(TEXTS)
    values = json.loads(path.read_text())
    key = draw.choice(sorted(values))
    if draw.random() < 0.2:
        del values[key]
    else:
        values[key] = draw.choice(VALUES)
    path.write_text(json.dumps(values))
    return path.name


class Malicious:
    """Makes a folder when it is unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.witness),)


def _pickled(folder: Path, draw: random.Random, witness: Path) -> str:
    """Weights that do something when they are unpickled, in each form that torch has."""
    form, path = draw.choice(["plain", "torch", "zip", "renamed"]), folder / "pytorch_model.bin"
    if form == "renamed":
        path = folder / draw.choice(["model.safetensors", "source.spm", "vocab.json"])
    else:
        (folder / "model.safetensors").unlink()
    evil = Malicious(witness)
    if form == "torch":
        torch.save({"model.shared.weight": evil}, path)
    elif form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps({"x": evil}))
            archive.writestr("archive/version", "3\n")
    else:
        path.write_bytes(pickle.dumps(evil, protocol=draw.randint(0, 5)))
    return path.name


KINDS: dict[str, Callable[[Path, random.Random, Path], str]] = {
    "damage": _damaged,
    "missing file": _incomplete,
    "oversized file": _oversized,
    "edit": _edited,
    "pickle": _pickled,
}
KIND_WEIGHTS = (6, 1, 1, 4, 2)

IMPORTERS = Campaign(
    "importers",
    "Marian folders that are damaged, incomplete, oversized or hold malicious pickles",
    {QUICK: 12, FULL: 1_000},
    prepared,
    {"folders": 1_000},
)
