"""Questions to logical forms, with and without copying: GEO and ATIS.

python -m benchmarks.parsing --data ../shared/data/semantic-parsing --runs DIR
    [--corpora geo880 atis] [--variants plain copying] [--seeds 1 2 3] [--steps 2000]
    [--tune] [--set model.width=256] [--output results.json]

GEO (Zelle and Mooney 1996) has 600 training and 280 test questions, ATIS (Dahl et al. 1994) 4,473
and 448, in the form that Jia and Liang (2016, arXiv 1606.03622) use. Exact match of the whole form,
beam search. `--tune` holds 100 training questions of GEO out and scores on them (for ATIS, on its
validation part) instead of the test part. Each run uses one process; the same command resumes.

The forms of ATIS are rewritten in a way that keeps their meaning: see `lambda_form`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union

import regard
from benchmarks.variants import Budget, Task, measure, report
from regard.metrics.paired import System, paired_bootstrap
from regard.metrics.table import DEFAULT, METRICS

CORPORA = ("geo880", "atis")
VARIANTS = ("plain", "copying")
STEPS = 2000
HELD_OUT = 100
Pairs = list[tuple[str, str]]
Form = Union[str, list["Form"]]

UNORDERED = ("_and", "_or")
VARIABLE = re.compile(r"\$\w+")
CONSTANT = re.compile(r"(\S+):(_\w+)")


def lambda_form(text: str) -> str:
    """A form of ATIS such that equal meanings are more often equal texts.

    Arguments of `_and` and `_or` are sorted and variables are numbered as they occur, as Dong and
    Lapata (2018, arXiv 1805.04793) do to compare forms. Half of the test forms lack their last
    parenthesis, which is added. The words and the type of a constant are separated, so that they
    are words of the question: `san_diego:_ci` becomes `san diego :_ci`.
    """
    tokens = text.split()
    tokens += [")"] * (tokens.count("(") - tokens.count(")"))
    ordered = written(sort(next(parse(iter(tokens)))))
    names: dict[str, str] = {}
    numbered = VARIABLE.sub(lambda found: names.setdefault(found[0], f"${len(names)}"), ordered)
    return CONSTANT.sub(lambda found: f"{found[1].replace('_', ' ')} :{found[2]}", numbered)


def parse(tokens: Iterator[str]) -> Iterator[Form]:
    """What is between two parentheses, each part a list or a word."""
    for token in tokens:
        if token == ")":
            return
        yield list(parse(tokens)) if token == "(" else token


def sort(form: Form) -> Form:
    if isinstance(form, str):
        return form
    parts = [sort(part) for part in form]
    if parts and parts[0] in UNORDERED:
        parts[1:] = sorted(parts[1:], key=lambda part: VARIABLE.sub("$", written(part)))
    return parts


def written(form: Form) -> str:
    return form if isinstance(form, str) else f"( {' '.join(map(written, form))} )"


def read(path: Path, corpus: str) -> Pairs:
    lines = [line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines()]
    rewrite = lambda_form if corpus == "atis" else str
    return [(question, rewrite(form)) for question, form in lines]


def prepare(data: Path, corpus: str, folder: Path, tune: bool) -> Task:
    """Write the pairs of a corpus to the folder. Without validation data, some are held out."""
    train = read(data / f"{corpus}.train.tsv", corpus)
    dev = data / f"{corpus}.dev.tsv"
    if tune and not dev.exists():
        held = train[:: len(train) // HELD_OUT]
        train, test = [pair for pair in train if pair not in held], held
    else:
        test = read(dev if tune else data / f"{corpus}.test.tsv", corpus)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": train, "test": test}
    if dev.exists():
        parts["valid"] = read(dev, corpus)
    paths = {part: folder / f"{corpus}-{'tune-' if tune else ''}{part}.tsv" for part in parts}
    for part, pairs in parts.items():
        text = "".join(f"{question}\t{form}\n" for question, form in pairs)
        paths[part].write_text(text, encoding="utf-8")
    return Task(corpus, paths["train"], paths["test"], paths.get("valid"), recipe="parsing")


def unseen(task: Task) -> list[int]:
    """The test pairs whose form has a word that no training form has."""
    train, test = (
        [line.split("\t") for line in path.read_text().splitlines()]
        for path in (task.train, task.test)
    )
    known = {word for _, form in train for word in form.split()}
    return [number for number, (_, form) in enumerate(test) if not known.issuperset(form.split())]


def compare(task: Task, outputs: dict[str, list[list[str]]]) -> dict[str, Any]:
    """Both variants on the test questions of all seeds, and on those with unseen words alone."""
    test = [line.split("\t") for line in task.test.read_text(encoding="utf-8").splitlines()]
    rare = unseen(task)
    right: dict[str, Any] = {}
    for name, of_seeds in outputs.items():
        scores = [
            100 * sum(o == form for o, (_, form) in zip(each, test, strict=True)) / len(test)
            for each in of_seeds
        ]
        of_rare = [sum(each[number] == test[number][1] for number in rare) for each in of_seeds]
        right[name] = {
            "mean": statistics.mean(scores),
            "deviation": statistics.stdev(scores) if len(scores) > 1 else 0.0,
            "unseen": f"{statistics.mean(of_rare):.1f} of {len(rare)}",
        }
    if len(outputs) > 1:
        seeds = min(map(len, outputs.values()))
        joined = [
            System(name, [o for each in found[:seeds] for o in each])
            for name, found in outputs.items()
        ]
        sources, references = ([pair[side] for pair in test] * seeds for side in (0, 1))
        for each in paired_bootstrap(joined, sources, references, [METRICS["exact"](DEFAULT)]):
            right[each.name] |= {"margin": each.margin, "p": each.p_value}
    return right


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data/semantic-parsing"))
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=STEPS, help="updates per run")
    parser.add_argument("--tune", action="store_true", help="score on held-out training pairs")
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    comparisons: dict[str, Any] = {}
    for corpus in arguments.corpora:
        task = prepare(arguments.data, corpus, arguments.runs / "data", arguments.tune)
        comparisons[corpus] = measure_corpus(task, arguments, rows)
        print(json.dumps(comparisons, indent=1), flush=True)
    if arguments.output:
        whole = json.dumps({"comparisons": comparisons, "runs": rows}, indent=1)
        arguments.output.write_text(whole + "\n", encoding="utf-8")


def measure_corpus(
    task: Task, arguments: argparse.Namespace, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    outputs: dict[str, list[list[str]]] = {name: [] for name in arguments.variants}
    for seed in arguments.seeds:
        for variant in arguments.variants:
            run = arguments.runs / f"{task.name}-{variant}-{seed}"
            chosen = f"model.copying={'true' if variant == 'copying' else 'false'}"
            settings = ["training.processes=1", chosen, *arguments.settings]
            limit = Budget(arguments.steps, None)
            rows.append(measure(task, variant, run, settings, seed, limit))
            evaluation = regard.evaluate(run, regard.Parallel(pairs=task.test))
            outputs[variant].append(list(evaluation.outputs))
            report(rows, None)
    return compare(task, outputs)


if __name__ == "__main__":
    main()
