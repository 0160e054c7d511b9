"""What a noisy channel adds to a translation model: de-en, judged 20-best lists, paired bootstrap.

python -m benchmarks.channel --data ../shared/data/multi30k-tok --runs DIR
    [--channel RUN] [--names train val test_2016_flickr] [--steps 2000] [--language-steps 1500]
    [--beam 20] [--seed 1] [--set PATH=VALUE ...] [--output results.json]

Three models learn from the same pairs: the direct one from German to English, the channel from
English to German (or --channel: a run that exists, such as a teacher), and a language model of the
English side. The weights of channel and language model, and the length penalty, are tuned on the
validation pairs, for each judge alone and for both. Then the judged 20-best lists of the test pairs
are compared with the direct model's own beam search. Existing runs are resumed; finished ones are
only measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import regard
from regard.metrics.text import TextMetrics
from regard.runs.folder import Run
from regard.runs.judging import Asked

DIRECTION = ("de", "en")


@dataclass(frozen=True)
class Data:
    """Files NAME.de and NAME.en, plain or gzip, of training, validation and test."""

    folder: Path
    train: str
    valid: str
    test: str

    def file(self, name: str, language: str) -> Path:
        plain = self.folder / f"{name}.{language}"
        return plain if plain.exists() else plain.with_name(f"{plain.name}.gz")

    def pairs(self, name: str, languages: Sequence[str] = DIRECTION) -> regard.Parallel:
        source, target = (self.file(name, language) for language in languages)
        return regard.Parallel(source, target)

    def text(self, name: str, language: str) -> regard.Parallel:
        return regard.Parallel(target=self.file(name, language))


def train_all(data: Data, arguments: argparse.Namespace) -> dict[str, Path]:
    """The runs by what they are: direct, channel and language."""
    found = {name: arguments.runs / name for name in ("direct", "channel", "language")}
    settings = [f"training.seed={arguments.seed}", *arguments.settings]

    def train(name: str, recipe: str, steps: int, pairs: Sequence[regard.Parallel]) -> None:
        text, valid = pairs
        regard.train(recipe, text, run=found[name], valid=valid, steps=steps, settings=settings)

    parts = (data.train, data.valid)
    train("direct", "multi30k", arguments.steps, [data.pairs(part) for part in parts])
    if arguments.channel is None:
        turned = [data.pairs(part, DIRECTION[::-1]) for part in parts]
        train("channel", "multi30k", arguments.steps, turned)
    else:
        found["channel"] = arguments.channel
    english = [data.text(part, DIRECTION[1]) for part in parts]
    train("language", "language", arguments.language_steps, english)
    return found


def measure(data: Data, runs: dict[str, Path], beam: int) -> dict[str, Any]:
    """Scores of the direct model on the test pairs, by who judged its candidates."""
    test, direct = data.pairs(data.test), runs["direct"]
    metrics = TextMetrics(tokenize="none")
    search = Run.open(direct).config.search
    wide = regard.evaluate(direct, test, search=search.changed(beam=beam), metrics=metrics)
    print(f"direct, beam {beam}: {wide.scores[0]}", flush=True)
    results: dict[str, Any] = {f"beam {beam}": asdict(wide.scores[0])}
    for kinds in (("language",), ("channel",), ("channel", "language")):
        judges = [f"{kind}={runs[kind]}" for kind in kinds]
        tuned = regard.tune_judges(direct, judges, beam=beam)
        asked = Asked.of(Run.open(direct), ["tuned"])
        rows = regard.compare([direct, direct], test, metrics=metrics, judges=["tuned"])
        shown = [row for row in rows if row.metric == "BLEU"]
        name = " and ".join(kinds)
        print(f"{name}: {tuned.metric} {tuned.alone:.2f} to {tuned.value:.2f} on validation,")
        print(f"  {asked.signature}, length penalty {tuned.weights.length_penalty:g}")
        for row in shown:
            sure = "" if row.p_value is None else f", p = {row.p_value:.4f}"
            print(f"  {row.name}: BLEU {row.value:.2f} ± {row.margin:.2f}{sure}", flush=True)
        results[name] = {"tuned": asdict(tuned), "test": [asdict(row) for row in shown]}
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--channel", type=Path, help="a run from English to German")
    parser.add_argument("--names", nargs=3, default=["train", "val", "test_2016_flickr"])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--language-steps", type=int, default=1500)
    parser.add_argument("--beam", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[], metavar="PATH=VALUE", dest="settings")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    data = Data(arguments.data, *arguments.names)
    results = measure(data, train_all(data, arguments), arguments.beam)
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
