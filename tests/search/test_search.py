"""Search over tables small enough that every target can be tried."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.data.batch import BOS, EOS, PAD, UNKNOWN, Padded
from regard.nn.state import State
from regard.search.base import Hypothesis, Search, Step, Visits
from regard.search.beam import Beam
from regard.search.best import best_continuations, prepare_scores
from regard.search.sample import Sample, filter_top

WORDS = [4, 5, 6]
SIZE = 7


def table(seed: int, sentences: int) -> tuple[Step, State]:
    """A model that is a table: the scores after a target so far, different for each sentence.

    Its state remembers the whole target, so a beam that mixes up its rows gives other scores.
    """
    memory: dict[tuple[int, ...], Tensor] = {}

    def scores(sentence: int, tokens: tuple[int, ...]) -> Tensor:
        key = (sentence, *tokens)
        if key not in memory:
            generator = torch.Generator().manual_seed(hash((seed, *key)) % 2**31)
            memory[key] = torch.randn(SIZE, generator=generator) * 2
        return memory[key]

    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        assert isinstance(state.shared, Tensor)
        assert isinstance(state.past, Tensor)
        past = torch.cat([state.past, tokens], dim=1)
        names = state.shared.repeat_interleave(len(past) // len(state.shared)).tolist()
        rows = [scores(name, tuple(row)) for name, row in zip(names, past.tolist(), strict=True)]
        return torch.stack(rows), state.advance(past, by=tokens.shape[1])

    start = State(torch.arange(sentences), torch.zeros(sentences, 0, dtype=torch.long))
    return step, start


def find(search: Search, seed: int, limits: list[int], prefix: Padded | None = None):
    step, state = table(seed, len(limits))
    return search.find(step, state, torch.tensor(limits), prefix)


def log_probability(seed: int, sentence: int, tokens: tuple[int, ...]) -> float:
    """Of a whole target, EOS included, by asking the table for each prefix."""
    step, state = table(seed, sentence + 1)
    state = state.keep(torch.tensor([sentence]))
    total, last = 0.0, BOS
    for token in (*tokens, EOS):
        scores, state = step(torch.tensor([[last]]), state)
        total += float(scores[0].log_softmax(0)[token])
        last = token
    return total


def exhaustive(seed: int, sentence: int, limit: int, penalty: float) -> list[Hypothesis]:
    """Every target of up to `limit` tokens, EOS included, best first."""
    found = []
    for length in range(limit):
        for tokens in itertools.product(WORDS, repeat=length):
            total = log_probability(seed, sentence, tokens)
            found.append(Hypothesis(tokens, total / (length + 1) ** penalty, total))
    return sorted(found, key=lambda each: -each.score)


@pytest.mark.parametrize("visits", ["once", "all"])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_equals_exhaustive_search_over_indices(seed: int, visits: Visits) -> None:
    every = exhaustive(seed, 0, len(WORDS) + 1, penalty=0.0)
    fewest = len(WORDS) if visits == "all" else 0
    allowed = [each for each in every if fewest <= len(each.tokens) == len(set(each.tokens))]
    search = Beam(beam=64, best=64, length_penalty=0.0, visits=visits)
    (found,) = find(search, seed, [20])
    assert [each.tokens for each in found] == [each.tokens for each in allowed]
    assert [each.score for each in found] == pytest.approx([each.score for each in allowed])
    (greedy,) = find(search.quick(), seed, [20])
    assert greedy[0].tokens in {each.tokens for each in allowed}


def test_a_likely_long_target_is_found_after_many_unlikely_short_ones() -> None:
    """Few choices and a wide beam: unlikely targets that end early do not end the search."""

    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        scores = torch.full((len(tokens), SIZE), -20.0)
        scores[:, [EOS if state.length == len(WORDS) else WORDS[state.length]]] = 0.0
        return scores, state.advance((), by=1)

    search = Beam(beam=4, length_penalty=0.0, visits="once")
    (found,) = search.find(step, State((), ()), torch.tensor([20]))
    assert found[0].tokens == tuple(WORDS)


@pytest.mark.parametrize("visits", ["once", "all"])
def test_samples_keep_to_the_rule(visits: Visits) -> None:
    lengths = set()
    for best in find(Sample(best=30, visits=visits, seed=3), 1, [20, 20]):
        for each in best:
            assert len(set(each.tokens)) == len(each.tokens)
            assert math.isfinite(each.log_probability)
            lengths.add(len(each.tokens))
    assert lengths == ({len(WORDS)} if visits == "all" else set(range(len(WORDS) + 1)))


def test_a_prefix_may_break_the_rule() -> None:
    """What was asked for is written, and the rule holds for the rest."""
    (found,) = find(Beam(beam=3, visits="all"), 1, [20], Padded.of([[4, 4]]))
    assert found[0].tokens[:2] == (4, 4)
    assert sorted(found[0].tokens[2:]) == [5, 6]


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_equals_exhaustive_search(seed: int, penalty: float) -> None:
    limits = [3, 1, 4, 2]
    wide = Beam(beam=200, best=5, finished=10_000, length_penalty=penalty)
    for sentence, hypotheses in enumerate(find(wide, seed, limits)):
        expected = exhaustive(seed, sentence, limits[sentence], penalty)[:5]
        assert [each.tokens for each in hypotheses] == [each.tokens for each in expected]
        for found, right in zip(hypotheses, expected, strict=True):
            assert found.score == pytest.approx(right.score, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_greedy_takes_the_best_token_at_each_step(seed: int) -> None:
    step, state = table(seed, 1)
    tokens, last = [], BOS
    for position in range(8):
        scores, state = step(torch.tensor([[last]]), state)
        allowed = [*WORDS, EOS] if position < 7 else [EOS]
        last = max(allowed, key=lambda token: float(scores[0, token]))
        if last == EOS:
            break
        tokens.append(last)
    assert find(Beam(beam=1), seed, [8])[0][0].tokens == tuple(tokens)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_greedy_search_without_scores_finds_the_same(seed: int, limits: list[int]) -> None:
    greedy, quick = find(Beam(beam=1), seed, limits), find(Beam().quick(), seed, limits)
    assert [best[0].tokens for best in quick] == [best[0].tokens for best in greedy]
    assert all(math.isnan(best[0].score) for best in quick)


def test_a_quick_search_is_greedy_and_keeps_the_limits() -> None:
    beam = Beam(beam=4, best=3, finished=2, max_length_ratio=1.5, max_length_extra=7)
    quick = beam.quick()
    assert (quick.beam, quick.best, quick.finished) == (1, 1, None)
    assert quick.limits(torch.tensor([4])) == beam.limits(torch.tensor([4]))
    assert beam.gives_probabilities
    assert not quick.gives_probabilities
    assert quick.changed(beam=2).gives_probabilities  # a wider beam needs them
    assert quick.observed(lambda tokens, totals: None).gives_probabilities
    assert len(find(Sample(best=4).quick(), 1, [9])[0]) == 1


def test_only_a_search_that_draws_needs_seeds() -> None:
    assert not Beam.draws
    assert Beam().seeded(3) == Beam()
    assert Sample.draws
    seeds = {Sample(seed=seed).seeded(number).seed for seed in (1, 2) for number in range(5)}
    assert len(seeds) == 10
    assert Sample(seed=2).seeded(3) == Sample(seed=2).seeded(3)


def test_a_wider_beam_finds_better_on_average() -> None:
    def mean(width: int) -> float:
        search = Beam(beam=width, finished=50, length_penalty=0.0)
        return sum(find(search, seed, [6])[0][0].score for seed in range(25)) / 25

    assert mean(1) < mean(2) < mean(6)


@given(st.integers(0, 1000), st.integers(1, 6), st.lists(st.integers(1, 7), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_what_beam_search_promises(seed: int, width: int, limits: list[int]) -> None:
    for sentence, hypotheses in enumerate(find(Beam(beam=width, best=width), seed, limits)):
        assert 1 <= len(hypotheses) <= width
        assert len({each.tokens for each in hypotheses}) == len(hypotheses)
        scores = [each.score for each in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for each in hypotheses:
            assert len(each.tokens) + 1 <= limits[sentence]
            assert not {PAD, BOS, EOS, UNKNOWN} & set(each.tokens)
            expected = log_probability(seed, sentence, each.tokens)
            assert each.log_probability == pytest.approx(expected, abs=1e-3)


def test_a_sentence_is_searched_as_if_it_were_alone() -> None:
    limits = [5, 2, 7, 3, 6]
    together = find(Beam(beam=3, best=3), 5, limits)
    step, state = table(5, len(limits))
    for sentence, limit in enumerate(limits):
        own = state.keep(torch.tensor([sentence]))
        assert Beam(beam=3, best=3).find(step, own, torch.tensor([limit]))[0] == together[sentence]


def test_enough_finished_hypotheses_end_the_search() -> None:
    few = find(Beam(beam=4, best=4, finished=1), 3, [30])[0]
    many = find(Beam(beam=4, best=4, finished=4), 3, [30])[0]
    assert 1 <= len(few) <= len(many) == 4


@pytest.mark.parametrize("search", [Beam(beam=1), Beam(beam=4, best=4), Sample(best=3)])
def test_targets_begin_with_their_prefix(search: Search) -> None:
    prefix = Padded.of([[6, 6], [], [4, 5, 6]])
    for row, hypotheses in enumerate(find(search, 2, [8, 8, 8], prefix)):
        start = tuple(prefix.values[row, : int(prefix.lengths[row])].tolist())
        for each in hypotheses:
            assert each.tokens[: len(start)] == start
            expected = log_probability(2, row, each.tokens)
            assert each.log_probability == pytest.approx(expected, abs=1e-3)


def test_sampling_follows_the_seed() -> None:
    search = Sample(best=4, seed=3)
    assert find(search, 1, [9, 9]) == find(search, 1, [9, 9])
    assert find(search, 1, [9, 9]) != find(Sample(best=4, seed=4), 1, [9, 9])


def test_samples_come_as_often_as_they_are_probable() -> None:
    draws = 3000
    step, state = table(7, draws)
    same = State(torch.zeros(draws, dtype=torch.long), state.past)
    found = Sample().find(step, same, torch.full((draws,), 3))
    drawn = [hypotheses[0].tokens for hypotheses in found]
    scores, _ = step(torch.tensor([[BOS]]), State(torch.zeros(1).long(), state.past[:1]))
    probabilities = scores[0, [*WORDS, EOS]].softmax(0).tolist()  # the others are ruled out
    for token, expected in zip(WORDS, probabilities, strict=False):
        drawn_share = sum(bool(tokens) and tokens[0] == token for tokens in drawn) / draws
        margin = 4 * math.sqrt(expected * (1 - expected) / draws) + 1e-3
        assert abs(drawn_share - expected) < margin


def test_cold_sampling_is_greedy() -> None:
    cold = find(Sample(temperature=1e-3), 4, [8] * 5)
    greedy = find(Beam(beam=1), 4, [8] * 5)
    assert [each[0].tokens for each in cold] == [each[0].tokens for each in greedy]
    only = find(Sample(top_k=1), 4, [8] * 5)
    assert [each[0].tokens for each in only] == [each[0].tokens for each in greedy]


def test_the_tail_is_filtered_out() -> None:
    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    assert filter_top(scores, 2, 1.0).isfinite().tolist() == [[True, True, False, False]]
    assert filter_top(scores, 0, 0.75).isfinite().tolist() == [[True, True, False, False]]
    assert filter_top(scores, 0, 0.85).isfinite().tolist() == [[True, True, True, False]]
    assert filter_top(scores, 0, 0.01).isfinite().tolist() == [[True, False, False, False]]
    assert filter_top(scores, 0, 1e-300).isfinite().tolist() == [[True, False, False, False]]
    assert filter_top(scores, 0, 1.0).isfinite().all()


def test_no_more_can_be_asked_for_than_the_beam_holds() -> None:
    with pytest.raises(ValueError, match="beam of 2"):
        Beam(beam=2, best=3)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("choices", [5, 67, 68, 1283, 5000])
@pytest.mark.parametrize("count", [1, 5, 17])
def test_the_best_continuations_are_those_of_the_whole_vocabulary(
    choices: int, count: int, normalised: bool
) -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(6, choices, generator=generator) * 30
    before = torch.randn(2, 3, generator=generator)
    forced = torch.tensor([-1, choices - 1, -1, -1, UNKNOWN, -1])
    logs = scores.log_softmax(dim=1) if normalised else scores.clone()
    for row, token in enumerate(forced.tolist()):
        allowed = range(UNKNOWN + 1, choices) if token < 0 else [token]
        banned = [each for each in range(choices) if each not in allowed]
        logs[row, banned] = -math.inf
    logs = (logs + before.view(-1, 1)).view(2, -1)
    expected = logs.topk(min(count, logs.shape[1]), dim=1)

    written = torch.full((len(scores), 1), BOS)
    prepared = prepare_scores(scores, forced, normalised, written)
    totals, hypotheses, tokens = best_continuations(*prepared, before, count)
    assert totals.shape == hypotheses.shape == tokens.shape == (2, count)
    torch.testing.assert_close(totals[:, : expected.values.shape[1]], expected.values)
    assert (totals[:, expected.values.shape[1] :] == -math.inf).all()
    real = totals.isfinite()
    found = (hypotheses * choices + tokens)[real]
    assert torch.equal(found, expected.indices[real[:, : expected.indices.shape[1]]])


@pytest.mark.parametrize("beam", [1, 3])
def test_scores_that_are_not_finite_give_an_empty_target_and_no_error(beam: int) -> None:
    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        return torch.full((len(tokens), SIZE), math.nan), state.advance((), by=1)

    found = Beam(beam=beam).find(step, State((), ()), torch.tensor([4, 2]))
    assert [[each.tokens for each in best] for best in found] == [[()], [()]]
    assert found[0][0].log_probability == -math.inf
