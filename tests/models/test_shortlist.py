"""Searching in a part of the vocabulary: the same search, with other numbers for the tokens."""

from __future__ import annotations

from typing import Optional

import pytest
import torch
from torch import Tensor

from regard.data.batch import Batch, Padded
from regard.models.base import EncoderDecoder
from regard.models.shortlist import Shortlisted
from regard.models.transformer import TransformerConfig
from regard.nn.fast.prepare import quantize
from regard.search.beam import Beam

SIZE = 40
SOURCE = Padded.of([[7, 8, 9, 2], [4, 30, 2]])


@pytest.fixture
def model() -> EncoderDecoder:
    torch.manual_seed(0)
    return TransformerConfig(layers=2, width=16, inner=24, heads=2).build(SIZE, SIZE).eval()


def some(*ids: int) -> Tensor:
    return torch.tensor(ids, dtype=torch.long)


def found(model: EncoderDecoder | Shortlisted, prefix: Optional[Padded] = None) -> list[list[int]]:
    return [list(best[0].tokens) for best in model.generate(SOURCE, Beam(beam=3), prefix)]


def test_a_list_of_everything_changes_nothing(model: EncoderDecoder) -> None:
    likely = torch.zeros(SIZE, 1, dtype=torch.long)
    every = Shortlisted(model, likely, torch.arange(SIZE))
    prefix = Padded.of([[11], [12, 13]])
    assert found(every) == found(model)
    assert found(every, prefix) == found(model, prefix)
    for mine, theirs in zip(
        every.generate(SOURCE, Beam()), model.generate(SOURCE, Beam()), strict=True
    ):
        assert mine[0].log_probability == pytest.approx(theirs[0].log_probability, abs=1e-4)


def test_nothing_is_said_that_is_not_on_the_list(model: EncoderDecoder) -> None:
    likely = torch.zeros(SIZE, 2, dtype=torch.long)
    likely[7], likely[30] = some(20, 21), some(22, 0)
    short = Shortlisted(model, likely, some(25))
    said = {token for tokens in found(short) for token in tokens}
    assert said
    assert said <= {20, 21, 22, 25}
    assert found(short, Padded.of([[33], [34]]))[0][0] == 33  # a prefix may be anything


def test_it_goes_together_with_eight_bits(model: EncoderDecoder) -> None:
    model = quantize(model)
    likely = torch.zeros(SIZE, 1, dtype=torch.long)
    assert found(Shortlisted(model, likely, torch.arange(SIZE))) == found(model)


def test_scores_of_given_targets_are_those_of_the_model(model: EncoderDecoder) -> None:
    short = Shortlisted(model, torch.zeros(SIZE, 1, dtype=torch.long), some(5))
    batch = Batch(SOURCE, Padded.of([[6, 2], [31, 32, 2]]))
    assert torch.equal(short.log_probabilities(batch), model.log_probabilities(batch))
    assert torch.equal(short(batch).total, model(batch).total)
