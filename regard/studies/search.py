"""Greedy, beam and exact search; short hypotheses, length normalisation and stopping rules."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import BOS, EOS, Padded, Row
from regard.drawing.charts import Bars, Lines
from regard.metrics.error_rates import edits
from regard.models.base import Model
from regard.nn.state import State
from regard.search.base import Hypothesis, rule_out
from regard.search.beam import Beam
from regard.studies.base import Check, Finding, Number, Study, above, below, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

BEAMS = (1, 2, 5, 16)
GREEDY, BEAM, WIDEST = 1, 5, 16
MOST_STEPS = 1500
"""Prefixes that exact search reads before it gives up on a sentence."""
STOPPING = {"one finished": 1, "as many as the beam": BEAM, "the length limit": 1024}
SAME = 1e-3
"""Log-probabilities that differ by less are equal: batches are added up in another order."""


@dataclass(frozen=True)
class Exact:
    """The most probable of all targets, how many prefixes were read to find it, and whether it is
    proven: no other prefix is as probable as it is."""

    best: Hypothesis
    steps: int
    proven: bool


@torch.inference_mode()
def exact(model: Model, source: Row, known: Hypothesis, most: int = MOST_STEPS) -> Exact:
    """Best-first search among all targets. A longer target is never more probable than its prefix,
    so it reads the prefixes that are more probable than the best target, and no others, whatever
    target is known before."""
    start = model.start(Padded.of_rows([source]))
    order, best, steps = itertools.count(), known, 0
    heap: list[tuple[float, int, tuple[int, ...], State]] = [(0.0, next(order), (BOS,), start)]
    while heap and -heap[0][0] > best.log_probability and steps < most:
        cost, _, tokens, state = heapq.heappop(heap)
        scores, state = model.step(torch.tensor([tokens[-1:]]), state)
        logs = scores.log_softmax(dim=1)
        rule_out(logs, None, torch.tensor([tokens]))
        totals, steps = logs[0] - cost, steps + 1
        if float(totals[EOS]) > best.log_probability:
            best = Hypothesis(tokens[1:], float(totals[EOS]), float(totals[EOS]))
        totals[EOS] = -math.inf
        for token in (totals > best.log_probability).nonzero()[:, 0].tolist():
            heapq.heappush(heap, (-float(totals[token]), next(order), (*tokens, token), state))
    return Exact(best, steps, not heap or -heap[0][0] <= best.log_probability)


@torch.inference_mode()
def beam_steps(model: Model, sources: Sequence[Row], search: Beam) -> float:
    """How many prefixes a beam reads per sentence."""
    batch, read = Padded.of_rows(sources), 0

    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        nonlocal read
        read += len(tokens)
        return model.step(tokens, state)

    search.find(step, model.start(batch), search.limits(batch.lengths))
    return read / len(sources)


@dataclass(frozen=True)
class Searched:
    """One run's targets for the same sources, by kind of search."""

    references: list[tuple[int, ...]]
    found: dict[str, list[Hypothesis]]
    exact: list[Exact]
    beam_steps: float

    def length(self, name: str) -> float:
        """Tokens per token of the reference."""
        return sum(len(each.tokens) for each in self.found[name]) / sum(map(len, self.references))

    def right(self, name: str) -> float:
        """The percentage of targets that are the reference."""
        pairs = zip(self.found[name], self.references, strict=True)
        return 100 * sum(a.tokens == b for a, b in pairs) / len(self.references)

    def errors(self, name: str) -> float:
        """Edits per 100 tokens of the references."""
        pairs = zip(self.found[name], self.references, strict=True)
        return 100 * sum(edits(a.tokens, b) for a, b in pairs) / sum(map(len, self.references))

    def log_probability(self, name: str) -> float:
        return math.fsum(each.log_probability for each in self.found[name]) / len(self.found[name])

    def reached(self, name: str) -> float:
        """The percentage of proven sentences for which this search finds the most probable
        target."""
        pairs = zip(self.found[name], self.exact, strict=True)
        gaps = [b.best.log_probability - a.log_probability for a, b in pairs if b.proven]
        return 100 * sum(gap < SAME for gap in gaps) / max(1, len(gaps))

    def recovered(self) -> float:
        """How much of the log-probability that greedy search loses a beam gets back, in per
        cent."""
        greedy, beam, best = map(self.log_probability, (plain(GREEDY), plain(BEAM), "exact"))
        return 100 * (beam - greedy) / (best - greedy) if best - greedy > SAME else 100.0

    def exact_steps(self) -> float:
        return sum(each.steps for each in self.exact) / len(self.exact)

    def proven(self) -> float:
        return 100 * sum(each.proven for each in self.exact) / len(self.exact)


