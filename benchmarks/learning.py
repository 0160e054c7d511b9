"""Does it pay to learn on? Fine-tuning, back-translation, averages and ensembles on Multi30k,
English to German.

python -m benchmarks.learning --data ../shared/data --runs DIR [--parts tuning back together]
    [--steps 1500] [--tune-steps 300] [--general 60000] [--few 2000] [--seed 1]
    [--set PATH=VALUE ...] [--output results.json]

Fine-tuning: a general model learns from everyday sentences (Tatoeba); with `few` captions of
Multi30k it is compared before and after it learned on from them, and with a model that had those
captions alone. Back-translation: half of the captions lose their English side; a model from German
to English, trained on the other half, writes it again (`regard augment`), and the model trained on
both halves is compared with the one that had half of the pairs. Together: a second model learns
from half of the captions with another seed, and the first is compared with their ensemble; the
first also learns on from the other half twice, with seeds of their own and the full learning rate,
and one of these two is compared with the average of both. All are scored on test_2016 in the same
comparison, by paired bootstrap. Finished runs are only measured again.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import regard
from regard.metrics.text import TextMetrics

RECIPE = "multi30k"
RECIPE_RATE = 0.016
"""What a run that starts from another has a tenth of."""

HELD_OUT_EVERY = 60


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [line.rstrip("\n") for line in stream]


def captions(data: Path, name: str) -> list[str]:
    """The captions of one part as TSV lines of English and German."""
    sides = (read(data / "multi30k" / f"{name}.{language}.gz") for language in ("en", "de"))
    return ["\t".join(" ".join(side.split()) for side in pair) for pair in zip(*sides, strict=True)]


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def turned(lines: Sequence[str]) -> list[str]:
    return ["\t".join(reversed(line.split("\t"))) for line in lines]


class Trials:
    """Runs of one seed in one folder, and their common validation and test pairs."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.folder: Path = arguments.runs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.train_lines = captions(arguments.data, "train")
        self.valid = write(self.folder / "valid.tsv", captions(arguments.data, "val"))
        self.test = write(self.folder / "test.tsv", captions(arguments.data, "test_2016_flickr"))

    def train(
        self,
        name: str,
        pairs: Path,
        steps: int,
        valid: Path,
        seed: int = 0,
        own: Sequence[str] = (),
        **more: Any,
    ) -> Path:
        run = self.folder / name
        settings = [*self.arguments.settings, *own]
        if more:  # another run gives the tokenizer
            settings = [each for each in settings if not each.startswith("tokenizer.")]
        regard.train(
            None if "start" in more else RECIPE,
            regard.Parallel(pairs=pairs),
            run=run,
            valid=regard.Parallel(pairs=valid),
            steps=steps,
            settings=[f"training.seed={self.arguments.seed + seed}", *settings],
            **more,
        )
        return run

    def compare(self, runs: Sequence[Path], ensemble: Sequence[Path] = ()) -> list[dict[str, Any]]:
        """BLEU and chrF of each run; the first is the one that the others are compared with."""
        test = regard.Parallel(pairs=self.test)
        rows = regard.compare(runs, test, metrics=TextMetrics(), ensemble=ensemble)
        for row in rows:
            sure = "" if row.p_value is None else f", p = {row.p_value:.4f}"
            print(f"{row.name}: {row.metric} {row.value:.2f} ± {row.margin:.2f}{sure}", flush=True)
        return [asdict(row) for row in rows]


def tuning(trials: Trials) -> list[dict[str, Any]]:
    arguments = trials.arguments
    lines = read(arguments.data / "tatoeba-en-de" / "train.tsv.gz")  # sorted by length
    lines = lines[:: max(1, len(lines) // arguments.general)]
    held_out = set(range(0, len(lines), HELD_OUT_EVERY))
    rest = [line for index, line in enumerate(lines) if index not in held_out]
    everyday = write(trials.folder / "general.tsv", rest)
    everyday_valid = write(trials.folder / "general.valid.tsv", lines[::HELD_OUT_EVERY])
    few = write(trials.folder / "few.tsv", trials.train_lines[: arguments.few])
    broad = trials.train("general", everyday, arguments.steps, everyday_valid)
    alone = trials.train("few-alone", few, arguments.tune_steps, trials.valid)
    tuned = trials.train("tuned", few, arguments.tune_steps, trials.valid, start=broad)
    return trials.compare([alone, broad, tuned])


def back_translation(trials: Trials) -> list[dict[str, Any]]:
    arguments, lines = trials.arguments, trials.train_lines
    half = len(lines) // 2
    kept = write(trials.folder / "half.tsv", lines[:half])
    reversed_pairs = write(trials.folder / "half.turned.tsv", turned(lines[:half]))
    reversed_valid = write(
        trials.folder / "valid.turned.tsv", turned(captions(arguments.data, "val"))
    )
    german = write(trials.folder / "mono.de", [line.split("\t")[1] for line in lines[half:]])
    alone = trials.train("half-alone", kept, arguments.steps, trials.valid)
    reverse = trials.train("reverse", reversed_pairs, arguments.steps, reversed_valid)
    synthetic = trials.folder / "synthetic.tsv"
    if not synthetic.exists():
        regard.augment(reverse, german, output=synthetic)
    made = synthetic.read_text(encoding="utf-8").splitlines()
    both = write(trials.folder / "both.tsv", [*lines[:half], *made])
    taught = trials.train("back-translated", both, arguments.steps, trials.valid)
    return trials.compare([alone, taught])


def together(trials: Trials) -> list[dict[str, Any]]:
    arguments, lines, valid = trials.arguments, trials.train_lines, trials.valid
    half = len(lines) // 2
    kept = write(trials.folder / "half.tsv", lines[:half])
    rest = write(trials.folder / "rest.tsv", lines[half:])
    first = trials.train("half-alone", kept, arguments.steps, valid)
    second = trials.train("half-again", kept, arguments.steps, valid, seed=1, tokenizer=first)
    rows = [*trials.compare([first, second]), *trials.compare([first, second], [first])[1:]]
    rate = [f"training.optimizer.rate={RECIPE_RATE}"]
    later = [
        trials.train(f"later-{seed}", rest, arguments.tune_steps, valid, seed, rate, start=first)
        for seed in (1, 2)
    ]
    mean = trials.folder / "mean"
    if not mean.exists():
        regard.average(later, run=mean)
    return [*rows, *trials.compare([*later, mean])]


PARTS = {"tuning": tuning, "back": back_translation, "together": together}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--runs", type=Path, required=True, help="folder for data and runs")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--tune-steps", type=int, default=300, help="on the few pairs")
    parser.add_argument("--general", type=int, default=60_000, help="pairs of everyday sentences")
    parser.add_argument("--few", type=int, default=2000, help="captions to learn on from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path, help="write the results here, as JSON")
    arguments = parser.parse_args()
    trials, results = Trials(arguments), {}
    for part in arguments.parts:
        results[part] = PARTS[part](trials)
        if arguments.output is not None:
            arguments.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
