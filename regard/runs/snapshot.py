"""The translations of a few sentences at one step of training, with attention, small enough to
keep."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Optional

import numpy as np

from regard.data.line import Pair
from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.files import read_json, write_text
from regard.nn.captured import Attention, Weights
from regard.predict import Predictor
from regard.runs.folder import Run

SENTENCES = 4
MAX_WORDS = 60
"""Words per side; the attention of longer pairs is not kept."""

MAX_PATCHES = 1000
"""Of a picture; the attention over a larger one is not kept."""

MAX_SLOTS = 256
"""Of a memory; the heads of a larger one are not kept."""

BY_SENTENCE = {
    "sentences-memory": ("gates of the memory", "sentences down, slots of the memory across"),
    "target-sentences": ("label to sentences", "the label down, sentences across"),
}
"""What is kept of models that read sentence by sentence, however long the sentences are: its name,
and what its rows and columns are."""


def snapshot(predictor: Predictor, pairs: Sequence[Pair], outputs: Sequence[str]) -> dict[str, Any]:
    """Each sentence with its translation so far and the attention between their words."""
    read = [(pair.source, output) for pair, output in zip(pairs, outputs, strict=True)]
    pictures = _pictures(predictor, pairs)
    keep = partial(_attention, pictured=any(pictures))
    shown = predictor.model.reads_source
    found = predictor.attend(read, keep, None) if shown else [None] * len(pairs)
    return {
        "sentences": [
            {
                "source": predictor.shown(pair.source),
                "reference": pair.target.text,
                "output": output,
                "attention": attention,
                **({"picture": picture} if picture else {}),
            }
            for pair, output, attention, picture in zip(
                pairs, outputs, found, pictures, strict=True
            )
        ]
    }


def _pictures(predictor: Predictor, pairs: Sequence[Pair]) -> list[Optional[dict[str, Any]]]:
    """Of each source that is a picture, what pages need to show it."""
    if not predictor.model.reads_source:
        return [None] * len(pairs)
    found = map(predictor.picture, predictor.read_sources([pair.source for pair in pairs]))
    return [None if each is None else each.to_json() for each in found]


def _attention(
    attention: Attention, source: Side, target: Side, pictured: bool = False
) -> Optional[dict[str, Any]]:
    """The attention to the source, layer by layer, or what is copied from it; or else what the
    heads of a machine read and wrote in its memory, step by step, or sentence by sentence the gates
    of a memory and what a label attends to."""
    if pictured:  # the mean of all layers over the patches, token by token
        layers = [np.mean(attention.cross, axis=0)] if attention.cross else []
        small = len(source.ids) <= MAX_PATCHES
        return _packed(layers, target.by_piece(), source.by_piece()) if layers and small else None
    if kinds := [kind for kind in BY_SENTENCE if attention.of(kind)]:
        return _by_sentence(attention, kinds[0], target)
    if max(len(source.words), len(target.words)) > MAX_WORDS:
        return None
    if to_source := attention.cross or attention.of("copy"):
        return _packed(to_source, target, source)
    reads, writes = attention.of("reads"), attention.of("writes")
    if not reads or reads[0].shape[2] > MAX_SLOTS:
        return None
    slots = Side.numbered(reads[0].shape[2])
    found = _packed((*reads, *writes), source.then(target), slots)
    return {**found, "names": ["read heads"] * len(reads) + ["write heads"] * len(writes)}


def _by_sentence(attention: Attention, kind: str, target: Side) -> Optional[dict[str, Any]]:
    layers = attention.of(kind)
    _, rows, columns = layers[0].shape
    if max(rows, columns) > MAX_SLOTS:
        return None
    name, axes = BY_SENTENCE[kind]
    looking = target if kind.startswith("target") else Side.numbered(rows)
    found = _packed(layers, looking, Side.numbered(columns))
    return {**found, "names": [name] * len(layers), "axes": axes}


def _packed(layers: Sequence[Weights], looking: Side, looked_at: Side) -> dict[str, Any]:
    """The mean of the heads of each layer, in steps of 1 / 255."""
    means = np.stack([layer.mean(axis=0) for layer in layers])  # (layers, T, S)
    steps = np.rint(merge(means, looking, looked_at) * 255).clip(0, 255).astype(np.uint8)
    return {
        "rows": looking.words,
        "columns": looked_at.words,
        "layers": len(steps),
        "weights": base64.b64encode(steps.tobytes()).decode("ascii"),
    }


_NAME = re.compile(r"step-([0-9]{1,12})\.json")


def save_snapshot(run: Run, step: int, facts: dict[str, Any]) -> None:
    folder = run.path / "snapshots"
    folder.mkdir(exist_ok=True)
    write_text(folder / f"step-{step}.json", json.dumps(facts))


def snapshot_steps(run: Run) -> list[int]:
    """The steps that have a snapshot, in order."""
    folder = run.path / "snapshots"
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)


def load_snapshots(run: Run, steps: Optional[Iterable[int]] = None) -> Iterator[dict[str, Any]]:
    """The snapshots of some steps, or of all; one that cannot be read is skipped."""
    for step in snapshot_steps(run) if steps is None else steps:
        try:
            facts = read_json(run.path / "snapshots" / f"step-{step}.json")
        except UsageError:
            continue
        yield {**facts, "step": step}
