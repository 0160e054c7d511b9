"""Several models as one: each learns as if alone, and they write by their mean."""

from __future__ import annotations

import pytest
import torch

from regard.config import override
from regard.data.batch import EOS, Batch, Padded
from regard.errors import UsageError
from regard.models.base import EncoderDecoder
from regard.models.ensemble import EnsembleConfig, ensemble_of
from regard.models.transformer import TransformerConfig
from regard.recipes import find_recipe

SMALL = TransformerConfig.miniatures()[0]
BATCH = Batch(Padded.of([[5, 6, 7, EOS], [8, EOS]]), Padded.of([[6, 9, EOS], [4, 5, EOS]]))


def members(count: int = 2) -> list[EncoderDecoder]:
    torch.manual_seed(1)
    return [SMALL.build(12, 11) for _ in range(count)]


def test_probabilities_are_the_mean_of_the_members() -> None:
    models = [model.eval() for model in members(3)]
    probabilities = torch.stack([model.choices(BATCH).exp() for model in models])
    torch.testing.assert_close(ensemble_of(models).choices(BATCH).exp(), probabilities.mean(dim=0))
    assert not torch.allclose(probabilities[0], probabilities[1])


def test_each_learns_as_if_alone() -> None:
    models = members()
    ensemble_of(models)(BATCH).total.backward()
    for model, alone in zip(models, members(), strict=True):
        alone(BATCH).total.backward()
        for one, other in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad)


def test_members_begin_with_other_weights() -> None:
    model = EnsembleConfig(member=SMALL).build(12, 11)
    first, second = (
        torch.cat([p.flatten() for n, p in model.named_parameters() if f"members.{k}." in n])
        for k in (0, 1)
    )
    assert first.shape == second.shape
    assert not torch.allclose(first, second)


def test_the_recipe_can_be_changed_by_path() -> None:
    config = override(find_recipe("ensemble"), ["model.members=3", "model.member.layers=2"])
    assert isinstance(config.model, EnsembleConfig)
    assert (config.model.members, config.model.member.layers) == (3, 2)
    with pytest.raises(UsageError, match=r"model\.members"):
        override(find_recipe("ensemble"), ["model.members=1"])


def test_what_is_very_improbable_keeps_its_probability() -> None:
    models = [model.eval() for model in members()]
    with torch.no_grad():
        for model in models:
            model.output.weight.mul_(300)
    logs = ensemble_of(models).choices(BATCH)
    assert float(logs.min()) < -150  # its exponential is zero
    assert bool(logs.isfinite().all())
