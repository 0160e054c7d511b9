"""Sentences about what one pass over a corpus found, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.diagnosis.alignment import FEWEST_PAIRS
from regard.diagnosis.examine import Examined
from regard.diagnosis.held import Comparison, Coverage
from regard.diagnosis.kinds import KINDS, Kind
from regard.diagnosis.report import Example, Finding, Level, Stretch
from regard.diagnosis.rules import Rules
from regard.messages import counted, percent

_LEAST_COVERAGE = 0.9
_LISTED = 5
_PARTS = {"valid": "validation", "test": "test"}


def findings_of(
    found: Examined, notes: Sequence[str], compared: Sequence[Comparison]
) -> Iterator[Finding]:
    """Everything worth knowing, but for errors."""
    examples = found.tally.examples["misaligned"]
    yield from _stretches(found.stretches, examples)
    for kind in KINDS:
        if found.tally.damage[kind.name] and kind.name not in ("misaligned", "overlap"):
            yield _of_kind(found, kind)
    for comparison in compared:
        yield from _overlap(found, comparison)
        for side, coverage in comparison.coverage.items():
            yield _coverage(comparison.name, side, coverage)
    for sentence in found.examiner.repetitions():
        yield Finding("warning", "repetition", sentence)
    if found.rules is not None:
        yield from _languages(found.rules)
        if found.rules.is_alignment_unknown:
            yield _not_judged(found)
    for sentence in notes:
        yield Finding("note", "reading", sentence)


def _of_kind(found: Examined, kind: Kind) -> Finding:
    tally = found.tally
    count = tally.damage[kind.name]
    examples = tuple(tally.examples[kind.name])
    what = f"{counted(count, 'pair')} ({percent(count, tally.pairs)})"
    first = f"; the first is {examples[0].where}"
    verb = kind.says
    if count == 1:
        verb = verb.replace("have ", "has ", 1).replace("repeat ", "repeats ", 1)
    sentence = f"{what} {verb}{first}."
    is_task = found.rules is not None and kind.name in found.rules.tasks
    if is_task:
        sentence += " Most pairs are like that, so it is taken to be part of the task."
    notable = count > kind.notable * tally.pairs and not is_task
    return Finding("warning" if notable else "note", kind.name, sentence, count, examples)


def _stretches(stretches: Sequence[Stretch], examples: Sequence[Example]) -> Iterator[Finding]:
    for index, each in enumerate(stretches[:_LISTED]):
        lines = f"{each.first} to {each.last} ({counted(each.pairs, 'pair')})"
        shown = () if index else tuple(examples)
        yield Finding("warning", "misaligned", f"{_shifted(each)}: {lines}.", each.pairs, shown)
    more = len(stretches) - _LISTED
    if more > 0:
        count = sum(each.pairs for each in stretches[_LISTED:])
        sentence = (
            f"There are {more:,} more misaligned stretches, with {counted(count, 'pair')} in all."
        )
        yield Finding("warning", "misaligned", sentence, count)


def _shifted(stretch: Stretch) -> str:
    if stretch.shift is None:
        return "These sources and targets do not belong together"
    by = counted(abs(stretch.shift), "line")
    way = "further down" if stretch.shift > 0 else "further up"
    return f"The targets of these sources are {by} {way}"


def _overlap(found: Examined, comparison: Comparison) -> Iterator[Finding]:
    part = _PARTS[comparison.name]
    if comparison.shared:
        share = percent(comparison.shared, comparison.pairs)
        exact = found.rules is not None and found.rules.form.exact
        but = "" if exact else ", apart from case, digits and punctuation"
        sentence = (
            f"{comparison.shared:,} of {counted(comparison.pairs, f'{part} pair')} ({share}) "
            f"{'is a training pair' if comparison.shared == 1 else 'are training pairs'} as well"
            f"{but}: scores on them say nothing about new text."
        )
        examples = tuple(found.tally.examples["overlap"])
        yield Finding("warning", "overlap", sentence, comparison.shared, examples)
    more = comparison.shared_sources - comparison.shared
    if more > 0:
        sentence = (
            f"{counted(more, f'more {part} source')} ({percent(more, comparison.pairs)}) "
            f"{'is a training source' if more == 1 else 'are training sources'} with a different "
            "target."
        )
        yield Finding("note", "overlap", sentence, more)


def _coverage(part: str, side: str, coverage: Coverage) -> Finding:
    different = percent(coverage.different_covered, coverage.different)
    sentence = (
        f"{100 * coverage.share:.1f} % of the words of the {_PARTS[part]} {side} occur in training "
        f"({different} of the distinct ones)"
    )
    if coverage.missing:
        some = ", for example" if len(coverage.missing) > _LISTED else ""
        sentence += f"; missing{some}: {', '.join(coverage.missing[:_LISTED])}"
    level: Level = "warning" if coverage.share < _LEAST_COVERAGE else "note"
    return Finding(level, "coverage", f"{sentence}.")


def _languages(rules: Rules) -> Iterator[Finding]:
    for (side, _), tongue in rules.tongues.items():
        if tongue.is_unexpected:
            name = ("source", "target")[side]
            sentence = f"The {name} seems to be {tongue.found}, not {tongue.given}."
            yield Finding("warning", "language", sentence)


def _not_judged(found: Examined) -> Finding:
    """Why alignment was not judged."""
    tally = found.tally
    if tally.pairs - tally.damage["unusable"] - tally.damage["duplicate"] < FEWEST_PAIRS:
        return Finding(
            "note",
            "misaligned",
            f"Whether the lines are aligned cannot be judged with fewer than {FEWEST_PAIRS} "
            "different pairs.",
        )
    return Finding(
        "warning",
        "misaligned",
        "The words of source and target have nothing in common that can be learned, however the "
        "lines are shifted: unless that is the task, these are not translations of each other.",
    )
