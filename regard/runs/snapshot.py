"""The translations of a few sentences at one step of training, with attention, small enough to
keep."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from regard.data.line import Pair
from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.files import read_json, write_text
from regard.nn.captured import CROSS, MEMORY_READS, MEMORY_WRITES, Attention, Axes, Weights
from regard.predict import Predictor
from regard.runs.folder import Run

SENTENCES = 4
MAX_WORDS = 60
"""Per side; the attention between longer texts is not kept."""

MAX_PARTS = 256
"""Slots of a memory, steps that use it, or sentences of a document; of more it is not kept."""

MAX_DOCUMENT = 2000
"""Words of a document that is read sentence by sentence; each sentence attends to its own alone."""

MAX_PATCHES = 1000
"""Of a picture; the attention over a larger one is not kept."""


def snapshot(predictor: Predictor, pairs: Sequence[Pair], outputs: Sequence[str]) -> dict[str, Any]:
    """Each sentence with what was written for it so far, and the attention of the model."""
    read = [(pair.source, output) for pair, output in zip(pairs, outputs, strict=True)]
    pictures = _pictures(predictor, pairs)
    keep = partial(_attention, pictured=any(pictures))
    found: Iterable[list[dict[str, Any]]] = [[]] * len(pairs)
    if predictor.model.reads_source:
        found = predictor.attend(read, keep, [])
    return {
        "sentences": [
            {
                "source": predictor.shown(pair.source),
                "reference": pair.target.text,
                "output": output,
                "attention": attention,
                **({"picture": picture} if picture else {}),
                **({"points": points} if (points := predictor.points(pair.source)) else {}),
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
) -> list[dict[str, Any]]:
    """Each kind of attention between two axes; of a model without one, those within an axis. What
    is read of a picture is kept token by token, as the mean of all layers."""
    if pictured:
        source, target = source.by_piece(), target.by_piece()
    between = [kind for kind, (one, other) in attention.kinds.items() if one != other]
    kept = []
    for kind in between or attention.kinds:
        axes, (looking, looked_at) = attention.kinds[kind], attention.sides(kind, source, target)
        layers = attention.of(kind)
        if pictured and axes == CROSS:
            layers = (np.mean(layers, axis=0),)
        rows, columns = _most(axes, pictured)
        if len(looking.words) <= rows and len(looked_at.words) <= columns:
            kept.append(_packed(axes, layers, looking, looked_at))
    return kept


def _most(axes: Axes, pictured: bool) -> tuple[int, int]:
    """How many rows and columns of a kind of attention are kept."""
    if pictured:
        return MAX_PARTS, MAX_PATCHES
    if {"memory", "written", "sentences"}.isdisjoint(axes):
        return MAX_WORDS, MAX_WORDS
    return MAX_PARTS, MAX_DOCUMENT if axes[1] == "source" else MAX_PARTS


def _packed(
    axes: Axes, layers: Sequence[Weights], looking: Side, looked_at: Side
) -> dict[str, Any]:
    """The mean of the heads of each layer."""
    means = np.stack([layer.mean(axis=0) for layer in layers])  # (layers, T, S)
    return {
        "axes": axes,
        "rows": looking.words,
        "columns": looked_at.words,
        "layers": len(layers),
        "weights": _compressed(merge(means, looking, looked_at)),
    }


def _compressed(weights: NDArray[np.float64]) -> str:
    """Square roots in steps of 1 / 255: small weights, of which long texts have many, can then be
    told apart."""
    steps = np.rint(np.sqrt(weights.clip(0, 1)) * 255).astype(np.uint8)
    return base64.b64encode(zlib.compress(steps.tobytes(), 6)).decode("ascii")


_NAMED = {"read heads": MEMORY_READS, "write heads": MEMORY_WRITES}
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
        if isinstance(facts.get("sentences"), list):
            sentences = [{**each, "attention": _kinds(each)} for each in facts["sentences"]]
            facts = {**facts, "sentences": sentences}
        yield {**facts, "step": step}


def _kinds(sentence: dict[str, Any]) -> list[dict[str, Any]]:
    """The kinds of attention of a sentence; a snapshot of version 0.3 has that to the source or the
    heads of a machine, layer by layer, without axes and not compressed."""
    found = sentence.get("attention") or []
    if isinstance(found, list):
        return found
    weights = np.frombuffer(base64.b64decode(found["weights"]), np.uint8) / 255
    names, size = found.get("names", [""]), len(found["rows"]) * len(found["columns"])
    kinds = []
    for name in dict.fromkeys(names):
        layers = names.count(name) if "names" in found else found["layers"]
        first = size * names.index(name)
        packed = _compressed(weights[first : first + size * layers])
        facts = {"axes": _NAMED.get(name, CROSS), "layers": layers, "weights": packed}
        kinds.append({"rows": found["rows"], "columns": found["columns"], **facts})
    return kinds
