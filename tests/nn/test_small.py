"""Small softmaxes and weighted sums are torch's, on both sides of each threshold."""

from __future__ import annotations

import pytest
import torch

from regard.nn.fast.small import plain_softmax, plain_weighted_sum, softmax, weighted_sum


@pytest.mark.parametrize("columns", [1, 2, 15, 16, 40])
def test_a_softmax_is_torchs(columns: int) -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 4, columns, requires_grad=True)
    torch.testing.assert_close(softmax(scores), plain_softmax(scores))
    masked = scores.masked_fill(torch.arange(columns) % 2 == 1, -torch.inf)
    torch.testing.assert_close(softmax(masked), plain_softmax(masked))
    weights = torch.randn(columns)
    torch.testing.assert_close(
        torch.autograd.grad((softmax(scores) * weights).sum(), scores),
        torch.autograd.grad((plain_softmax(scores) * weights).sum(), scores),
    )


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("keys", [1, 5, 100])
def test_a_weighted_sum_is_the_product(queries: int, keys: int) -> None:
    torch.manual_seed(0)
    weights, value = torch.rand(2, 3, queries, keys), torch.randn(2, 3, keys, 8)
    torch.testing.assert_close(weighted_sum(weights, value), plain_weighted_sum(weights, value))
