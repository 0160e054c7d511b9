"""The journal of a run as TensorBoard shows it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from regard.errors import UsageError
from regard.messages import unknown
from regard.training.journal import Journal

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

LOGS = ("tensorboard",)
SHOWN = {
    "train": ("loss", "rate", "tokens_per_second"),
    "validation": None,  # every score
}
NOT_SCORES = ("event", "step", "time", "seconds")


def check_log(name: Optional[str]) -> None:
    """Refuse a kind of log that does not exist or is not installed."""
    if name is None:
        return
    if name not in LOGS:
        raise UsageError(unknown("log", name, LOGS))
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError:
        raise UsageError(
            "TensorBoard is not installed: run pip install 'regard[tensorboard]', or remove --log."
        ) from None


@contextmanager
def logged(journal: Journal, folder: Path, name: Optional[str]) -> Iterator[None]:
    """Write what the journal records to a folder for TensorBoard as well, if asked."""
    if name is None:
        yield
        return
    board = Board(journal, folder)
    journal.mirror = board.add
    try:
        yield
    finally:
        journal.mirror = None
        with suppress(OSError):  # a full disk is no reason to lose what was trained
            board.close()


class Board:
    """Follows a journal. It starts from all that the journal holds, so that a resumed run has each
    step once, and a run that was not logged before has its beginning too."""

    def __init__(self, journal: Journal, folder: Path) -> None:
        self._journal = journal
        self._folder = folder
        self._writer: Optional[SummaryWriter] = None

    def add(self, record: Mapping[str, Any]) -> None:
        if self._writer is None:
            self._start()  # the journal has this record already
        else:
            self._write(record)

    def close(self) -> None:
        if self._writer is None:
            self._start()
        assert self._writer is not None
        self._writer.close()

    def _start(self) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        shutil.rmtree(self._folder, ignore_errors=True)
        self._writer = SummaryWriter(str(self._folder))
        for record in self._journal:
            self._write(record)

    def _write(self, record: Mapping[str, Any]) -> None:
        assert self._writer is not None
        event = record["event"]
        if event not in SHOWN:
            return
        names = SHOWN[event] or [name for name in record if name not in NOT_SCORES]
        part = "training" if event == "train" else event
        for name in names:
            self._writer.add_scalar(f"{part}/{name}", record[name], record["step"])
