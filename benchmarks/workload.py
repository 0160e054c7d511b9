"""The work that all systems do: model sizes and batches of ids from real text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.data.batch import Batch
from regard.data.parallel import Parallel
from regard.data.store import Batches, BatchSettings, Offset, Store
from regard.data.tokenizer import TokenizerSettings
from regard.data.tokenizers import Tokenizers

VOCABULARY = 10_000
DROPOUT = 0.1


@dataclass(frozen=True)
class Size:
    """The dimensions of a Transformer, the same for every system."""

    layers: int
    width: int
    inner: int
    heads: int


SIZES = {"tiny": Size(4, 128, 256, 4), "base": Size(6, 512, 2048, 8)}


def prepare(data: Path, folder: Path) -> None:
    """Tokenise the training text once; every measurement reads the same files."""
    if (folder / "store" / "meta.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pairs = Parallel(data / "train.en.gz", data / "train.de.gz").open()
    tokenizers = Tokenizers.train(
        TokenizerSettings(vocabulary=VOCABULARY),
        lambda: (pair.source.text for pair in pairs),
        lambda: (pair.target.text for pair in pairs),
    )
    tokenizers.save(folder)
    for side in ("source", "target"):
        lines = [getattr(pair, side).text for pair in pairs]
        (folder / f"train.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"valid.{side}").write_text("\n".join(lines[:100]) + "\n", encoding="utf-8")
    Store.write(folder / "store", pairs, tokenizers, 256)


def targets(folder: Path) -> int:
    """Size of our output layer: the tokens that occur on the target side."""
    return Tokenizers.load(folder).target.size


def batches(folder: Path, count: int, tokens: int = 4096) -> Iterator[Batch]:
    """The batches of `regard train`, each of at most `tokens` padded tokens per side."""
    order = Batches(
        Store.open(folder / "store"), BatchSettings(tokens=tokens), Tokenizers.load(folder), 1
    )
    return (batch for batch, _ in islice(order.from_offset(Offset()), count))
