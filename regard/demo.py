"""`regard demo`: trains a translator that resolves pronouns on the built-in corpus, in minutes."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from regard.corpora import grammar
from regard.corpora.writing import check_folder
from regard.data.parallel import Parallel
from regard.predict import Predictor
from regard.runs.load import load
from regard.runs.train import train

PAIRS = 60_000
SETTINGS = (
    "tokenizer.vocabulary=2000",
    "batch.tokens=2048",
    "model.layers=2",
    "model.dropout=0",
    "model.smoothing=0",
    "training.optimizer.rate=5e-3",
    "training.optimizer.warmup=200",
    "training.average.decay=0.995",
    "training.metric=exact",
    "training.validation_lines=300",
    "training.validate_every=400",
)
STEPS = 2600


def run_demo(folder: Path) -> None:
    """Write the corpus, train, evaluate, translate two sentences, suggest what to try next."""
    console = Console(highlight=False)
    corpus_folder, run_folder = folder / "corpus", folder / "run"
    check_folder(corpus_folder)
    with console.status("generating an English-German corpus from a grammar"):
        corpus = grammar.generate(PAIRS)
        if not (corpus_folder / "test.trees").exists():
            grammar.write(corpus, corpus_folder)
    console.print(
        f"A corpus of {PAIRS:,} English-German pairs is in {corpus_folder}. A small Transformer "
        "will now learn from it; this takes a few minutes, and Ctrl-C loses nothing.",
        soft_wrap=True,
    )
    train(
        "tiny",
        Parallel(corpus_folder / "train.en", corpus_folder / "train.de"),
        run=run_folder,
        valid=Parallel(corpus_folder / "valid.en", corpus_folder / "valid.de"),
        steps=STEPS,
        settings=SETTINGS,
    )
    with console.status("translating sentences it has never seen"):
        predictor = load(run_folder)
        exact, pronouns = measure(predictor, corpus.test)
    console.print(f"\nOn {len(corpus.test):,} sentences it has never seen:")
    console.print(f"  exactly right      {exact:.1%}")
    console.print(f"  correct pronoun    {pronouns:.1%}  (er, sie or es, depending on the noun)\n")
    for example in grammar.STREET:
        translation = predictor(example.source)
        verdict = (
            "right" if translation == example.target else f"wrong, it should be {example.target}"
        )
        console.print(f"  {example.source}\n  -> {translation}  ({verdict})")
    console.print(_next_steps(run_folder, corpus_folder), markup=False, soft_wrap=True)


def measure(predictor: Predictor, examples: list[grammar.Example]) -> tuple[float, float]:
    """The fraction of exact translations, and of correct pronouns among the riddles."""
    translations = predictor([example.source for example in examples])
    answers = list(zip(examples, translations, strict=True))
    exact = sum(example.target == translation for example, translation in answers)
    riddles = [(each, text) for each, text in answers if each.pronoun is not None]
    right = sum(grammar.right_pronoun(example, translation) for example, translation in riddles)
    return exact / len(answers), right / len(riddles)


def _next_steps(run: Path, corpus: Path) -> str:
    regard = _command()
    return f"""
Try next:
  echo "The dog didn't eat the cake because it was too sweet." | {regard} translate {run}
  {regard} evaluate {run} --source {corpus}/test.en --target {corpus}/test.de
  {regard} look {run} "The animal didn't cross the street because it was too wide." --open
  {regard} info {run}
Your own files, one sentence per line:
  {regard} train multi30k --source train.en --target train.de --run runs/mine --minutes 15
  {regard} translate runs/mine --input new.en --output new.de
"""


def _command() -> Path:
    """The program `regard` beside this Python, as short as it can be written here."""
    program, here = Path(sys.executable).with_name("regard"), Path.cwd()
    return program.relative_to(here) if program.is_relative_to(here) else program
