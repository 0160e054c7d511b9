"""Run: the folder of one experiment. Nobody else opens its files."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config import check
from regard.data.batch import PAD
from regard.data.doctor import Profile
from regard.data.lexicon import likely_targets
from regard.data.line import Pair
from regard.data.store import Store
from regard.data.tokenizers import Tokenizers
from regard.errors import RegardError, UsageError
from regard.files import clear_strays, read_json, write_json, write_text, writing
from regard.models.base import Model
from regard.models.shortlist import Shortlisted
from regard.models.weights import collect, install
from regard.nn.fast.prepare import prepare_for_search, quantize
from regard.predict import BATCH_TOKENS, Predictor
from regard.processes.cores import cores
from regard.recipes import Config
from regard.search.base import Search
from regard.training.checkpoint import Checkpoint, Checkpoints
from regard.training.journal import Journal

LONGEST_SHORTLIST = 100
FREQUENT = 200
"""Target pieces that are on every shortlist."""

LARGE = 20_000_000
"""Parameters from which on a model is trained by one process."""


class Run:
    """config.json, data.json, the tokenizers, the encoded data, checkpoints and the journal.

    Translating, resuming and evaluating read this folder and nothing else.
    """

    def __init__(self, path: Path, config: Config) -> None:
        self.path = path
        self.config = config
        self.journal = Journal(path / "journal.jsonl")

    @staticmethod
    def exists(path: Path) -> bool:
        return (path / "config.json").exists()

    @staticmethod
    def check_free(path: Path) -> None:
        """Refuse a folder that holds something else."""
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file: choose a folder for the run.")
        ours = re.compile(r"lock|\.config\.json\..*tmp")  # left by a beginning that was cut off
        if path.is_dir() and not all(ours.fullmatch(entry.name) for entry in path.iterdir()):
            raise UsageError(f"{path} holds other files and is not a run: choose a new folder.")

    @staticmethod
    def create(path: Path, config: Config) -> Run:
        """Begin a run in a new or empty folder."""
        Run.check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / "config.json", config.model_dump(mode="json"))
        return Run(path, config)

    @staticmethod
    def open(path: Path) -> Run:
        path = Path(path)
        if not Run.exists(path):
            raise UsageError(
                f"{path} is not a run: give the folder that 'regard train --run' made."
            )
        return Run(path, check(Config, read_json(path / "config.json")))

    def discard(self) -> None:
        """Remove a run that never came to train anything."""
        if not self.checkpoints().steps():
            shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process trains a run at a time."""
        with (self.path / "lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"Another process is training {self.path}: wait for it.") from None
            clear_strays(self.path)
            yield

    @property
    def data(self) -> dict[str, Any]:
        """What is known of the data: fingerprints, counts, notes; empty before it is prepared."""
        path = self.path / "data.json"
        return read_json(path) if path.exists() else {}

    def save_data_facts(self, facts: dict[str, Any]) -> None:
        write_json(self.path / "data.json", facts)

    @property
    def steps(self) -> Optional[int]:
        """The budget in steps, once it is known."""
        path = self.path / "plan.json"
        if not path.exists():
            return None
        steps = read_json(path).get("steps")
        if not isinstance(steps, int) or steps < 1:
            raise UsageError(f"{path} does not hold what it should: it was damaged or is not ours.")
        return steps

    def save_steps(self, steps: int) -> None:
        write_json(self.path / "plan.json", {"steps": steps})

    def processes(self) -> int:
        """How many processes train it, decided once: another number gives other last digits.

        A large model has one, of as many threads as there are cores: its products keep them busy,
        and each further process would need its own weights and moments, and all gradients a step.
        """
        path = self.path / "processes.json"
        if not path.exists():
            by_size = 1 if self._size() >= LARGE else cores()
            write_json(path, {"processes": self.config.training.processes or by_size})
        try:
            return int(read_json(path)["processes"])
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"{path} was damaged: restore it from a copy.") from None

    def _size(self) -> int:
        sides = self.tokenizers()
        with torch.device("meta"):
            model = self.config.model.build(sides.source.size, sides.target.size)
        return sum(parameter.numel() for parameter in model.parameters())

    @property
    def profile(self) -> Profile:
        return Profile.from_json(self.data.get("profile", {}))

    def identity(self) -> dict[str, Any]:
        """What each checkpoint keeps of its run: the hash of its config, and of what data it is."""
        written = json.dumps(read_json(self.path / "config.json"), sort_keys=True)
        return {
            "config": hashlib.sha256(written.encode()).hexdigest(),
            "data": self.data.get("fingerprint"),
        }

    def check_matches(self, checkpoint: Checkpoint) -> None:
        """Refuse to go on from a checkpoint that was made with another config or other data."""
        for name, value in self.identity().items():
            if checkpoint.manifest.get(name) != value:
                raise UsageError(
                    f"{self.path / f'{name}.json'} was changed after {checkpoint.folder.name} was "
                    "saved: restore it, or begin another run."
                )

    def has_tokenizers(self) -> bool:
        joint, *separate = (f"{side}tokenizer.json" for side in ("", "source.", "target."))
        return (self.path / joint).exists() or all((self.path / n).exists() for n in separate)

    def tokenizers(self) -> Tokenizers:
        return Tokenizers.load(self.path)

    def store_folder(self, part: str) -> Path:
        return self.path / "data" / part

    def store(self, part: str) -> Store:
        """The encoded data of a part: train or valid."""
        return Store.open(self.store_folder(part))

    def has_store(self, part: str) -> bool:
        try:
            self.store(part)
        except UsageError:
            return False
        return True

    def validation_pairs(self, count: Optional[int] = None) -> list[Pair]:
        """The first `count` pairs of the validation data, or all of them."""
        store = self.store("valid")
        return store.pairs(np.arange(min(len(store), count or len(store))))

    @property
    def alignment_heads(self) -> Optional[dict[str, Any]]:
        """Which heads align words best, once that was found out."""
        path = self.path / "heads.json"
        return read_json(path) if path.exists() else None

    def save_alignment_heads(self, facts: dict[str, Any]) -> None:
        write_json(self.path / "heads.json", facts)

    def save_snapshot(self, step: int, facts: dict[str, Any]) -> None:
        """What the model made of a few validation sentences at a step."""
        folder = self.path / "snapshots"
        folder.mkdir(exist_ok=True)
        write_text(folder / f"step-{step}.json", json.dumps(facts))

    def snapshot_steps(self) -> list[int]:
        """The steps of which there is a snapshot, in order."""
        folder, numbered = self.path / "snapshots", re.compile(r"step-([0-9]{1,12})\.json")
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        return sorted(int(match[1]) for match in map(numbered.fullmatch, names) if match)

    def snapshots(self, steps: Optional[Iterable[int]] = None) -> Iterator[dict[str, Any]]:
        """Those of some steps or of all; one that cannot be read is passed over."""
        for step in self.snapshot_steps() if steps is None else steps:
            try:
                facts = read_json(self.path / "snapshots" / f"step-{step}.json")
            except UsageError:
                continue
            yield {**facts, "step": step}

    def checkpoints(self, say: Callable[[str], None] = print) -> Checkpoints:
        return Checkpoints(self.path / "checkpoints", self.config.training.keep, say)

    def build_model(self, tokenizers: Optional[Tokenizers] = None) -> Model:
        """The model with its first, untrained weights, which follow from the seed."""
        sides = tokenizers or self.tokenizers()
        torch.manual_seed(self.config.training.seed)
        return self.config.model.build(sides.source.size, sides.target.size)

    def model(self, say: Callable[[str], None] = print) -> tuple[Model, Checkpoint]:
        """The model with its best weights, averaged as the run averages."""
        checkpoint = self.checkpoints(say).best()
        if checkpoint is None:
            raise RegardError(
                f"{self.path} has no checkpoint yet: train it longer with the same command."
            )
        model = self.build_model()
        install(model, checkpoint.tensors("weights"))
        average = self.config.training.average.build(model)
        average.tensors = checkpoint.tensors("average")
        install(model, average.weights())
        return model, checkpoint

    def predictor(
        self,
        search: Optional[Search] = None,
        batch_tokens: int = BATCH_TOKENS,
        workers: int = 1,
        int8: bool = False,
        shortlist: int = 0,
        say: Callable[[str], None] = print,
    ) -> Predictor:
        """The best weights, ready to translate.

        Two ways to save for a little quality: memory by eight-bit weights, and time by choosing
        among the target pieces that go with the source, `shortlist` for each of its pieces.
        """
        model, _ = self.model(say)
        sides = self.tokenizers()
        model = quantize(model) if int8 else prepare_for_search(model)
        return Predictor(
            self._shortlisted(model, sides, shortlist, say) if shortlist else model,
            sides,
            search or self.config.search,
            batch_tokens=batch_tokens,
            workers=workers,
            annotations=self.config.annotations,
            length_limit=self.config.length_limit,
        )

    def _shortlisted(
        self, model: Model, sides: Tokenizers, count: int, say: Callable[[str], None]
    ) -> Shortlisted:
        likely = self._likely_targets(sides, say)[:, :count]
        if sides.joint:  # names and numbers stay as they are
            same = np.arange(len(likely))
            same[sides.target.size :] = PAD
            likely = np.concatenate([likely, same[:, None]], axis=1)
        used = np.bincount(self.store("train").target.values, minlength=sides.target.size)
        always = np.argsort(-used, kind="stable")[:FREQUENT]
        return Shortlisted(model, torch.from_numpy(likely).long(), torch.from_numpy(always))

    def _likely_targets(self, sides: Tokenizers, say: Callable[[str], None]) -> NDArray[np.int32]:
        """(source pieces, LONGEST_SHORTLIST), learned from the training data at the first use."""
        path, shape = self.path / "likely.npy", (sides.source.size, LONGEST_SHORTLIST)
        try:
            likely = np.load(path, allow_pickle=False)
            if likely.shape == shape and likely.dtype == np.int32:
                return np.asarray(likely)
        except (OSError, ValueError):
            pass
        say("Learning which target pieces go with a source piece; this is done once a run.")
        likely = likely_targets(self.store("train"), *shape)
        with suppress(OSError), writing(path) as stream:  # else it is learned again next time
            np.save(stream, likely, allow_pickle=False)
        return likely

    def facts(self, say: Callable[[str], None] = print) -> dict[str, Any]:
        """What a person wants to know of a run, as plain values."""
        sides = self.tokenizers() if self.has_tokenizers() else None
        checkpoint = self.checkpoints(say).best()
        validations = [record for record in self.journal if record["event"] == "validation"]
        facts: dict[str, Any] = {"run": str(self.path), "model": self.config.model.kind}
        if sides is not None:
            model = self.build_model(sides)
            facts["parameters"] = sum(tensor.numel() for tensor in collect(model).values())
            facts["vocabulary"] = {"source": sides.source.size, "target": sides.target.size}
        facts["pairs"] = self.data.get("pairs")
        facts["steps"] = self.steps
        steps = self.checkpoints(say).steps()
        facts["trained_to"] = steps[-1] if steps else 0
        facts["used_checkpoint"] = checkpoint.step if checkpoint else None
        facts["validation"] = validations[-1] if validations else None
        facts["config"] = self.config.model_dump(mode="json")
        return facts


def load(path: Union[str, Path]) -> Predictor:
    """A trained run, ready to use: load("runs/en-de")("A sentence.")."""
    return Run.open(Path(path)).predictor()
