"""Valid targets, by what the model writes: as many tags as words, a known label, indices of
source words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from regard.data.batch import UNKNOWN, Row
from regard.data.line import Line, Pair
from regard.errors import UsageError
from regard.messages import counted
from regard.metrics.table import Writes

CLOSED: tuple[Writes, ...] = ("tags", "label")
"""The kinds of target from a fixed set, where nothing may be unknown."""

Where = Callable[[int], str]
"""Where a target is, such as its file and line, given its line number."""

UNSEEN = "which the training data does not have: correct it, or train with it"

_INDEX = re.compile(r"[1-9][0-9]{0,8}")
_SHOWN = 40


def check_target(writes: Writes, pair: Pair, where: str) -> None:
    """Refuse a target that does not fit its source."""
    if writes == "tags":
        words, tags = (len(text.split()) for text in pair.texts)
        if words != tags:
            raise UsageError(
                f"{where} has {counted(tags, 'tag')}, but its source has "
                f"{counted(words, 'word')}: give one tag for each word between spaces."
            )
    elif writes == "indices":
        words = len(pair.source.text.split())
        for index in pair.target.text.split():
            if not (_INDEX.fullmatch(index) and int(index) <= words):
                raise UsageError(
                    f"{where} has '{index[:_SHOWN]}', but its source has "
                    f"{counted(words, 'word')}: write indices of source words, counted from 1."
                )


def labels_of(writes: Writes, text: str) -> list[str]:
    """The tags or the label of a target; none of a target that is not from a fixed set."""
    if writes == "tags":
        return text.split()
    return [text.strip()] if writes == "label" else []


def refuse_unseen(
    writes: Writes,
    rows: Iterable[Row],
    targets: Iterable[tuple[int, Line]],
    where: Where,
    why: str = UNSEEN,
) -> None:
    """Refuse tags and labels that the tokenizer does not have, in targets with their line numbers;
    it has those that training has seen."""
    if writes not in CLOSED:
        return
    for row, (number, line) in zip(rows, targets, strict=True):
        if UNKNOWN in row.ids:
            unseen = labels_of(writes, line.text)[list(row.ids).index(UNKNOWN)]
            what = "tag" if writes == "tags" else "label"
            raise UsageError(f"{where(number)} has the {what} '{unseen[:_SHOWN]}', {why}.")
