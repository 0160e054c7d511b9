"""What the lines of a corpus are: sentences and their translations, or what only some recipes read
or write."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple, Optional, TypeVar

from regard.data.annotations import MARKER, Numbers
from regard.data.damage import words_of
from regard.data.line import Line
from regard.errors import UsageError

Each = TypeVar("Each")
Texts = tuple[str, str]
Sides = tuple[int, ...]

FEWEST_DIFFERENT = 20
"""With fewer different pairs, nothing is recognised."""

_TRIED = 2_000
_NEARLY_ALL = 0.9
"""The share of the pairs that must have a form; the others may be damaged."""

_LABELS = 0.1
"""With fewer different targets than this share of the pairs, they are classes and not sentences."""

_TAGS = 0.2
"""Of different tags to different words, at most."""

_SYMBOLS = 1_000
_PHONEMES = 200
_COMMANDS = 100
"""Different words, at most."""

_QUERIES = 0.75
"""The share of targets that are queries or logical forms; an answer may also be a name."""

_USES = 10
"""Of each word of a small vocabulary, on average: a few lines of any text have few words."""

_DOCUMENT = 60
_SUMMARY = 0.25
"""Words of a source, at least, and its target's share of them, at most: half of the pairs."""

_ASKED = 0.2
"""The share of first words that the last sentences of stories have in common with the others, if
they are questions."""

_PICTURE = re.compile(r"\S.*\.(png|pgm|ppm)", re.ASCII | re.IGNORECASE)
_GREY = re.compile(r"\d{1,3}(,\d{1,3}){3,}", re.ASCII)
_INDEX = re.compile(r"[1-9]\d{0,6}", re.ASCII)
_SYMBOL = re.compile(r"[A-Za-z]{0,2}[0-9]+|[A-Za-z]|[^\w\s]+|\[[A-Z]+")


class Form(NamedTuple):
    """`recipe` is the one to train such lines with, with these settings; without one, the lines are
    translations.

    `sides` are those that are text. Of two sides of text, words can be `aligned` or not, and the
    lengths are `proportional` or not. Where it is `exact`, lines that differ in little, such as
    a digit, are different lines.
    """

    recipe: Optional[str] = None
    settings: tuple[str, ...] = ()
    sides: Sides = (0, 1)
    aligned: bool = True
    proportional: bool = True
    exact: bool = False


LANGUAGE = Form("language", sides=(1,))
TRANSLATION = Form()


