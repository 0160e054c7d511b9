"""Batch normalisation beside layer normalisation: padding, running statistics, and what is kept."""

from __future__ import annotations

import torch

from regard.data.batch import EOS, Batch, Padded
from regard.models.transformer import TransformerConfig
from regard.models.weights import collect
from regard.nn.mixers.context import FullSequence
from regard.nn.norm import BatchNorm
from regard.training.average import AverageSettings

CONFIG = TransformerConfig(layers=1, width=16, inner=24, heads=2, normalisation="batch")


def some_places() -> tuple[torch.Tensor, FullSequence]:
    torch.manual_seed(0)
    return torch.randn(3, 6, 4) * 3 + 1, FullSequence(
        torch.arange(6) < torch.tensor([[6], [2], [4]])
    )


def test_real_places_come_out_with_mean_zero_and_variance_one() -> None:
    x, places = some_places()
    real = BatchNorm(4)(x, places)[places.real]
    torch.testing.assert_close(real.mean(dim=0), torch.zeros(4), rtol=0, atol=1e-5)
    torch.testing.assert_close(real.var(dim=0, unbiased=False), torch.ones(4), rtol=0, atol=1e-4)


def test_padding_is_ignored() -> None:
    x, places = some_places()
    changed = torch.where(places.real[:, :, None], x, torch.tensor(1e6))
    first, second = BatchNorm(4), BatchNorm(4)
    assert torch.equal(first(x, places)[places.real], second(changed, places)[places.real])
    assert torch.equal(first.mean, second.mean)
    assert torch.equal(first.variance, second.variance)


def test_running_statistics_serve_outside_training() -> None:
    x, places = some_places()
    norm = BatchNorm(4)
    for _ in range(100):
        norm(x, places)
    norm.eval()
    alone = FullSequence(places.real[:1])
    torch.testing.assert_close(norm(x, places)[:1], norm(x[:1], alone))
    real = norm(x, places)[places.real]
    torch.testing.assert_close(real.mean(dim=0), torch.zeros(4), rtol=0, atol=1e-3)


def test_what_is_not_finite_leaves_nothing_behind() -> None:
    x, places = some_places()
    norm = BatchNorm(4)
    norm(x * torch.nan, places)
    assert norm.mean.isfinite().all()
    assert norm.variance.isfinite().all()


def test_the_statistics_are_kept_and_averaged_with_the_weights() -> None:
    torch.manual_seed(0)
    model = CONFIG.build(20, 20).train()
    name = "encoder.layers.0.attention_residual.norm.mean"
    assert name in collect(model)
    row = Padded.of([[4, 5, 6, EOS], [7, EOS]])
    for kind in ("ema", "last"):
        average = AverageSettings(kind=kind, every=1).build(model)
        for step in range(1, 4):
            model(Batch(row, row))
            average.update(step)
        assert average.weights()[name].abs().sum() > 0
        with average.applied():
            torch.testing.assert_close(collect(model)[name], average.weights()[name])


def test_the_end_of_a_target_is_no_place_of_a_batch() -> None:
    """The decoder's statistics do not depend on how far rows are filled up."""
    torch.manual_seed(0)
    source = Padded.of([[4, 5, EOS], [7, EOS]])
    target = Padded.of([[4, 5, 6, EOS], [7, EOS]])
    longer = Padded(torch.nn.functional.pad(target.values, (0, 3)), target.lengths)
    found = []
    for side in (target, longer):
        torch.manual_seed(0)
        model = CONFIG.changed(dropout=0.0).build(20, 20).train()
        model(Batch(source, side))
        found.append(collect(model)["decoder.layers.0.feed_forward_residual.norm.mean"])
    torch.testing.assert_close(found[0], found[1])