def plain(beam: int) -> str:
    return f"beam {beam}, log p"


def normalised(beam: int) -> str:
    return f"beam {beam}, log p / length"


def search_all(model: Model, sources: Sequence[Row], references: Sequence[Row]) -> Searched:
    """By beams of several sizes with and without normalisation, stopping rules, and exactly."""
    batch = Padded.of_rows(sources)

    def best(search: Beam) -> list[Hypothesis]:
        return [each[0] for each in model.generate(batch, search)]

    found = {}
    for beam in BEAMS:
        found[plain(beam)] = best(Beam(beam=beam, length_penalty=0))
        found[normalised(beam)] = best(Beam(beam=beam, length_penalty=1))
    for name, finished in STOPPING.items():
        found[name] = best(Beam(beam=BEAM, length_penalty=0, finished=finished))
    known = found[plain(WIDEST)]
    proofs = [exact(model, *each) for each in zip(sources, known, strict=True)]
    found["exact"] = [each.best for each in proofs]
    steps = beam_steps(model, sources, Beam(beam=BEAM, length_penalty=0))
    return Searched([tuple(row.ids) for row in references], found, proofs, steps)


def searched(laboratory: Laboratory) -> list[Searched]:
    """Runs that have learned most of the grammar, and still make mistakes."""
    task, every = GrammarTask(laboratory), []
    given = task.test[: laboratory.effort(250, 5)]
    for run in task.runs():
        sides, model = run.tokenizers(), laboratory.model(run)
        laboratory.say(f"searching {len(given)} sentences in {len(BEAMS) * 2 + 4} ways")
        sources = list(map(Row, sides.source.encode([each.source for each in given])))
        targets = list(map(Row, sides.target.encode([each.target for each in given])))
        every.append(search_all(model, sources, targets))
    return every


def measure(laboratory: Laboratory) -> Finding:
    runs = searched(laboratory)
    reached = {beam: mean([run.reached(plain(beam)) for run in runs], "%") for beam in BEAMS}
    shown = (plain(GREEDY), plain(BEAM), plain(WIDEST), normalised(WIDEST), "exact")
    exact_length = mean([run.length("exact") for run in runs])
    best, greedy = (mean([run.right(n) for run in runs], "%") for n in ("exact", plain(GREEDY)))
    return Finding(
        f"Greedy search finds the most probable target of {reached[GREEDY].value:.0f} % of the "
        f"sentences, a beam of {BEAM} of {reached[BEAM].value:.0f} %. These targets have "
        f"{exact_length.value:.2f} times the length of the references, and {best.value:.0f} % of "
        f"them are right, against {greedy.value:.0f} % by greedy search.",
        {
            **{f"most probable target found, beam {beam}": n for beam, n in reached.items()},
            "log p lost by greedy search, recovered": mean([r.recovered() for r in runs], "%"),
            "prefixes read, exact": mean([run.exact_steps() for run in runs]),
            f"prefixes read, beam {BEAM}": mean([run.beam_steps for run in runs]),
            "sentences with a proof": mean([run.proven() for run in runs], "%"),
            **{f"length, {name}": mean([r.length(name) for r in runs]) for name in shown},
            **{f"right, {name}": mean([r.right(name) for r in runs], "%") for name in shown},
            **{f"edits, {name}": mean([r.errors(name) for r in runs], "%") for name in shown},
            **{
                f"log p, stop at {name}": mean([r.log_probability(name) for r in runs], "nats")
                for name in STOPPING
            },
        },
        (*_search_checks(runs, reached), *_length_checks(runs), *_stopping_checks(runs)),
        _charts(runs, reached),
    )


