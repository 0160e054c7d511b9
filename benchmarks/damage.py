"""Damage of every kind, put into parallel text on purpose, with the lines that have it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Pair = tuple[str, str]

STRETCH = 120
"""Pairs in a misaligned stretch: its targets belong to the line before."""


@dataclass
class Damaged:
    """Pairs, and the indices that were damaged, by kind."""

    pairs: list[Pair]
    lines: dict[str, list[int]] = field(default_factory=dict)


def damage(
    clean: Sequence[Pair],
    share: float,
    foreign: Mapping[str, Sequence[str]],
    validation: Sequence[Pair] = (),
    seed: int = 1,
) -> Damaged:
    """Damage a share of the pairs, equally many for each kind.

    `foreign` has lines of another language or script, by kind. Validation pairs become training
    pairs if they are given.
    """
    chooser = random.Random(seed)
    made = Damaged(list(clean))
    kinds = [*_CHANGES, *foreign, "misaligned", "unrelated", "duplicate", "near-duplicate"]
    each = int(share * len(clean) / len(kinds))
    free = _stretches(made, each, chooser)
    chooser.shuffle(free)
    if validation:
        places = [free.pop() for _ in range(min(each, len(validation)))]
        made.lines["overlap"] = places
        for index, pair in zip(places, validation, strict=False):
            made.pairs[index] = pair
    for kind in kinds:
        if kind == "misaligned":
            continue
        done = made.lines[kind] = []
        while len(done) < each:
            index = free.pop()
            if kind.endswith("duplicate"):
                changed = _repeated(kind, index, made.pairs, free, chooser)
            else:
                changed = _changed(kind, index, clean, foreign, chooser)
            if changed is not None and changed != made.pairs[index]:
                made.pairs[index] = changed
                done.append(index)
    return made


def _stretches(made: Damaged, count: int, chooser: random.Random) -> list[int]:
    """Shift the targets of some stretches by one line; the indices that are still free."""
    starts = list(range(STRETCH, len(made.pairs) - 2 * STRETCH, 2 * STRETCH))
    chooser.shuffle(starts)
    done: list[int] = []
    while len(done) < count:
        start = starts.pop() + chooser.randrange(STRETCH // 2)
        lines = range(start, start + min(STRETCH, count - len(done)))
        targets = [made.pairs[index][1] for index in lines]
        for index, target in zip(lines, targets[-1:] + targets[:-1], strict=True):
            made.pairs[index] = (made.pairs[index][0], target)
        done += lines
    made.lines["misaligned"] = done
    return sorted(set(range(len(made.pairs))) - set(done))


def _changed(
    kind: str,
    index: int,
    clean: Sequence[Pair],
    foreign: Mapping[str, Sequence[str]],
    chooser: random.Random,
) -> Pair | None:
    """The pair with this kind of damage; nothing if it cannot have it."""
    source, target = clean[index]
    if kind == "unrelated":
        return source, clean[chooser.randrange(len(clean))][1]
    if kind in foreign:
        return _one_side(clean[index], lambda _: chooser.choice(foreign[kind]), chooser)
    if kind == "untranslated":
        return _copied(source, chooser) if len(source.split()) > 3 or len(source) > 12 else None
    if kind == "length":
        return source, _other_length(target, chooser) if len(target) > 30 else target
    return _one_side(clean[index], lambda text: _CHANGES[kind](text, chooser), chooser)


def _repeated(
    kind: str, index: int, pairs: Sequence[Pair], free: list[int], chooser: random.Random
) -> Pair | None:
    """An earlier pair that has no damage, and from now on cannot get any."""
    place = chooser.randrange(len(free))
    earlier = pairs[free[place]]
    if free[place] >= index or len("".join(earlier)) < 60:
        return None
    del free[place]
    return earlier if kind == "duplicate" else _nearly(earlier, chooser)


def _one_side(pair: Pair, change: Callable[[str], str], chooser: random.Random) -> Pair | None:
    """The pair with one side changed, which must have become another text."""
    sides = [(change(pair[0]), pair[1]), (pair[0], change(pair[1]))]
    chooser.shuffle(sides)
    return next((each for each in sides if each != pair), None)


def _copied(source: str, chooser: random.Random) -> Pair:
    """The source on both sides, exactly or with other case or punctuation."""
    return source, chooser.choice([source, source.lower(), source.rstrip(".!?") + " ."])


def _nearly(pair: Pair, chooser: random.Random) -> Pair:
    """The pair with another case, number, punctuation or letter."""
    change = chooser.choice(
        [
            lambda text: text.upper(),
            lambda text: text.rstrip(" .!?。") + "!",
            lambda text: re.sub(r"\s+", "  ", text) + " ,",
            lambda text: text[: len(text) // 2] + text[len(text) // 2 + 1 :],
        ]
    )
    return change(pair[0]), change(pair[1])


def _other_length(target: str, chooser: random.Random) -> str:
    """A target cut to its beginning, or with the text around it."""
    if chooser.random() < 0.5:
        return target[: max(3, len(target) // 12)]
    return " ".join([target] * chooser.randint(5, 9))


def _mojibake(text: str, chooser: random.Random) -> str:
    """UTF-8 read as Windows-1252 or Latin-1; the same text if it has no letter beyond ASCII."""
    code = chooser.choice(["cp1252", "latin-1"])
    return text.encode().decode(code, "replace")


def _markup(text: str, chooser: random.Random) -> str:
    words = text.split(" ")
    index = chooser.randrange(len(words))
    words[index] = chooser.choice(
        [
            "<b>{}</b>",
            "{}<br/>",
            '<a href="index.html">{}</a>',
            "&quot;{}&quot;",
            "{}&nbsp;",
            "{}&#39;",
        ]
    ).format(words[index])
    return " ".join(words)


def _control(text: str, chooser: random.Random) -> str:
    index = chooser.randrange(len(text) + 1)
    return text[:index] + chooser.choice("\x01\x07\x08\x1b\x7f\x96\x0c") + text[index:]


_CHANGES: Mapping[str, Callable[[str, random.Random], str]] = {
    "encoding": _mojibake,
    "markup": _markup,
    "control": _control,
    "untranslated": lambda text, chooser: text,
    "length": lambda text, chooser: text,
}
"""What happens to one line; the last two are about the whole pair."""
