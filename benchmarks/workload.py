"""The same work for every system: sizes, batches of ids from real text, sentences to decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.data.batch import Batch
from regard.data.corpus import Pairs
from regard.data.store import Batches, BatchSettings, Offset, Store
from regard.data.tokenizer import TokenizerSettings
from regard.data.tokenizers import Tokenizers

VOCABULARY = 10_000
DROPOUT = 0.1


@dataclass(frozen=True)
class Size:
    """The sizes of a Transformer; the same numbers are given to every system."""

    layers: int
    width: int
    inner: int
    heads: int


SIZES = {"tiny": Size(4, 128, 256, 4), "base": Size(6, 512, 2048, 8)}


def prepare(data: Path, folder: Path) -> None:
    """Encode the training text once; every measurement reads the same files."""
    if (folder / "store" / "meta.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pairs = Pairs.of_files(data / "train.en.gz", data / "train.de.gz")
    sides = Tokenizers.train(
        TokenizerSettings(vocabulary=VOCABULARY),
        lambda: (pair.source for pair in pairs),
        lambda: (pair.target for pair in pairs),
    )
    sides.save(folder)
    for side in ("source", "target"):
        lines = [getattr(pair, side) for pair in pairs]
        (folder / f"train.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"valid.{side}").write_text("\n".join(lines[:100]) + "\n", encoding="utf-8")
    Store.write(folder / "store", pairs, sides, 256)


def targets(folder: Path) -> int:
    """How many of the pieces a model of ours can write: those that the target side has."""
    return Tokenizers.load(folder).target.size


def batches(folder: Path, count: int, tokens: int = 4096) -> Iterator[Batch]:
    """The batches of `regard train`, of at most `tokens` padded tokens on a side each."""
    order = Batches(
        Store.open(folder / "store"), BatchSettings(tokens=tokens), Tokenizers.load(folder), 1
    )
    return (batch for batch, _ in islice(order.from_offset(Offset()), count))
