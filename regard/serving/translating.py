"""Texts to translations: sentences go through the queue together and are put back in place."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional, TypeVar

from regard.metrics.alignment import Links
from regard.predict import Candidate, Prediction
from regard.serving.directions import Aligning, Asked, Direction, Translating
from regard.serving.loops import is_looping, without_loop
from regard.serving.refusal import invalid, too_late
from regard.serving.sentences import Sentences, split

THREAD_MIN_CHARACTERS = 4000
"""Texts at least this long are divided in another thread, so that other requests do not wait."""

Result = TypeVar("Result")
_WORD = re.compile(r"\S+")


class Wanted(NamedTuple):
    """What is asked of a translation, besides the text."""

    alternatives: int = 0
    prefix: Optional[str] = None  # what the target begins with
    aligned: bool = False


@dataclass(frozen=True)
class Sentence:
    """A sentence and its translation, with the other candidates; links once they are asked for."""

    source: str
    best: Candidate
    others: tuple[Candidate, ...] = ()
    links: Links = frozenset()


@dataclass(frozen=True)
class Translation:
    """A text, sentence by sentence."""

    parts: Sentences
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        return self.parts.join([each.best.text for each in self.sentences])

    @property
    def score(self) -> float:
        """The mean log-probability of its tokens."""
        tokens = sum(each.best.tokens for each in self.sentences)
        return self.log_probability / tokens if tokens else 0.0

    @property
    def log_probability(self) -> float:
        return sum(each.best.log_probability for each in self.sentences)

    def alternatives(self, count: int) -> list[str]:
        """The next best texts: each differs in one sentence from the best, most probable first."""
        texts = [each.best.text for each in self.sentences]
        changes = [
            (each.best.score - other.score, index, other.text)
            for index, each in enumerate(self.sentences)
            for other in each.others
        ]
        found = dict.fromkeys(
            self.parts.join([*texts[:index], other, *texts[index + 1 :]])
            for _, index, other in sorted(changes, key=lambda change: change[0])
        )
        found.pop(self.text, None)
        return list(found)[:count]


def unchanged(text: str) -> Translation:
    """A text that needs no translation."""
    return Translation(Sentences((), (text,)), ())


async def results(futures: Sequence[Future[Result]], deadline: float) -> list[Result]:
    """What the queue computes, in order; after the deadline all of it is cancelled."""
    waiting = asyncio.gather(*map(asyncio.wrap_future, futures))
    try:
        return await asyncio.wait_for(waiting, max(0.001, deadline - time.monotonic()))
    except asyncio.TimeoutError:
        raise too_late() from None
    finally:
        for future in futures:
            future.cancel()


async def translate(
    direction: Direction, texts: Sequence[str], wanted: Wanted, deadline: float
) -> list[Translation]:
    """All sentences of all texts in one go."""
    parts = await _split(direction, texts)
    asked = [each for one in parts for each in _asked(direction, one, wanted.prefix)]
    futures = direction.queue.submit(_work(direction, wanted), asked, deadline)
    predictions = await results(futures, deadline)
    sentences = [_chosen(direction, *both) for both in zip(asked, predictions, strict=True)]
    if wanted.aligned:
        sentences = await _aligned(direction, sentences, deadline)
    rest = iter(sentences)
    return [Translation(one, tuple(next(rest) for _ in one.texts)) for one in parts]


class Part(NamedTuple):
    """A part of a translation: a sentence with the gap after it, or the gap before the first."""

    text: str
    sentence: Optional[Sentence] = None


async def stream(
    direction: Direction, text: str, wanted: Wanted, deadline: float
) -> AsyncIterator[Part]:
    """The translation part by part, as its sentences are done; the first part is ready when this
    returns its first value, so that a refusal comes before it."""
    (parts,) = await _split(direction, [text])
    asked = _asked(direction, parts, wanted.prefix)
    futures = direction.queue.submit(_work(direction, wanted), asked, deadline)
    yield Part(parts.gaps[0])
    try:
        for each, future, gap in zip(asked, futures, parts.gaps[1:], strict=True):
            (prediction,) = await results([future], deadline)
            sentence = _chosen(direction, each, prediction)
            if wanted.aligned:
                (sentence,) = await _aligned(direction, [sentence], deadline)
            yield Part(sentence.best.text + gap, sentence)
    finally:
        for future in futures:
            future.cancel()


async def _split(direction: Direction, texts: Sequence[str]) -> list[Sentences]:
    direction.queue.check_room(sum(len(text.strip()) for text in texts))

    def work() -> list[Sentences]:
        return [split(text, direction.source, direction.fits) for text in texts]

    if sum(map(len, texts)) < THREAD_MIN_CHARACTERS:
        return work()
    return await asyncio.to_thread(work)


def _work(direction: Direction, wanted: Wanted) -> Translating:
    beam = max(direction.search.beam, wanted.alternatives + 1)
    return Translating(direction, beam, wanted.prefix is not None)


def _asked(direction: Direction, parts: Sentences, prefix: Optional[str]) -> list[Asked]:
    """Each sentence of the source with the sentence of the prefix at the same index."""
    count = len(parts.texts)
    if prefix is None or count == 0:
        return [Asked(text) for text in parts.texts]
    begun = split(prefix, direction.target, lambda text: True).texts
    if len(begun) > count:
        begun = (*begun[: count - 1], " ".join(begun[count - 1 :]))
    if not all(map(direction.begins, begun)):
        raise invalid(f"prefix parameter exceeds {direction.target_pieces} pieces per sentence")
    begun += ("",) * (count - len(begun))
    return [Asked(text, begin) for text, begin in zip(parts.texts, begun, strict=True)]


def _chosen(direction: Direction, asked: Asked, prediction: Prediction) -> Sentence:
    """The best candidate that does not loop; if all do, the best one up to its loop."""
    prefix = (asked.prefix or "").strip()
    candidates = _as_begun(direction, prefix, prediction.best)
    fit = [each for each in candidates if not is_looping(each.text, asked.text, prefix)]
    if not fit:
        best = candidates[0]
        return Sentence(asked.text, replace(best, text=without_loop(best.text, prefix)))
    return Sentence(asked.text, fit[0], tuple(fit[1:]))


def _as_begun(
    direction: Direction, given: str, candidates: Sequence[Candidate]
) -> Sequence[Candidate]:
    """The candidates with the prefix exactly as it was given, where the tokenizer spells it
    differently or does not know all of its letters."""
    tokenizer = direction.predictor.tokenizers.target
    spelled = tokenizer.decode(tokenizer.encode([given])[0]) if given else ""
    if spelled == given:
        return candidates
    return [
        replace(each, text=given + each.text[len(spelled) :])
        if each.text.startswith(spelled)
        else each
        for each in candidates
    ]


async def _aligned(
    direction: Direction, sentences: Sequence[Sentence], deadline: float
) -> list[Sentence]:
    pairs = [(each.source, each.best.text) for each in sentences]
    futures = direction.queue.submit(Aligning(direction), pairs, deadline, is_begun=True)
    found = await results(futures, deadline)
    return [replace(*both[:1], links=both[1]) for both in zip(sentences, found, strict=True)]


def details(translation: Translation) -> dict[str, Any]:
    """What a client may ask for beyond the text. A word is what is between spaces; offsets count
    characters from the beginning of the texts."""
    read = written = 0
    sentences = []
    gaps = translation.parts.gaps
    for gap, each in zip(gaps, translation.sentences, strict=False):
        read, written = read + len(gap), written + len(gap)
        sentences.append(sentence_details(each, read, written))
        read, written = read + len(each.source), written + len(each.best.text)
    return {"score": round(translation.score, 4), "sentences": sentences}


def sentence_details(sentence: Sentence, read: int, written: int) -> dict[str, Any]:
    """The same for one sentence, which begins at these offsets."""
    source, target = sentence.source, sentence.best.text
    sources, targets = words(source, read), words(target, written)
    return {
        "source": [read, read + len(source)],
        "target": [written, written + len(target)],
        "score": round(sentence.best.log_probability / sentence.best.tokens, 4),
        "alignment": [
            [*sources[index], *targets[other]]
            for index, other in sorted(sentence.links)
            if index < len(sources) and other < len(targets)
        ],
    }


def words(text: str, offset: int) -> list[tuple[int, int]]:
    """Where the words of a sentence begin and end."""
    return [(offset + found.start(), offset + found.end()) for found in _WORD.finditer(text)]
