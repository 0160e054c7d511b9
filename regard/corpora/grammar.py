"""An English-German parallel corpus from a bilingual grammar, with word alignments and trees.

The grammar draws each sentence as a structure and realises it in both languages. More than a
quarter of the sentences are riddles: to translate "it", one must know what it refers to.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from regard.corpora.clause import Sentence
from regard.corpora.lexicon.conjunctions import ALTHOUGH, BECAUSE, SINCE
from regard.corpora.phrases import ReferringPronoun
from regard.corpora.riddles import RiddleSampler, Split, street
from regard.corpora.sentences import SentenceSampler
from regard.corpora.words import Node, Word
from regard.corpora.writing import write_files

RIDDLE_SHARE = 0.28
MAX_PAIRS = 2_000_000
MAX_REPEATS = 2_000
"""After this many known sentences in a row, the grammar is taken to be exhausted."""


@dataclass(frozen=True)
class Example:
    """A generated sentence and its translation, annotated."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]
    """(source word, target word), counted from 0 after splitting at spaces."""
    tree: tuple[int, ...]
    """The head of each source word in the dependency tree, counted from 1; 0 for the root."""
    pronoun: int | None
    """Index of the target pronoun to be resolved, if the sentence is a riddle."""
    antecedent: int | None = None
    """Index of the source noun that a riddle's pronoun refers to."""
    distractor: int | None = None
    """Index of the source noun that the pronoun could refer to if the adjective were another."""


@dataclass(frozen=True)
class GrammarCorpus:
    """Three splits that have no sentence in common."""

    train: list[Example]
    valid: list[Example]
    test: list[Example]


def realise(sentence: Sentence) -> Example:
    """Realise a sentence in both languages and read off alignment, tree and pronoun."""
    source, target = sentence.english(), sentence.german()
    end = "?" if sentence.main.question else "."
    number_of = {id(word): number for number, word in enumerate(source, 1)}
    pronouns = [
        index
        for index, word in enumerate(target)
        if word.nodes and isinstance(word.nodes[0][0], ReferringPronoun)
    ]
    antecedent, distractor = candidate_nouns(source, [target[index] for index in pronouns])
    return Example(
        source=capitalise(" ".join(word.text for word in source)) + end,
        target=capitalise(" ".join(word.text for word in target)) + end,
        alignment=align(source, target),
        tree=tuple(0 if word.parent is None else number_of[id(word.parent)] for word in source),
        pronoun=pronouns[0] if pronouns else None,
        antecedent=antecedent,
        distractor=distractor,
    )


def candidate_nouns(source: list[Word], pronouns: list[Word]) -> tuple[int | None, int | None]:
    """Indices of the source noun that a riddle's pronoun refers to, and of the other one."""
    if not pronouns:
        return None, None
    pronoun = pronouns[0].nodes[0][0]
    assert isinstance(pronoun, ReferringPronoun)
    nouns = [
        (index, node[0])
        for index, word in enumerate(source)
        for node in word.nodes
        if node[1] == "noun"
    ]
    right = [index for index, phrase in nouns if phrase is pronoun.antecedent]
    others = [index for index, phrase in nouns if phrase is not pronoun.antecedent]
    return next(iter(right), None), next(iter(others), None)


def align(source: list[Word], target: list[Word]) -> tuple[tuple[int, int], ...]:
    """The indices of all pairs of words that express the same node."""
    source_words: dict[Node, list[int]] = {}
    for index, word in enumerate(source):
        for node in word.nodes:
            source_words.setdefault(node, []).append(index)
    links = {
        (source_index, index)
        for index, word in enumerate(target)
        for node in word.nodes
        for source_index in source_words.get(node, ())
    }
    return tuple(sorted(links))


def capitalise(text: str) -> str:
    """Change the first letter only: German nouns keep their capitals."""
    return text[0].upper() + text[1:]


STREET: tuple[Example, Example] = (
    realise(street("tired", is_subject=True)),
    realise(street("wide", is_subject=False)),
)


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> GrammarCorpus:
    """Generate a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they do not change with the size of the training set.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    requested = pairs + 2 * held_out
    if requested > MAX_PAIRS:
        raise ValueError(
            f"The grammar gives at most {MAX_PAIRS:,} distinct pairs; {requested:,} were requested."
        )
    seen = {text for example in STREET for text in (example.source, example.target)}
    test = draw(held_out, Split.TEST, seed, seen)
    valid = draw(held_out, Split.VALID, seed, seen)
    return GrammarCorpus(train=draw(pairs, Split.TRAIN, seed, seen), valid=valid, test=test)


def draw(count: int, split: Split, seed: int, seen: set[str]) -> list[Example]:
    """Draw examples whose source and target are both new, and add them to `seen`."""
    generator = random.Random(f"{seed} {split.value}")
    sentences, riddles = SentenceSampler(generator), RiddleSampler(generator, split)
    drawn: list[Example] = []
    repeats = 0
    while len(drawn) < count:
        riddle_count = int(len(drawn) * RIDDLE_SHARE)
        is_riddle = int((len(drawn) + 1) * RIDDLE_SHARE) > riddle_count
        example = realise(riddles.sentence(riddle_count) if is_riddle else sentences.sentence())
        if example.source not in seen and example.target not in seen:
            seen.update((example.source, example.target))
            drawn.append(example)
            repeats = 0
            continue
        repeats += 1
        if repeats > MAX_REPEATS:
            raise ValueError(f"The grammar ran out of new {split.value} pairs after {len(drawn)}.")
    return drawn


CONJUNCTIONS = {german for _, german in (BECAUSE, SINCE, ALTHOUGH)}
GENDERED = {"er", "sie", "es"}


def right_pronoun(example: Example, translation: str) -> bool:
    """Whether the subordinate clause of a translation has the right pronoun and no other.

    In a translation without a conjunction, this is whatever follows the last comma.
    """
    if example.pronoun is None:
        raise ValueError("This example has no pronoun to resolve.")
    words = translation.split(" ")
    starts = [
        index for index, word in enumerate(words) if word.strip(".,!?").lower() in CONJUNCTIONS
    ]
    commas = [index for index, word in enumerate(words) if word.endswith(",")]
    if not starts and not commas:
        return False
    clause = words[(starts[0] if starts else commas[-1]) + 1 :]
    found = {word.strip(".,!?") for word in clause} & GENDERED
    return found == {example.target.split(" ")[example.pronoun]}


def write(corpus: GrammarCorpus, folder: Path) -> None:
    """Write four files per split: .en, .de, .align in Pharaoh format and, for --trees, .trees."""
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    files: dict[str, list[str]] = {}
    for split, examples in splits.items():
        files[f"{split}.en"] = [example.source for example in examples]
        files[f"{split}.de"] = [example.target for example in examples]
        links = (example.alignment for example in examples)
        files[f"{split}.align"] = [" ".join(f"{a}-{b}" for a, b in each) for each in links]
        files[f"{split}.trees"] = [" ".join(map(str, example.tree)) for example in examples]
    write_files(folder, files)
