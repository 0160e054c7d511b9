"""Run: the folder of one experiment. Nothing outside this package opens its files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import numpy as np

from regard import __version__
from regard.config import check
from regard.data.line import Pair
from regard.data.store import Store
from regard.data.tokenizers import Tokenizers
from regard.errors import UsageError
from regard.files import clear_strays, locked, read_sealed, sealed, write_json
from regard.recipes.config import Config
from regard.training.checkpoint import Checkpoints
from regard.training.journal import Journal

FORMAT, UNSEALED = 3, 2
"""The format of the folder. Since format 3, each JSON file has a hash of itself; runs of format 2
are read without, and runs of any other format are refused."""

TRAIN, VALID, OLD = "train", "valid", "old"
"""The parts of a run's data; the last is the validation data of the run that it started from."""

PART_NAMES = {TRAIN: "training", VALID: "validation", OLD: "earlier validation"}
"""What messages call their data."""

ORIGIN = "origin"
"""The name of the record about a run that was made and not trained."""

_OURS = re.compile(r"lock|\.config\.json\..*tmp")  # left by a start that was cut short


def read_config(path: Path) -> dict[str, Any]:
    """What config.json says; it was not sealed before the present format."""
    return read_sealed(path / "config.json", lambda values: values.get("format") != FORMAT)


class Run:
    """config.json, data.json, the tokenizers, the encoded data, checkpoints and the journal.

    Translating, resuming and evaluating read this folder and nothing else.
    """

    def __init__(
        self, path: Path, config: Config, is_sealed: bool = True, verify: bool = True
    ) -> None:
        self.path = path
        self.config = config
        self.is_sealed = is_sealed
        self.verify = verify
        self._verified = dict[str, Store]()
        self.journal = Journal(path / "journal.jsonl")

    @staticmethod
    def exists(path: Path) -> bool:
        return (path / "config.json").exists()

    @staticmethod
    def check_free(path: Path) -> None:
        """Refuse a folder that holds something else, and one whose files cannot be named to
        safetensors."""
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise UsageError(f"{path} is not UTF-8: choose another folder for the run.") from None
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file: choose a folder for the run.")
        if path.is_dir() and not all(_OURS.fullmatch(entry.name) for entry in path.iterdir()):
            raise UsageError(f"{path} holds other files and is not a run: choose a new folder.")

    @staticmethod
    def create(path: Path, config: Config) -> Run:
        """Start a run in a new or empty folder."""
        Run.check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        written = {"format": FORMAT, "regard": __version__, **config.model_dump(mode="json")}
        write_json(path / "config.json", sealed(written))
        return Run(path, config)

    @staticmethod
    def open(path: Path, verify: bool = True) -> Run:
        """Without `verify`, another process has just verified the hashes of its data."""
        path = Path(path)
        if not Run.exists(path):
            raise UsageError(f"{path} is not a run: give a folder made by 'regard train --run'.")
        values = read_config(path)
        written, version = values.pop("format", 1), values.pop("regard", "0.1.0")
        if written not in (FORMAT, UNSEALED):
            raise UsageError(
                f"{path} was written by regard {version}, whose runs regard {__version__} cannot "
                f"read: use regard {version}, or train it again."
            )
        return Run(path, check(Config, values), written == FORMAT, verify)

    def discard(self) -> None:
        """Remove a run that has not trained anything yet: nothing is saved or in its journal. Only
        the process that has locked it may."""
        if not self.checkpoints().steps() and not any(self.journal):
            shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    @contextmanager
    def locked(path: Path) -> Iterator[None]:
        """Only one process starts or trains a run at a time."""
        path.mkdir(parents=True, exist_ok=True)
        with locked(path / "lock", f"Another process is training {path}: wait for it."):
            clear_strays(path)
            yield

    def facts(self, name: str) -> dict[str, Any]:
        """What is recorded under a name, such as data or plan; empty if nothing has been yet."""
        path = self.path / f"{name}.json"
        return read_sealed(path, lambda _: not self.is_sealed) if path.exists() else {}

    def save_facts(self, name: str, facts: dict[str, Any]) -> None:
        write_json(self.path / f"{name}.json", sealed(facts))

    def number(self, name: str, key: str) -> Optional[int]:
        """A positive number that is recorded under a name; None if nothing is yet."""
        path = self.path / f"{name}.json"
        value = self.facts(name).get(key)
        if path.exists() and not (isinstance(value, int) and value >= 1):
            raise UsageError(f"{path} is corrupt or not written by regard: restore it from a copy.")
        return value

    @property
    def steps(self) -> Optional[int]:
        """The budget in steps, once it is known."""
        return self.number("plan", "steps")

    def has_tokenizers(self) -> bool:
        return all(path.exists() for path in self.tokenizer_files())

    def tokenizer_files(self) -> list[Path]:
        """One for both sides, or one for each."""
        joint, *separate = (
            self.path / f"{side}tokenizer.json" for side in ("", "source.", "target.")
        )
        return [joint] if joint.exists() else separate

    def tokenizers(self) -> Tokenizers:
        return Tokenizers.load(self.path)

    @property
    def origin(self) -> Optional[str]:
        """How a run was made if it was not trained, such as by averaging others."""
        return self.facts(ORIGIN).get("origin")

    def check_trained_here(self, what: str) -> None:
        """Refuse to do something with a run that was made and has no data or journal."""
        if self.origin is not None:
            raise UsageError(f"{self.path} is {self.origin}: {what}.")

    def store_folder(self, part: str) -> Path:
        return self.path / "data" / part

    def store(self, part: str) -> Store:
        """The encoded data of a part: train, valid or old; its hashes are verified once."""
        self.check_trained_here(f"it has no {PART_NAMES[part]} data, which this needs")
        if part not in self._verified:
            self._verified[part] = Store.open(self.store_folder(part), self.verify)
        return self._verified[part]

    def has_store(self, part: str) -> bool:
        try:
            self.store(part)
        except UsageError:
            return False
        return True

    def validation_pairs(self, count: Optional[int] = None, part: str = VALID) -> list[Pair]:
        """The first `count` pairs of the validation data, or all of them."""
        store = self.store(part)
        return store.pairs(np.arange(min(len(store), count or len(store))))

    def checkpoints(self, say: Callable[[str], None] = print) -> Checkpoints:
        return Checkpoints(self.path / "checkpoints", self.config.training.keep, say)
