"""Does a model that reads pictures look at the letter it is writing?

python -m benchmarks.spatial --runs DIR [--variants attention none] [--seeds 1 2 3] [--pairs 30000]
    [--steps 4000] [--set model.width=128] [--output results.json]

Words of 1 to 8 letters, drawn by regard.corpora.drawn_words; the control is the same model with one
vector of the whole picture instead of attention. Reports exact match on 1,000 test words and, of
all their letters, the share whose most attended patch overlaps the letter's box while the letter is
written, with the right letters given before it (`on`). `nearest`: no other letter is nearer to the
patch. `chance`: the share of all patches that overlap the box. Each run uses one process; the same
command resumes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

import regard
from benchmarks.variants import parameters
from regard.corpora import drawn_words
from regard.data.words import Side
from regard.nn.captured import Attention

VARIANTS = {"attention": (), "none": ("model.attention=none",)}
PATCH = 4


def prepare(folder: Path, pairs: int) -> Path:
    """Write the corpus unless it is there already."""
    corpus = folder / f"drawn_words-{pairs}"
    if not (corpus / "done").exists():
        drawn_words.write(drawn_words.generate(pairs, seed=1), corpus)
        (corpus / "done").touch()
    return corpus


def split(corpus: Path, name: str) -> regard.Parallel:
    return regard.Parallel(corpus / f"{name}.source", corpus / f"{name}.target")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def most_attended(attention: Attention, source: Side, target: Side) -> Optional[list[int]]:
    """The source position that each target token attends to most; none without attention."""
    if not attention.cross:
        return None
    (layer,) = attention.cross
    return layer.mean(axis=0).argmax(axis=1).tolist()


def patch_boxes(columns: int, rows: int) -> NDArray[np.float64]:
    """(patches, 4): left, top, right, bottom; column by column."""
    column, row = np.divmod(np.arange(columns * rows), rows)
    return PATCH * np.stack([column, row, column + 1, row + 1], axis=1).astype(np.float64)


def overlaps(patches: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.bool_]:
    inside = (patches[:, :2] < box[2:]) & (patches[:, 2:] > box[:2])
    return inside.all(axis=1)


def judge(picture: str, boxes: str, chosen: list[int]) -> NDArray[np.float64]:
    """For each letter: whether the patch is on it, whether it is the nearest letter, chance."""
    rows = drawn_words.HEIGHT // PATCH
    width = picture.split(" ", 1)[0].count(",") + 1
    patches = patch_boxes(math.ceil(width / PATCH), rows)
    letters = np.array([list(map(float, box.split(","))) for box in boxes.split()])
    centres = (letters[:, :2] + letters[:, 2:]) / 2
    found = []
    for index, box in enumerate(letters):
        on = overlaps(patches, box)
        patch = chosen[index]
        if patch >= len(patches):  # the summary of the whole picture
            found.append((0.0, 0.0, on.mean()))
            continue
        middle = (patches[patch, :2] + patches[patch, 2:]) / 2
        nearest = int(((centres - middle) ** 2).sum(axis=1).argmin())
        found.append((float(on[patch]), float(on[patch] and nearest == index), on.mean()))
    return np.array(found)


def where_it_looks(run: Path, corpus: Path) -> dict[str, float]:
    """Shares of letters in per cent, with half of the 95 % interval of `on`; empty without
    attention."""
    sources, targets, boxes = (lines_of(corpus / f"test.{name}") for name in NAMES)
    predictor = regard.load(run)
    pairs = list(zip(sources, targets, strict=True))
    found = list(predictor.attend(pairs, most_attended, None))
    if None in found:
        return {}
    chosen = [each for each in found if each is not None]
    judged = [judge(*each) for each in zip(sources, boxes, chosen, strict=True)]
    shares = 100 * np.concatenate(judged).mean(axis=0)
    words = np.array([100 * each[:, 0].mean() for each in judged])
    margin = 1.96 * words.std(ddof=1) / math.sqrt(len(words))
    names = ("on", "nearest", "chance")
    return {**dict(zip(names, shares.tolist(), strict=True)), "margin": float(margin)}


NAMES = ("source", "target", "boxes")


def measure(corpus: Path, variant: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train or resume a run, and measure it on the test words."""
    began = time.time()
    run = arguments.runs / f"{variant}-{seed}"
    settings = [*VARIANTS[variant], *arguments.settings]
    trained = regard.train(
        "spatial",
        split(corpus, "train"),
        run=run,
        valid=split(corpus, "valid"),
        steps=arguments.steps,
        settings=[f"training.seed={seed}", "training.processes=1", *settings],
        quiet=True,
    )
    minutes = (time.time() - began) / 60
    evaluation = regard.evaluate(run, split(corpus, "test"))
    (exact,) = (score for score in evaluation.scores if score.name == "exact")
    references = lines_of(corpus / "test.target")
    right: dict[int, list[bool]] = {}
    for reference, output in zip(references, evaluation.outputs, strict=True):
        right.setdefault(len(reference), []).append(reference == output)
    return {
        "variant": variant,
        "seed": seed,
        "steps": arguments.steps,
        "minutes": round(minutes, 2),
        "parameters": parameters(trained),
        "exact": exact.value,
        "exact_margin": exact.margin,
        "by_length": {n: round(100 * float(np.mean(right[n])), 1) for n in sorted(right)},
        "looks": where_it_looks(run, corpus),
        "settings": settings,
    }


def report(row: dict[str, Any]) -> None:
    facts = f"{row['steps']} steps, {row['minutes']:.1f} minutes, {row['parameters']:,} parameters"
    lengths = ", ".join(f"{length}: {right:.0f}" for length, right in row["by_length"].items())
    exact = f"exact {row['exact']:.1f} ± {row['exact_margin']:.1f}"
    print(f"{row['variant']} seed {row['seed']} ({facts}): {exact}; by letters {lengths}")
    if looks := row["looks"]:
        print(
            f"  patch on the letter {looks['on']:.1f} ± {looks['margin']:.1f}, and nearest to it "
            f"{looks['nearest']:.1f}; by chance {looks['chance']:.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, default=30_000)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")
    arguments = parser.parse_args()
    corpus = prepare(arguments.runs / "data", arguments.pairs)
    rows = []
    for seed in arguments.seeds:
        for variant in arguments.variants:
            rows.append(measure(corpus, variant, seed, arguments))
            report(rows[-1])
            if arguments.output is not None:
                arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