def _search_checks(runs: Sequence[Searched], reached: dict[int, Number]) -> tuple[Check, ...]:
    steps = mean([run.exact_steps() / run.beam_steps for run in runs], "times")
    recovered = mean([run.recovered() for run in runs], "%")
    fewer = difference(
        [run.errors(plain(GREEDY)) for run in runs],
        [run.errors(plain(BEAM)) for run in runs],
        "points",
    )
    return (
        below("greedy search misses the most probable target", reached[GREEDY], 100.0),
        above("a beam finds it more often", reached[BEAM], reached[GREEDY]),
        above("and recovers most of the log p that greedy search loses", recovered, 50.0),
        above("and makes fewer errors", fewer, 0.0),
        above("to be certain takes over ten times the prefixes of a beam", steps, 10.0),
    )


def _length_checks(runs: Sequence[Searched]) -> tuple[Check, ...]:
    """At the widest beam: the fewer mistakes search makes, the more it can prefer short targets."""
    longer, fewer = (
        difference([measure(run, a) for run in runs], [measure(run, b) for run in runs], unit)
        for measure, a, b, unit in (
            (Searched.length, normalised(WIDEST), plain(WIDEST), ""),
            (Searched.errors, plain(WIDEST), normalised(WIDEST), "points"),
        )
    )
    exact_length = mean([run.length("exact") for run in runs])
    return (
        below("the most probable target is shorter than the reference", exact_length, 1.0),
        above(f"normalisation makes the targets of a beam of {WIDEST} longer", longer, 0.0),
        above("and fewer of their tokens wrong", fewer, 0.0),
    )


def _stopping_checks(runs: Sequence[Searched]) -> tuple[Check, ...]:
    first, some, last = ([run.log_probability(name) for run in runs] for name in STOPPING)
    return (
        above("waiting for more hypotheses raises log p", difference(some, first, "nats"), 0.0),
        below("as many as the beam are enough", difference(last, some, "nats"), 0.05),
    )


def _charts(runs: Sequence[Searched], reached: dict[int, Number]) -> tuple[Bars, Lines, Lines]:
    ranks = {"log p": plain, "log p / length": normalised}

    def lines(value: Callable[[Searched, str], float]) -> dict[str, list[tuple[float, float]]]:
        return {
            rank: [(beam, mean([value(run, name(beam)) for run in runs]).value) for beam in BEAMS]
            for rank, name in ranks.items()
        }

    bars = {f"beam {beam}": (n.value, n.margin or 0.0) for beam, n in reached.items()}
    return (
        Bars("Sentences whose most probable target is found", "per cent", bars),
        Lines(
            "Length of the targets, relative to the references",
            "beam",
            "",
            lines(Searched.length),
            log_x=True,
            level=1.0,
        ),
        Lines(
            "Edits per 100 tokens of the references",
            "beam",
            "lower is better",
            lines(Searched.errors),
            log_x=True,
        ),
    )


STUDY = Study(
    title="Greedy, beam and exhaustive search",
    claim="Greedy search cannot undo a decision and misses the most probable target; trying all "
    "targets is far too expensive; a beam is nearly as good. Since longer targets have lower "
    "probabilities, search prefers short ones, and normalising scores by length is the cure.",
    formula="argmax_y sum over t of log p(y_t | y_<t, x), among V^T targets; normalised: "
    "1/T · sum over t of log p(y_t | y_<t, x)",
    method="Small Transformers learn the grammar corpus for 800 steps, so that mistakes are left. "
    "Test sentences are translated by beams of 1 to 16, ranked by log p and by log p / length, and "
    "with three stopping rules. Exhaustive search reads prefixes in the order of their probability "
    "and stops when none is more probable than the best finished target, which is then proven to "
    "be the best of all. It gives up after 1,500 prefixes; sentences without a proof are left out "
    "where the most probable target is counted. Cost is the number of prefixes that are read. "
    "Errors are the fewest edits that turn the target into the reference.",
    change="regard translate --beam and --length-penalty do the same on your own run, and "
    "search.finished is the stopping rule. exact(model, source, known) proves the best target of "
    "any model that writes step by step. Train for 150 steps: the less certain the model, the "
    "shorter its most probable targets and the more prefixes a proof takes.",
    meaning="Look at both rankings before you widen a beam: what the model finds more probable is "
    "not always more right, and under plain log p it gets shorter. Trying V^T targets is never "
    "needed to know what a model prefers: a proof takes as many prefixes as are more probable than "
    "the best target, and these are few if the model is certain.",
    measure=measure,
)
