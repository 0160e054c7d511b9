"""Exact search finds what enumeration finds, and a beam that is wide enough does too; targets get
longer by normalisation."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.data.batch import Batch, Padded, Row
from regard.models.transformer import TransformerConfig
from regard.search.base import Hypothesis
from regard.search.beam import NOTHING_FOUND, Beam
from regard.studies import search

SIZE, LENGTH = 7, 4
SOURCE = Row([4, 5, 6])


@pytest.fixture(params=[1, 2, 3])
def model(request: pytest.FixtureRequest) -> torch.nn.Module:
    torch.manual_seed(request.param)
    built = TransformerConfig(layers=1, width=16, inner=16, heads=1, tying="none")
    return built.build(SIZE, SIZE).eval()


def enumerated(model: torch.nn.Module) -> Hypothesis:
    """The most probable of all targets of at most LENGTH words."""
    targets = [
        words for n in range(LENGTH + 1) for words in itertools.product(range(4, SIZE), repeat=n)
    ]
    rows = [Row(list(words)) for words in targets]
    batch = Batch(Padded.of_rows([SOURCE] * len(rows)), Padded.of_rows(rows))
    totals = model.log_probabilities(batch).sum(dim=1)  # type: ignore[operator]
    best = int(totals.argmax())
    return Hypothesis(targets[best], float(totals[best]), float(totals[best]))


def test_exact_search_finds_what_enumeration_finds(model: torch.nn.Module) -> None:
    found = search.exact(model, SOURCE, NOTHING_FOUND, 5000)  # type: ignore[arg-type]
    best = enumerated(model)
    assert found.proven
    assert found.best.log_probability >= best.log_probability - 1e-4
    if len(found.best.tokens) <= LENGTH:
        assert found.best.tokens == best.tokens


def test_no_beam_is_better_and_a_known_target_changes_nothing(model: torch.nn.Module) -> None:
    source = Padded.of_rows([SOURCE])
    beam = Beam(beam=8, length_penalty=0)
    known = model.generate(source, beam)[0][0]  # type: ignore[operator]
    alone = search.exact(model, SOURCE, NOTHING_FOUND, 5000)  # type: ignore[arg-type]
    bounded = search.exact(model, SOURCE, known, 5000)  # type: ignore[arg-type]
    assert bounded.best.log_probability == pytest.approx(alone.best.log_probability, abs=1e-4)
    assert bounded.best.log_probability >= known.log_probability
    assert bounded.steps == alone.steps


def test_without_enough_steps_nothing_is_proven(model: torch.nn.Module) -> None:
    assert not search.exact(model, SOURCE, NOTHING_FOUND, 1).proven  # type: ignore[arg-type]


def test_lengths_and_right_targets_are_counted() -> None:
    short, right = Hypothesis((4,), -2.0, -2.0), Hypothesis((5, 6), -1.0, -1.0)
    proof = search.Exact(right, 3, True)
    each = search.Searched([(4, 5), (5, 6)], {"a": [short, right]}, [proof, proof], 8.0)
    assert each.length("a") == pytest.approx(0.75)
    assert each.right("a") == 50
    assert each.errors("a") == 25
    assert each.exact_steps() == 3
    assert each.reached("a") == 50


def find(model: torch.nn.Module, beam: int, penalty: float, finished: int = 1000) -> Hypothesis:
    """By a beam, among targets of at most LENGTH words."""
    wanted = Beam(beam=beam, length_penalty=penalty, finished=finished)
    limits = torch.tensor([LENGTH + 1])
    source = Padded.of_rows([SOURCE])
    found: Hypothesis = model.generate(source, wanted, None, limits)[0][0]  # type: ignore[operator]
    return found


def test_a_beam_of_exhaustive_size_finds_the_most_probable_target(model: torch.nn.Module) -> None:
    best = enumerated(model)
    found = find(model, (SIZE - 4) ** LENGTH, 0)
    assert found.tokens == best.tokens
    assert found.log_probability == pytest.approx(best.log_probability, abs=1e-4)


def test_normalisation_makes_targets_longer(model: torch.nn.Module) -> None:
    """Untrained, the end is about as probable as any word: the shortest target is the best, and
    every length has the same score per token."""
    widest = (SIZE - 4) ** LENGTH
    assert len(find(model, widest, 0).tokens) < len(find(model, widest, 1).tokens)


def test_a_beam_reads_its_size_times_the_length(model: torch.nn.Module) -> None:
    limited = Beam(beam=3, finished=1000, max_length_ratio=1, max_length_extra=1)
    length = 3 + 1 + 1  # of the source with its end, and one more
    assert search.beam_steps(model, [SOURCE, SOURCE], limited) == 1 + 3 * (length - 1)  # type: ignore[arg-type]


def test_what_a_beam_recovers_of_what_greedy_search_loses() -> None:
    def of(value: float) -> list[Hypothesis]:
        return [Hypothesis((4,), value, value)]

    found = {search.plain(1): of(-4.0), search.plain(5): of(-2.5), "exact": of(-2.0)}
    proof = search.Exact(found["exact"][0], 3, True)
    each = search.Searched([(4,)], found, [proof], 8.0)
    assert each.recovered() == pytest.approx(75)
    assert each.reached(search.plain(5)) == 0
    assert each.reached("exact") == 100
