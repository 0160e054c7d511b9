"""Entity networks on the bAbI tasks (Weston et al. 2015), one model per task.

python -m benchmarks.babi --data ../shared/data/babi --runs DIR [--tasks 1 4 6 7 9 10 12 15 20]
    [--minutes 4 | --steps N] [--seeds 1 2 3] [--good-enough 99.5] [--set model.slots=30]
    [--output results.json]

Each question becomes a line: the sentences of its story up to it, then the question, with the
marker between them. A tenth of the training questions validates. As in the paper, which keeps the
best of ten runs, the run with the best validation accuracy counts; there are no more runs once one
is good enough. Accuracy on the test questions, which choose nothing.
"""

from __future__ import annotations

import argparse
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.variants import Task, add_options, budget, measure, report

TASKS = (1, 4, 6, 7, 9, 10, 12, 15, 20)
MINUTES = 4.0
MARKER = " ||| "


def questions(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each question as a line of text, and its answer."""
    story: list[str] = []
    for line in lines:
        number, _, text = line.strip().partition(" ")
        if number == "1":
            story = []
        sentence, *answer = text.split("\t")
        words = " ".join(re.findall(r"\w+", sentence.lower()))
        if answer:
            yield MARKER.join([*story, words]), answer[0].strip()
        else:
            story.append(words)


def read(archive: tarfile.TarFile, task: int, part: str) -> list[tuple[str, str]]:
    name = re.compile(rf".*qa{task}_.*_{part}\.txt")
    member = next(each for each in archive.getmembers() if name.fullmatch(each.name))
    stream = archive.extractfile(member)
    assert stream is not None
    return list(questions(line.decode("utf-8") for line in stream))


def prepare(data: Path, task: int, folder: Path) -> Task:
    """Write the questions of one task to the folder."""
    with tarfile.open(data / "babi-en-10k.tar.xz") as archive:
        train, test = (read(archive, task, part) for part in ("train", "test"))
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": train[:-1000], "valid": train[-1000:], "test": test}
    paths = {part: folder / f"{task}.{part}.tsv" for part in parts}
    for part, pairs in parts.items():
        text = "".join(f"{line}\t{answer}\n" for line, answer in pairs)
        paths[part].write_text(text, encoding="utf-8")
    return Task(f"bAbI {task}", paths["train"], paths["test"], paths["valid"], "entity", "accuracy")


def attempts(task: Task, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One run per seed, until one is good enough."""
    rows: list[dict[str, Any]] = []
    for seed in arguments.seeds:
        run = arguments.runs / f"{task.name.replace(' ', '-')}-{seed}"
        limit = budget(arguments, MINUTES)
        rows.append(measure(task, task.recipe, run, arguments.settings, seed, limit))
        if rows[-1]["valid"] >= arguments.good_enough:
            break
    return rows


def chosen(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each task, the run with the best validation accuracy."""
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["task"] not in best or row["valid"] > best[row["task"]]["valid"]:
            best[row["task"]] = row
    return list(best.values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", type=int, default=list(TASKS))
    parser.add_argument(
        "--good-enough",
        type=float,
        default=99.5,
        help="validation accuracy that needs no more runs",
    )
    add_options(parser, MINUTES)
    arguments = parser.parse_args()
    every: list[dict[str, Any]] = []
    for number in arguments.tasks:
        task = prepare(arguments.data, number, arguments.runs / "data")
        every += attempts(task, arguments)
        report(every, arguments.output)
    print("The best of each task by validation accuracy:")
    report(chosen(every), None)


if __name__ == "__main__":
    main()