def form_of(pairs: Sequence[Texts]) -> Form:
    """The first form that nearly all of these pairs have."""
    different = list(dict.fromkeys(pairs))
    if len(different) < FEWEST_DIFFERENT:
        return TRANSLATION
    some = different[:: -(-len(different) // _TRIED)]
    found = _picture(some) or _points(some)
    if found is not None:
        return found
    if len({target for _, target in different}) < _LABELS * len(different):
        return _labelled(some)
    return _sequences(some)


def _picture(pairs: Sequence[Texts]) -> Optional[Form]:
    """Paths of pictures, or rows of grey values."""
    sources = [source for source, _ in pairs]
    form = Form("spatial", sides=(1,), exact=True)
    if _most(sources, lambda text: _PICTURE.fullmatch(text) is not None):
        return form
    if not _most(sources, _is_grey):
        return None
    height = Counter(len(source.split()) for source in sources).most_common(1)[0][0]
    settings = () if height == 16 or height % 4 else (f"model.height={height}",)
    return form._replace(settings=settings)


def _is_grey(text: str) -> bool:
    rows = text.split()
    same = len({row.count(",") for row in rows}) == 1
    return len(rows) > 3 and same and all(_GREY.fullmatch(row) for row in rows)


def _points(pairs: Sequence[Texts]) -> Optional[Form]:
    """Words of as many numbers each, and indices of them."""
    widths = Counter(word.count(",") + 1 for source, _ in pairs for word in source.split())
    if not widths:
        return None
    width = widths.most_common(1)[0][0]

    def points_at(pair: Texts) -> bool:
        count = len(pair[0].split())
        if not all(_INDEX.fullmatch(index) and int(index) <= count for index in pair[1].split()):
            return False
        try:
            Numbers(width).check(Line(pair[0]), "")
        except UsageError:
            return False
        return True

    if not _most(pairs, points_at):
        return None
    settings: tuple[str, ...] = () if width == 2 else (f"model.numbers={width}",)
    if _most(pairs, lambda pair: len(set(pair[1].split())) == len(pair[0].split())):
        settings += ("search.visits=all",)
    return Form("pointer", settings, sides=(), exact=True)


def _labelled(pairs: Sequence[Texts]) -> Form:
    """Documents or stories if there are sentences; a story ends with a question."""
    sources = [source for source, _ in pairs]
    if _most(sources, _is_of_symbols):
        return Form("classifier", sides=(), exact=True)
    stories = [each for each in map(_sentences, sources) if len(each) > 1]
    if len(stories) < len(sources) / 2:
        return Form("classifier", sides=(0,))
    if _ask(stories):
        return Form("entity", sides=(0,), exact=True)
    return Form("hierarchical", sides=(0,))


def _sentences(text: str) -> list[str]:
    parts = f" {text} ".split(f" {MARKER} ")
    return [part.strip() for part in parts if part.strip()]


def _ask(stories: Sequence[Sequence[str]]) -> bool:
    """Whether the last sentences begin with words that others do not, or have question marks."""
    if _most(stories, lambda story: story[-1].endswith("?")):
        return True
    last = Counter(story[-1].split()[0] for story in stories)
    others = Counter(sentence.split()[0] for story in stories for sentence in story[:-1])
    shares = (min(last[word] / last.total(), others[word] / others.total()) for word in last)
    return sum(shares) < _ASKED


def _sequences(pairs: Sequence[Texts]) -> Form:
    """Targets that are no labels."""
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    read, written = _words(sources), _words(targets)
    if max(len(read), len(written)) <= _SYMBOLS and _most([*sources, *targets], _is_of_symbols):
        return Form("turing", sides=(), exact=True)
    if len(written) <= _TAGS * len(read) and _most(pairs, _is_tagged):
        return Form("tagger_rnn", sides=(0,))
    spelled = _most(sources, lambda text: _count(text) == 1)
    if spelled and _is_small(written, _PHONEMES) and median(map(_count, targets)) > 1:
        return Form("phonemes", sides=(0,), exact=True)
    formal = TRANSLATION._replace(proportional=False, exact=True)
    if _share(targets, _is_query) >= _QUERIES > _share(sources, _is_query):
        return formal._replace(recipe="parsing")
    if _is_small(read, _COMMANDS) and _is_small(written, _COMMANDS):
        return formal._replace(recipe="scan")
    share = median(_length(target) / max(1, _length(source)) for source, target in pairs)
    if median(map(_length, sources)) >= _DOCUMENT and share <= _SUMMARY:
        return Form("summaries", aligned=False, proportional=False)
    return TRANSLATION


def _words(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


def _is_small(words: Counter[str], most: int) -> bool:
    """Whether there are so few different words, used again and again."""
    return len(words) <= most and words.total() >= _USES * len(words)


def _is_of_symbols(text: str) -> bool:
    return all(_SYMBOL.fullmatch(word) for word in text.split())


def _is_tagged(pair: Texts) -> bool:
    return _count(pair[0]) == _count(pair[1])


def _is_query(text: str) -> bool:
    """Whether it is SQL, or has balanced parentheses, two pairs or more."""
    opened = text.count("(")
    return text.lower().startswith("select ") or (opened > 1 and opened == text.count(")"))


def _count(text: str) -> int:
    return len(text.split())


def _length(text: str) -> int:
    """In words, or in characters where there are no spaces between words."""
    return max(_count(text), len(words_of(text)))


def _most(values: Sequence[Each], has: Callable[[Each], bool]) -> bool:
    return _share(values, has) >= _NEARLY_ALL


def _share(values: Sequence[Each], has: Callable[[Each], bool]) -> float:
    return sum(map(has, values)) / len(values)
