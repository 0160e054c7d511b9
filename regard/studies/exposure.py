"""Teacher forcing and accumulated error: errors by position after gold and after own prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from regard.data.batch import EOS, Batch, Padded, Row
from regard.drawing.charts import Lines
from regard.models.base import EncoderDecoder
from regard.search.base import rule_out
from regard.search.beam import Beam
from regard.studies.base import Check, Finding, Number, Study, above, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

Tokens = Sequence[int]

POSITIONS = 12
"""Positions that are compared; enough test sentences are longer."""
EARLY, LATE = range(4), range(8, 12)
REPLACED = 2
"""The position, from 0, at which a gold prefix is given one wrong word."""
DISTANCES = 6
LASTING = range(2, DISTANCES)
"""Words after a mistake, from 0, that do not agree with it or come in its place."""


def mismatches(written: Tokens, gold: Tokens) -> list[int]:
    """By position: 1 where another token is written, even if all is only moved by one."""
    length = len(gold)
    padded = [*written, *[-1] * length][:length]
    return [int(a != b) for a, b in zip(padded, gold, strict=True)]


def edits_by_position(written: Tokens, gold: Tokens) -> list[int]:
    """The fewest edits that turn what was written into gold, each charged to a gold position: a
    substitution or a missing token to its own, an extra one to the next. Nothing is charged before
    the first token that differs, and what is only moved costs nothing."""
    pairs = zip(written, gold, strict=False)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    ours, theirs, charged = list(written[same:]), list(gold[same:]), [0] * len(gold)
    costs = _edit_table(ours, theirs)
    i, j = len(ours), len(theirs)
    while i or j:
        cost = costs[i][j]
        if i and j and cost == costs[i - 1][j - 1] + (ours[i - 1] != theirs[j - 1]):
            i, j, at = i - 1, j - 1, j - 1
        elif j and cost == costs[i][j - 1] + 1:
            j, at = j - 1, j - 1
        else:
            i, at = i - 1, min(j, len(theirs) - 1)
        charged[same + at] += cost - costs[i][j]
    return charged


def _edit_table(ours: Tokens, theirs: Tokens) -> list[list[int]]:
    """[i][j]: the fewest edits that turn the first i of ours into the first j of theirs."""
    table = [list(range(len(theirs) + 1))]
    for number, token in enumerate(ours, 1):
        previous, row = table[-1], [number]
        for j, other in enumerate(theirs):
            row.append(min(row[j] + 1, previous[j + 1] + 1, previous[j] + (token != other)))
        table.append(row)
    return table


def after_gold(model: EncoderDecoder, batch: Batch) -> list[list[int]]:
    """The most probable token at each position after the gold prefix, of those that search may
    write."""
    scores = model.choices(batch).clone()
    rule_out(scores.flatten(0, 1), None, batch.target.values.flatten()[:, None])
    best = scores.argmax(dim=-1).tolist()
    return [row[:length] for row, length in zip(best, batch.target.lengths.tolist(), strict=True)]


def after_own(
    model: EncoderDecoder, batch: Batch, prefixes: Sequence[Tokens] = ()
) -> list[list[int]]:
    """What greedy search writes, which reads what it wrote; at first it may be given prefixes."""
    prefix = Padded.of(prefixes) if prefixes else None
    found = model.generate(batch.source, Beam(beam=1), prefix)
    return [[*each[0].tokens, EOS] for each in found]


def begun(model: EncoderDecoder, batch: Batch, position: int, wrong: bool) -> list[list[int]]:
    """Gold prefixes up to a position, or the same with the model's own best wrong guess there."""
    prefixes = batch.target.values[:, : position + 1].clone()
    if wrong:
        scores = model.choices(batch)[:, position].clone()
        scores.scatter_(1, prefixes[:, -1:], -math.inf)
        scores[:, EOS] = -math.inf  # a prefix has not ended
        rule_out(scores, None, prefixes)
        prefixes[:, -1] = scores.argmax(dim=-1)
    return [list(map(int, row)) for row in prefixes.tolist()]


