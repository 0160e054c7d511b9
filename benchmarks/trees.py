"""Dependency trees for plain text: train a parser on a treebank and parse other files.

python -m benchmarks.trees --treebank DIR --texts train.en.gz val.en.gz --output DIR [--epochs 6]

Syntax positions need the dependency tree of each source sentence, which Multi30k does not have.
This trains spaCy's parser on lower-cased sentences of a Universal Dependencies treebank (files
named *-train.conllu.gz and *-dev.conllu.gz) and writes train.en.trees.gz for train.en.gz and so on:
the head of each whitespace-separated word, counted from 1, or 0 for the root. Prints the unlabelled
attachment score (UAS) on the treebank's dev split.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch

BATCH = 64
DROPOUT = 0.2


@dataclass(frozen=True)
class Parsed:
    """A sentence of a treebank; `tree` has the head of each word from 1, or 0 for the root."""

    words: list[str]
    tree: list[int]
    labels: list[str]


def read_treebank(path: Path) -> Iterator[Parsed]:
    """The sentences of a CoNLL-U file, in lower case."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for sentence in lines.read().split("\n\n"):
            rows = [line.split("\t") for line in sentence.splitlines() if not line.startswith("#")]
            words = [row for row in rows if row[0].isdigit()]  # neither ranges nor empty nodes
            if words:
                forms = [row[1].replace(" ", "").lower() for row in words]
                yield Parsed(forms, [int(row[6]) for row in words], [row[7] for row in words])


def one_sentence(parser: Language, words: list[str]) -> Doc:
    """A document of one sentence, already split into words."""
    return Doc(parser.vocab, words, sent_starts=[number == 0 for number in range(len(words))])


def example(parser: Language, parsed: Parsed) -> Example:
    """A training example; spaCy counts from 0, and a root is its own head."""
    heads = [head - 1 if head else index for index, head in enumerate(parsed.tree)]
    gold = Doc(parser.vocab, parsed.words, heads=heads, deps=parsed.labels)
    return Example(one_sentence(parser, parsed.words), gold)


def tree_of(sentence: Doc) -> list[int]:
    return [0 if word.head.i == word.i else word.head.i + 1 for word in sentence]


def attachment_score(parser: Language, sentences: list[Parsed]) -> float:
    """Unlabelled attachment score: the share of words with the right head."""
    found = parser.pipe(one_sentence(parser, parsed.words) for parsed in sentences)
    heads = [
        both
        for parsed, doc in zip(sentences, found, strict=True)
        for both in zip(parsed.tree, tree_of(doc), strict=True)
    ]
    return sum(gold == guess for gold, guess in heads) / len(heads)


def train_parser(train: list[Parsed], dev: list[Parsed], epochs: int, seed: int) -> Language:
    """Train a parser for this many epochs."""
    fix_random_seed(seed)
    parser = spacy.blank("en")
    parser.add_pipe("parser")
    examples = [example(parser, parsed) for parsed in train]
    optimizer = parser.initialize(lambda: examples)
    order = random.Random(seed)
    for epoch in range(1, epochs + 1):
        order.shuffle(examples)
        for batch in minibatch(examples, BATCH):
            parser.update(batch, sgd=optimizer, drop=DROPOUT)
        print(f"epoch {epoch}: UAS {attachment_score(parser, dev):.1%}", flush=True)
    return parser


def write_trees(parser: Language, lines: Iterable[str], path: Path) -> None:
    """Write one tree per line of words."""
    sentences = (one_sentence(parser, line.split()) for line in lines)
    with gzip.open(path, "wt", encoding="utf-8") as output:
        for sentence in parser.pipe(sentences, batch_size=BATCH):
            output.write(" ".join(map(str, tree_of(sentence))) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--treebank", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    train, dev = (
        [
            parsed
            for path in arguments.treebank.glob(f"*-{split}.conllu.gz")
            for parsed in read_treebank(path)
        ]
        for split in ("train", "dev")
    )
    if not train or not dev:
        parser.error(f"{arguments.treebank} has no *-train.conllu.gz or no *-dev.conllu.gz.")
    trained = train_parser(train, dev, arguments.epochs, arguments.seed)
    arguments.output.mkdir(parents=True, exist_ok=True)
    for text in arguments.texts:
        with gzip.open(text, "rt", encoding="utf-8") as lines:
            name = f"{text.name.removesuffix('.gz')}.trees.gz"
            write_trees(trained, lines, arguments.output / name)


if __name__ == "__main__":
    main()
