"""The contract of autoregressive models: reading by parts, and states that search can reorder."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard.data.batch import BOS, EOS, UNKNOWN, Batch, Padded
from regard.errors import UsageError
from regard.models.base import EncoderDecoder, Family, shift_right
from regard.models.turing import TuringConfig
from regard.nn.state import each
from regard.search.beam import Beam


@pytest.fixture
def config(autoregressive: Family) -> Family:
    return autoregressive


def scores_of(model: EncoderDecoder, batch: Batch) -> Tensor:
    """Scores (B, T, V) of one teacher-forced pass."""
    hidden, state = model.read(batch)
    return model.output.scores(hidden, state)


def scores_by_parts(model: EncoderDecoder, batch: Batch, parts: list[int]) -> Tensor:
    """The same, with the decoder reading a few tokens at a time."""
    state = model.start(batch.source)
    read = []
    for tokens in shift_right(batch.target.values).split(parts, dim=1):
        hidden, state = model.decoder(tokens, state)
        read.append(model.output.scores(hidden, state))
    return torch.cat(read, dim=1)


def close(first: Tensor, second: Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_every_target_has_a_score(model: EncoderDecoder, batch: Batch, choices: int) -> None:
    assert scores_of(model, batch).shape[-1] == choices


@torch.no_grad()
def test_one_pass_equals_step_by_step(model: EncoderDecoder, batch: Batch) -> None:
    length = batch.target.values.shape[1]
    close(scores_of(model, batch), scores_by_parts(model, batch, [1] * length))


@torch.no_grad()
def test_one_pass_equals_prefix_then_rest(model: EncoderDecoder, batch: Batch) -> None:
    length = batch.target.values.shape[1]
    close(scores_of(model, batch), scores_by_parts(model, batch, [2, length - 3, 1]))


@torch.no_grad()
def test_a_later_token_changes_nothing_before_it(
    config: Family, model: EncoderDecoder, batch: Batch, choices: int
) -> None:
    changed = batch.target.values.clone()
    changed[:, 3] = (changed[:, 3] + 1) % choices
    other = Batch(batch.source, replace(batch.target, values=changed))
    before, after = scores_of(model, batch), scores_of(model, other)
    close(before[:, :4], after[:, :4])
    fed = not isinstance(config, TuringConfig) or config.feed
    assert torch.allclose(before[:, 4:], after[:, 4:]) != fed


@torch.no_grad()
def test_select_then_step_equals_step_then_index(
    model: EncoderDecoder, batch: Batch, choices: int
) -> None:
    state = model.start(batch.source).spread(2)
    tokens = torch.randint(4, choices, (6, 3), generator=torch.Generator().manual_seed(3))
    _, state = model.step(tokens, state)
    rows = torch.tensor([1, 0, 2, 2, 5, 4])  # hypotheses stay with their sentence
    following = torch.arange(4, 10)[:, None]
    selected, _ = model.step(following, state.select(rows))
    for row, origin in enumerate(rows.tolist()):
        tried = following.clone()
        tried[origin] = following[row]
        close(selected[row], model.step(tried, state)[0][origin])


@torch.no_grad()
def test_spread_copies_are_equal_and_the_source_is_not_copied(
    model: EncoderDecoder, batch: Batch
) -> None:
    state = model.start(batch.source)
    spread = state.spread(3)

    def check_one_per_sentence(tensor: Tensor) -> Tensor:
        assert len(tensor) == len(batch)
        return tensor

    each(spread.shared, check_one_per_sentence)
    each(spread.candidates, check_one_per_sentence)
    tokens = torch.tensor([4, 5, 6])[:, None]
    single, _ = model.step(tokens, state)
    triple, _ = model.step(tokens.repeat_interleave(3, dim=0), spread)
    close(single.repeat_interleave(3, dim=0), triple)


@torch.no_grad()
def test_sentences_can_leave(model: EncoderDecoder, batch: Batch, choices: int) -> None:
    state = model.start(batch.source).spread(2)
    tokens = torch.randint(4, choices, (6, 2), generator=torch.Generator().manual_seed(3))
    _, state = model.step(tokens, state)
    everyone, _ = model.step(torch.full((6, 1), 7), state)
    staying, _ = model.step(torch.full((4, 1), 7), state.keep(torch.tensor([0, 2])))
    close(everyone[[0, 1, 4, 5]], staying)


@torch.no_grad()
def test_state_keeps_its_types(model: EncoderDecoder, batch: Batch) -> None:
    start = model.start(batch.source)
    _, state = model.step(torch.full((3, 1), BOS), start)
    for changed in (state, state.spread(2), state.select(torch.tensor([0, 1, 2]))):
        assert type(changed.shared) is type(start.shared)
        assert type(changed.past) is type(start.past)
    kept = state.keep(torch.tensor([1]))
    assert type(kept.shared) is type(start.shared)
    assert type(kept.past) is type(start.past)


@torch.no_grad()
def test_targets_begin_with_their_prefix(
    config: Family, model: EncoderDecoder, batch: Batch
) -> None:
    # the first source word is the only one that every line has
    prefix = Padded.of([[4, 4] if config.writes == "indices" else [9, 8], [], [4]])
    for row, (best,) in enumerate(model.generate(batch.source, Beam(beam=2), prefix)):
        start = prefix.values[row, : int(prefix.lengths[row])].tolist()
        assert list(best.tokens[: len(start)]) == start
        target = Padded.of([[*best.tokens, EOS]])
        again = model.log_probabilities(Batch(batch.source.rows(row, row + 1), target))
        assert float(again.sum()) == pytest.approx(best.log_probability, abs=1e-3)


@torch.no_grad()
def test_a_narrowed_model_reads_indices_of_its_choices(model: EncoderDecoder, batch: Batch) -> None:
    choices = torch.tensor([*range(UNKNOWN + 1), 5, 9, 14])
    tokens = torch.tensor([[BOS, 5], [BOS, 14], [BOS, 9]])
    ids = torch.searchsorted(choices, tokens)
    try:
        narrowed = model.narrowed(choices)
    except UsageError as refused:
        pytest.skip(str(refused))
    hidden, _ = model.decoder(tokens, model.start(batch.source))
    same, state = narrowed.decoder(ids, narrowed.start(batch.source))
    close(hidden, same)
    assert narrowed.output.scores(same, state).shape == (3, 2, len(choices))