@dataclass(frozen=True)
class Errors:
    """What one model gets wrong in the same sentences, by position; each list is of sentences."""

    gold: list[list[int]]  # edits, after gold prefixes
    own: list[list[int]]  # edits, after its own
    gold_moved: list[list[int]]  # mismatches
    own_moved: list[list[int]]
    right: list[list[int]]  # edits in what follows a gold prefix, from its end
    wrong: list[list[int]]  # the same if the last word of that prefix is wrong

    def after_first(self, kind: Sequence[Sequence[int]]) -> float:
        """Errors per 100 tokens behind the first error, which is the same after gold and own
        prefixes."""
        rest = [
            row[first.index(1) + 1 :]
            for row, first in zip(kind, self.own_moved, strict=True)
            if 1 in first
        ]
        return rate(rest, range(max(map(len, rest), default=0)))


def rate(errors: Sequence[Sequence[int]], positions: Sequence[int]) -> float:
    """Errors per 100 tokens at these positions, of the sentences that have them."""
    counts = [row[at] for row in errors for at in positions if at < len(row)]
    return 100 * sum(counts) / max(1, len(counts))


def errors(model: EncoderDecoder, sources: Sequence[Row], targets: Sequence[Row]) -> Errors:
    batch = Batch(Padded.of_rows(sources), Padded.of_rows(targets))
    golds = [[*row.ids, EOS] for row in targets]
    gold, own = after_gold(model, batch), after_own(model, batch)
    right, wrong = (
        after_own(model, batch, begun(model, batch, REPLACED, mistaken))
        for mistaken in (False, True)
    )
    rest = REPLACED + 1
    return Errors(
        gold=list(map(edits_by_position, gold, golds)),
        own=list(map(edits_by_position, own, golds)),
        gold_moved=list(map(mismatches, gold, golds)),
        own_moved=list(map(mismatches, own, golds)),
        right=[edits_by_position(a[rest:], b[rest:]) for a, b in zip(right, golds, strict=True)],
        wrong=[edits_by_position(a[rest:], b[rest:]) for a, b in zip(wrong, golds, strict=True)],
    )


def measured(laboratory: Laboratory) -> list[Errors]:
    """Of one run for each seed, on test sentences that are long enough."""
    task, found = GrammarTask(laboratory), []
    given = [each for each in task.test if len(each.target.split()) > REPLACED + 1]
    for run in task.runs():
        sides, model = run.tokenizers(), laboratory.model(run)
        sources = list(map(Row, sides.source.encode([each.source for each in given])))
        targets = list(map(Row, sides.target.encode([each.target for each in given])))
        found.append(errors(model, sources, targets))
    return found


def gap(runs: Sequence[Errors], positions: Sequence[int], moved: bool = False) -> Number:
    """Errors after own prefixes minus those after gold ones, per 100 tokens."""
    own = [rate(each.own_moved if moved else each.own, positions) for each in runs]
    gold = [rate(each.gold_moved if moved else each.gold, positions) for each in runs]
    return difference(own, gold, "points")


def cost(runs: Sequence[Errors], distances: Sequence[int]) -> Number:
    """Errors caused by one wrong word at these distances behind it, per 100 tokens."""
    wrong, right = ([rate(rows, distances) for rows in kind] for kind in _begun(runs))
    return difference(wrong, right, "points")


def caused(runs: Sequence[Errors]) -> Number:
    """Further errors, in all that follows, caused by one wrong word."""
    wrong, right = ([sum(map(sum, rows)) / len(rows) for rows in kind] for kind in _begun(runs))
    return difference(wrong, right)


def _begun(runs: Sequence[Errors]) -> tuple[list[list[list[int]]], list[list[list[int]]]]:
    return [each.wrong for each in runs], [each.right for each in runs]


