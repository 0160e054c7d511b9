"""Writing all words in one pass: speed against quality, and words that are repeated."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path

from regard.corpora.clause import Sentence
from regard.corpora.grammar import align, capitalise
from regard.corpora.sentences import SentenceSampler
from regard.data.parallel import Parallel
from regard.drawing.charts import Bars
from regard.files import write_text
from regard.metrics.table import QUICK
from regard.metrics.text import Bleu
from regard.predict import Predictor
from regard.runs.folder import Run
from regard.studies.base import Finding, Number, Study, above, below, difference, mean
from regard.studies.bleu import CORRECT
from regard.studies.grammar_task import SETTINGS, TRANSFORMER
from regard.studies.laboratory import Laboratory

ONE_BY_ONE, ONE_PASS = "word by word", "one pass"
RECIPES = {ONE_BY_ONE: "multi30k", ONE_PASS: "nonautoregressive"}
"""The same encoder, and decoders of the same size."""
FREE = 0.5
"""The share of sentences whose German is phrased in another correct way, where there is one."""
BLEU = Bleu(QUICK)


def phrased(sentence: Sentence, draw: random.Random, freedom: float) -> tuple[str, str, str]:
    """Source, target and word links; `freedom` is the probability of another correct target."""
    source = sentence.english()
    possible = [change for change in CORRECT if change(deepcopy(sentence))]
    if possible and draw.random() < freedom:
        draw.choice(possible)(sentence)
    target = sentence.german()
    end = "?" if sentence.main.question else "."
    texts = (capitalise(" ".join(word.text for word in side)) + end for side in (source, target))
    links = " ".join(f"{one}-{other}" for one, other in align(source, target))
    return (*texts, links)  # type: ignore[return-value]


def repeats(texts: Sequence[str]) -> float:
    """How many of 100 words are the same as the word before."""
    words = [text.split() for text in texts]
    found = sum(a == b for line in words for a, b in pairwise(line))
    return 100 * found / max(1, sum(map(len, words)))


def without_repeats(text: str) -> str:
    return " ".join(word for word, _ in groupby(text.split()))


@dataclass(frozen=True)
class PhrasingTask:
    """The sentences of the grammar, whose targets are free to differ in phrasing."""

    laboratory: Laboratory
    freedom: float

    @cached_property
    def folder(self) -> Path:
        """Parts that have no source in common; sources do not depend on the freedom."""
        pairs = self.laboratory.effort(20_000, 300)
        folder = self.laboratory.scratch / f"phrased-{self.freedom}-{pairs}"
        if not (folder / "train.align").exists():
            folder.mkdir(exist_ok=True)
            lines = self._lines()
            held_out = self.laboratory.effort(400, 20)
            for part, count in (("test", held_out), ("valid", held_out), ("train", pairs)):
                rows = [next(lines) for _ in range(count)]
                for column, suffix in enumerate(("en", "de", "align")):
                    text = "".join(f"{row[column]}\n" for row in rows)
                    write_text(folder / f"{part}.{suffix}", text)
        return folder

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        sampler, draw = SentenceSampler(random.Random("phrasing")), random.Random("freedom")
        seen: set[str] = set()
        while True:
            found = phrased(sampler.sentence(), draw, self.freedom)
            if found[0] not in seen:
                seen.add(found[0])
                yield found

    def data(self, part: str, links: bool) -> Parallel:
        source, target, alignments = (
            self.folder / f"{part}.{suffix}" for suffix in ("en", "de", "align")
        )
        return Parallel(source, target, alignments=alignments if links else None)

    def test(self) -> tuple[list[str], list[str]]:
        source, target = (
            (self.folder / f"test.{suffix}").read_text(encoding="utf-8").splitlines()
            for suffix in ("en", "de")
        )
        return source, target

    def runs(self, kind: str) -> list[Run]:
        """One for each seed."""
        settings = [*SETTINGS, *TRANSFORMER, "tokenizer.sampling=0"]
        if kind == ONE_PASS:
            settings.append("model.remove_repeats=false")
        parts = [self.data(part, kind == ONE_PASS) for part in ("train", "valid")]
        steps = self.laboratory.effort(400, 10)
        return [
            self.laboratory.trained(RECIPES[kind], parts[0], parts[1], steps, seed, settings)
            for seed in self.laboratory.seeds
        ]


def times_as_fast(slow: Predictor, fast: Predictor, batches: Sequence[list[str]]) -> float:
    """The ratio of the times for the same lines; both take turns, so that load hits both."""
    spent = {id(slow): 0.0, id(fast): 0.0}
    for lines in batches:
        for each in (slow, fast):
            began = time.perf_counter()
            each(lines)
            spent[id(each)] += time.perf_counter() - began
    return spent[id(slow)] / spent[id(fast)]


def measure(laboratory: Laboratory) -> Finding:
    quality: dict[str, list[float]] = {}
    repeated: dict[tuple[str, float], list[float]] = {}
    speed: dict[str, list[float]] = {}
    written: list[list[str]] = []
    for freedom in (0.0, FREE):
        task = PhrasingTask(laboratory, freedom)
        source, target = task.test()
        usual = repeats(target)  # "die Frau, die die Katze sah"
        runs = {kind: [laboratory.predictor(run) for run in task.runs(kind)] for kind in RECIPES}
        for kind, predictors in runs.items():
            outputs = [predictor(source) for predictor in predictors]
            repeated[kind, freedom] = [repeats(each) - usual for each in outputs]
            if not freedom:
                quality[kind] = [BLEU.score(source, each, target).value for each in outputs]
                written = outputs
        if not freedom:
            pairs = list(zip(runs[ONE_BY_ONE], runs[ONE_PASS], strict=True))
            alone = [[line] for line in source[: laboratory.effort(60, 3)]]
            together = [source] * laboratory.effort(3, 1)
            speed["one line at a time"] = [times_as_fast(*pair, alone) for pair in pairs]
            speed[f"{len(source)} lines at a time"] = [
                times_as_fast(*pair, together) for pair in pairs
            ]
            cured = [
                BLEU.score(source, [without_repeats(line) for line in each], target).value
                for each in written
            ]
    return _finding(quality, repeated, speed, difference(cured, quality[ONE_PASS], "BLEU"))


def _finding(
    quality: dict[str, list[float]],
    repeated: dict[tuple[str, float], list[float]],
    speed: dict[str, list[float]],
    cure: Number,
) -> Finding:
    lost = difference(quality[ONE_BY_ONE], quality[ONE_PASS], "BLEU")
    extra = {key: mean(each, "of 100 words") for key, each in repeated.items()}
    alone, together = (mean(each, "times") for each in speed.values())
    ours, theirs = extra[ONE_PASS, FREE], extra[ONE_BY_ONE, FREE]
    free = difference(repeated[ONE_PASS, FREE], repeated[ONE_PASS, 0.0], "of 100 words")
    names = {0.0: "one phrasing", FREE: "free phrasing"}
    return Finding(
        f"One pass is {alone.value:.1f} times as fast for one line and {together.value:.1f} times "
        f"for many; it loses {lost.value:.1f} BLEU, and where phrasing is free it repeats "
        f"{ours.value:.1f} of 100 words (word by word: {theirs.value:.1f}).",
        {
            **{f"times as fast, {name}": mean(each, "times") for name, each in speed.items()},
            **{f"BLEU, {kind}": mean(each) for kind, each in quality.items()},
            **{f"repeated, {kind}, {names[how]}": each for (kind, how), each in extra.items()},
            "gain by removing repeats": cure,
        },
        (
            above("it is faster for one line", alone, 2.0),
            above("it is less accurate", lost, 0.0),
            above("it repeats words", ours, 0.0),
            below("a decoder that goes word by word repeats fewer", theirs, ours),
            above("words are repeated because phrasing is free", free, 0.0),
        ),
        (
            Bars(
                "Repeated words, beyond those of the references",
                "of 100 words",
                {
                    f"{kind}, {names[how]}": (each.value, each.margin or 0)
                    for (kind, how), each in extra.items()
                },
            ),
            Bars(
                "BLEU",
                "BLEU",
                {
                    kind: (mean(each).value, mean(each).margin or 0)
                    for kind, each in quality.items()
                },
            ),
        ),
    )


STUDY = Study(
    title="All words in one pass",
    claim="Writing one word after the other is costly, because the whole decoder runs for each. "
    "With a fertility for every source word all words can be written at once: faster, but "
    "less accurate, and with repeated words, since words written at once do not know of each "
    "other.",
    formula="word by word: product over t of p(y_t | y_<t, x); one pass: product over s of "
    "p(z_s | x), product over t of p(y_t | z, x)",
    method="Two Transformers with the same encoder and decoders of the same size learn sentences "
    "of the grammar for 400 steps, one word by word and one with fertilities from the gold "
    "alignments. Their times are measured in turn on the same lines, and ratios are judged. "
    "Repeated neighbours are counted beyond those of the references, also after training on "
    "targets half of which are phrased in another correct way (time first or later, da for weil, "
    "perfect for past). There is no distillation: with one phrasing per source there is nothing "
    "for a teacher to simplify.",
    change="FREE is the share of other phrasings; --set model.remove_repeats=true writes a word "
    "only once where it follows itself. `regard distill` makes the targets of a real corpus less "
    "free.",
    meaning="Use one pass where a single line has to be fast. Remove repeated words: "
    "they also appear where every source has one phrasing, so free phrasing is not their only "
    "cause. On a real corpus, train it on a teacher's translations. "
    "With many lines at a time, a decoder that goes word by word is busy anyway.",
    measure=measure,
    timed=True,
)
