"""An English-German parallel corpus written by a bilingual grammar, with alignments and heads.

The grammar draws sentences as structures and realises each in both languages. A good quarter of
them are riddles, in which German has to know what "it" refers to.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from regard.corpora.clause import Sentence
from regard.corpora.lexicon.conjunctions import ALTHOUGH, BECAUSE, SINCE
from regard.corpora.phrases import Referring
from regard.corpora.riddles import Part, Riddler, street
from regard.corpora.sentences import Writer
from regard.corpora.words import Node, Word
from regard.files import write_text

RIDDLE_SHARE = 0.28
LARGEST = 2_000_000
PATIENCE = 2_000
"""How many known sentences in a row mean that there are no new ones."""


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, with what a model might be asked about them."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]
    """Pairs of a source word and a target word, counted from 0 after splitting at spaces."""
    heads: tuple[int, ...]
    """For each source word the index of its head, -1 for the root."""
    pronoun: int | None
    """The target word that is the pronoun to be resolved, if the sentence is a riddle."""
    antecedent: int | None = None
    """The source noun that the pronoun of a riddle stands for."""
    rival: int | None = None
    """The source noun that it might stand for as well, but for the adjective."""


@dataclass(frozen=True)
class Corpus:
    """Three lists without a sentence in common."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def realise(sentence: Sentence) -> Pair:
    """Realise a sentence in both languages and read off alignment, heads and pronoun."""
    source, target = sentence.english(), sentence.german()
    end = "?" if sentence.main.question else "."
    places = {id(word): index for index, word in enumerate(source)}
    pronouns = [
        index
        for index, word in enumerate(target)
        if word.nodes and isinstance(word.nodes[0][0], Referring)
    ]
    antecedent, rival = nouns_of_riddle(source, [target[index] for index in pronouns])
    return Pair(
        source=capital(" ".join(word.text for word in source)) + end,
        target=capital(" ".join(word.text for word in target)) + end,
        alignment=align(source, target),
        heads=tuple(-1 if word.head is None else places[id(word.head)] for word in source),
        pronoun=pronouns[0] if pronouns else None,
        antecedent=antecedent,
        rival=rival,
    )


def nouns_of_riddle(source: list[Word], pronouns: list[Word]) -> tuple[int | None, int | None]:
    """The source noun that a riddle's pronoun stands for, and the other one."""
    if not pronouns:
        return None, None
    referring = pronouns[0].nodes[0][0]
    assert isinstance(referring, Referring)
    nouns = [
        (index, node[0])
        for index, word in enumerate(source)
        for node in word.nodes
        if node[1] == "noun"
    ]
    right = [index for index, phrase in nouns if phrase is referring.antecedent]
    others = [index for index, phrase in nouns if phrase is not referring.antecedent]
    return next(iter(right), None), next(iter(others), None)


def align(source: list[Word], target: list[Word]) -> tuple[tuple[int, int], ...]:
    """The indices of all pairs of words that stand for the same node."""
    places: dict[Node, list[int]] = {}
    for index, word in enumerate(source):
        for node in word.nodes:
            places.setdefault(node, []).append(index)
    pairs = {
        (place, index)
        for index, word in enumerate(target)
        for node in word.nodes
        for place in places.get(node, ())
    }
    return tuple(sorted(pairs))


def capital(text: str) -> str:
    """Only the first letter changes; German nouns keep theirs."""
    return text[0].upper() + text[1:]


STREET: tuple[Pair, Pair] = (
    realise(street("tired", is_subject=True)),
    realise(street("wide", is_subject=False)),
)


def generate(pairs: int, seed: int = 1, held_out: int = 1000) -> Corpus:
    """Write a corpus: `pairs` for training, and `held_out` each for validation and test.

    Test and validation are drawn first, so they stay the same when the training set grows.
    """
    if pairs < 0 or held_out < 0:
        raise ValueError("A corpus cannot have a negative number of pairs.")
    asked = pairs + 2 * held_out
    if asked > LARGEST:
        raise ValueError(f"The grammar gives {LARGEST} distinct pairs, but {asked} were asked for.")
    seen = {text for pair in STREET for text in (pair.source, pair.target)}
    test = draw(held_out, Part.TEST, seed, seen)
    valid = draw(held_out, Part.VALID, seed, seen)
    return Corpus(train=draw(pairs, Part.TRAIN, seed, seen), valid=valid, test=test)


def draw(count: int, part: Part, seed: int, seen: set[str]) -> list[Pair]:
    """Draw pairs whose source and target are both new; `seen` grows."""
    chance = random.Random(f"{seed} {part.value}")
    writer, riddler = Writer(chance), Riddler(chance, part)
    drawn: list[Pair] = []
    failures = 0
    while len(drawn) < count:
        turn = int(len(drawn) * RIDDLE_SHARE)
        riddle = int((len(drawn) + 1) * RIDDLE_SHARE) > turn
        pair = realise(riddler.sentence(turn) if riddle else writer.sentence())
        if pair.source not in seen and pair.target not in seen:
            seen.update((pair.source, pair.target))
            drawn.append(pair)
            failures = 0
            continue
        failures += 1
        if failures > PATIENCE:
            raise ValueError(f"The grammar ran out of new {part.value} pairs after {len(drawn)}.")
    return drawn


CONJUNCTIONS = {german for _, german in (BECAUSE, SINCE, ALTHOUGH)}
GENDERED = {"er", "sie", "es"}


def right_pronoun(pair: Pair, translation: str) -> bool:
    """Whether the subordinate clause of a translation has the right pronoun and no other.

    A translation without any conjunction is judged by what follows its last comma.
    """
    if pair.pronoun is None:
        raise ValueError("This pair has no pronoun to be resolved.")
    words = translation.split(" ")
    starts = [
        index for index, word in enumerate(words) if word.strip(".,!?").lower() in CONJUNCTIONS
    ]
    commas = [index for index, word in enumerate(words) if word.endswith(",")]
    if not starts and not commas:
        return False
    clause = words[(starts[0] if starts else commas[-1]) + 1 :]
    found = {word.strip(".,!?") for word in clause} & GENDERED
    return found == {pair.target.split(" ")[pair.pronoun]}


def write(corpus: Corpus, folder: Path) -> None:
    """Write four files for each part: .en, .de, .align in Pharaoh format, and .trees, in which
    words count from 1 and 0 is the root, as --trees reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        columns = {
            "en": [pair.source for pair in pairs],
            "de": [pair.target for pair in pairs],
            "align": [" ".join(f"{a}-{b}" for a, b in pair.alignment) for pair in pairs],
            "trees": [" ".join(str(head + 1) for head in pair.heads) for pair in pairs],
        }
        for suffix, lines in columns.items():
            write_text(folder / f"{part}.{suffix}", "".join(line + "\n" for line in lines))