def measure(laboratory: Laboratory) -> Finding:
    runs = measured(laboratory)
    behind = {
        "gold": [each.after_first(each.gold) for each in runs],
        "own": [each.after_first(each.own) for each in runs],
    }
    moved, late = gap(runs, LATE, moved=True), gap(runs, LATE)
    more = caused(runs)
    return Finding(
        f"At positions {LATE.start + 1} to {LATE.stop}, own prefixes seem to cost "
        f"{moved.value:.0f} points if words are compared position by position, but "
        f"{late.value:.1f} points if words that are only moved are not counted. One wrong word "
        f"leads to {more.value:.2f} more.",
        {
            "late errors by position, gold prefix": _mean(runs, "gold_moved", LATE),
            "late errors by position, own prefix": _mean(runs, "own_moved", LATE),
            "late edits, gold prefix": _mean(runs, "gold", LATE),
            "late edits, own prefix": _mean(runs, "own", LATE),
            "own minus gold, by position, early": gap(runs, EARLY, moved=True),
            "own minus gold, by position, late": moved,
            "own minus gold, edits, early": gap(runs, EARLY),
            "own minus gold, edits, late": late,
            "edits behind the first error, gold prefix": mean(behind["gold"], "%"),
            "edits behind the first error, own prefix": mean(behind["own"], "%"),
            "edits caused by one wrong word": more,
            "by one wrong word, in the next word": cost(runs, [0]),
            "by one wrong word, in the third to sixth": cost(runs, LASTING),
        },
        _checks(runs, difference(behind["own"], behind["gold"], "points")),
        _charts(runs),
    )


def _mean(runs: Sequence[Errors], kind: str, positions: Sequence[int]) -> Number:
    return mean([rate(getattr(each, kind), positions) for each in runs], "%")


def _checks(runs: Sequence[Errors], behind: Number) -> tuple[Check, ...]:
    """All of them by edits: what is only moved by a missing or an added word is no error."""
    late, early = gap(runs, LATE), gap(runs, EARLY)
    return (
        above("own prefixes lead to more errors late in the target", late, 0.0),
        above("and more so than early in it", late, early),
        above("behind the first error, own prefixes are worse than gold ones", behind, 0.0),
        above("one wrong word causes further errors", caused(runs), 0.0),
        above("still from the third word after it", cost(runs, LASTING), 0.0),
        above("each mistake causes at least one more, so they grow", caused(runs), 1.0),
    )


def _charts(runs: Sequence[Errors]) -> tuple[Lines, Lines]:
    kinds = {
        "own prefix, by position": "own_moved",
        "gold prefix, by position": "gold_moved",
        "own prefix, edits": "own",
        "gold prefix, edits": "gold",
    }
    places = range(POSITIONS)
    lines = {
        name: [(at + 1.0, _mean(runs, kind, [at]).value) for at in places]
        for name, kind in kinds.items()
    }
    costs = [(at + 1.0, cost(runs, [at]).value) for at in range(DISTANCES)]
    return (
        Lines("Errors by position", "position in the target", "per 100 tokens", lines),
        Lines(
            "Errors caused by one wrong word",
            "words after it",
            "more per 100 tokens",
            {"edits": costs},
            level=0.0,
        ),
    )


STUDY = Study(
    title="Teacher forcing and accumulated error",
    claim="A decoder is trained on gold prefixes but must continue its own. It has never seen its "
    "own mistakes, so one leads to the next and errors accumulate along the target.",
    formula="after gold: ŷ_t = argmax p(y | y*_<t, x); after own: ŷ_t = argmax p(y | ŷ_<t, x); "
    "errors: the fewest edits that turn ŷ into y*, by position",
    method="Small Transformers learn the grammar corpus for 800 steps with teacher forcing. For "
    "test sentences, the most probable words after gold prefixes and the words of greedy search "
    "are compared with the gold words. Compared position by position, one missing or added word "
    "makes all later words wrong, which is no accumulated error. So errors are counted after "
    "alignment, as edits that are charged to positions, and all checks use these. A sentence in "
    "which a model errs is also a difficult one: so both kinds of prefix are compared behind the "
    "first error of the same sentences, and, as an experiment, greedy search continues a gold "
    "prefix of three words and the same prefix with the model's best wrong guess as its third.",
    change="REPLACED is where the experiment makes its mistake. errors(model, sources, targets) "
    "measures any model that writes step by step. Train it for longer, and there are fewer "
    "mistakes to begin with.",
    meaning="Validation loss is measured on gold prefixes: judge a model by what it writes. But do "
    "not compare position by position, which takes a shift for accumulated error. As long as a "
    "mistake causes less than one other on average, errors do not grow without bound; look at how "
    "far behind a mistake they reach before you pay for another way of training.",
    measure=measure,
)
