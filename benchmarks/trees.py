"""Heads for text that has none: a parser is trained on a treebank and reads other files.

python -m benchmarks.trees --treebank DIR --texts train.en.gz val.en.gz --output DIR [--epochs 6]

Syntax positions read the head of each source word, and Multi30k comes without. spaCy's parser is
trained here on lower-cased sentences of a Universal Dependencies treebank (files named
*-train.conllu.gz and *-dev.conllu.gz), and writes train.en.trees.gz for train.en.gz and so on, one
number for each word between spaces. What it gets right is printed for the treebank's dev part.
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
class Tree:
    """A sentence of a treebank: k is the k-th word, counted from 1, and 0 the root."""

    words: list[str]
    heads: list[int]
    labels: list[str]


def read_trees(path: Path) -> Iterator[Tree]:
    """The sentences of a CoNLL-U file, in lower case."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for sentence in lines.read().split("\n\n"):
            rows = [line.split("\t") for line in sentence.splitlines() if not line.startswith("#")]
            words = [row for row in rows if row[0].isdigit()]  # neither ranges nor empty nodes
            if words:
                forms = [row[1].replace(" ", "").lower() for row in words]
                yield Tree(forms, [int(row[6]) for row in words], [row[7] for row in words])


def one_sentence(parser: Language, words: list[str]) -> Doc:
    """Words that the parser must not divide further."""
    return Doc(parser.vocab, words, sent_starts=[number == 0 for number in range(len(words))])


def example(parser: Language, tree: Tree) -> Example:
    """What is to be learnt; spaCy counts from 0, and a root is its own head."""
    heads = [head - 1 if head else place for place, head in enumerate(tree.heads)]
    known = Doc(parser.vocab, tree.words, heads=heads, deps=tree.labels)
    return Example(one_sentence(parser, tree.words), known)


def heads_of(sentence: Doc) -> list[int]:
    return [0 if word.head.i == word.i else word.head.i + 1 for word in sentence]


def right(parser: Language, trees: list[Tree]) -> float:
    """The share of words whose head is found."""
    found = parser.pipe(one_sentence(parser, tree.words) for tree in trees)
    pairs = [
        pair
        for tree, doc in zip(trees, found, strict=True)
        for pair in zip(tree.heads, heads_of(doc), strict=True)
    ]
    return sum(head == guess for head, guess in pairs) / len(pairs)


def learn(train: list[Tree], dev: list[Tree], epochs: int, seed: int) -> Language:
    """A parser that has read the treebank so many times."""
    fix_random_seed(seed)
    parser = spacy.blank("en")
    parser.add_pipe("parser")
    examples = [example(parser, tree) for tree in train]
    optimizer = parser.initialize(lambda: examples)
    order = random.Random(seed)
    for epoch in range(1, epochs + 1):
        order.shuffle(examples)
        for batch in minibatch(examples, BATCH):
            parser.update(batch, sgd=optimizer, drop=DROPOUT)
        print(f"epoch {epoch}: {right(parser, dev):.1%} of the heads are right", flush=True)
    return parser


def write_heads(parser: Language, lines: Iterable[str], path: Path) -> None:
    """A line of heads for each line of words."""
    sentences = (one_sentence(parser, line.split()) for line in lines)
    with gzip.open(path, "wt", encoding="utf-8") as output:
        for sentence in parser.pipe(sentences, batch_size=BATCH):
            output.write(" ".join(map(str, heads_of(sentence))) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--treebank", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    train, dev = (
        [tree for path in chosen.treebank.glob(f"*-{part}.conllu.gz") for tree in read_trees(path)]
        for part in ("train", "dev")
    )
    if not train or not dev:
        parser.error(f"{chosen.treebank} needs a *-train.conllu.gz and a *-dev.conllu.gz.")
    learned = learn(train, dev, chosen.epochs, chosen.seed)
    chosen.output.mkdir(parents=True, exist_ok=True)
    for text in chosen.texts:
        with gzip.open(text, "rt", encoding="utf-8") as lines:
            write_heads(learned, lines, chosen.output / f"{text.name.removesuffix('.gz')}.trees.gz")


if __name__ == "__main__":
    main()
