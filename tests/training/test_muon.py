"""Muon: orthogonal updates of linear maps, AdamW for all else."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.processes.ranks import Ranks
from regard.training.muon import ADAM_UPDATE_SIZE, orthogonal
from regard.training.optimizers import OptimizerSettings

RATE = 0.01


def step(model: nn.Module) -> None:
    """One update, of whatever gradients are there."""
    settings = OptimizerSettings(kind="muon", rate=RATE, weight_decay=0.0)
    settings.build(model, list(model.parameters()), Ranks()).step()


@pytest.mark.parametrize("shape", [(32, 32), (48, 20), (20, 48), (1, 7)])
def test_singular_values_come_near_one_whatever_they_were(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    left, values, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    uneven = left * torch.logspace(3, 1, len(values)) @ right
    values = torch.linalg.svdvals(orthogonal(uneven))
    assert values.min() > 0.5
    assert values.max() < 1.3


def test_what_is_orthogonal_already_keeps_its_directions() -> None:
    torch.manual_seed(0)
    given, _ = torch.linalg.qr(torch.randn(16, 16))
    result = orthogonal(given)
    assert torch.allclose(result / result.norm(), given / given.norm(), atol=0.02)


def test_an_update_is_as_large_as_one_of_adam_for_any_shape_and_gradient() -> None:
    torch.manual_seed(0)
    for inputs, outputs in ((16, 16), (16, 48), (40, 16)):
        layer = nn.Linear(inputs, outputs, bias=False)
        before = layer.weight.detach().clone()
        layer.weight.grad = 1e3 * torch.randn(outputs, inputs)
        step(layer)
        size = (layer.weight.detach() - before).square().mean().sqrt()
        assert float(size) == pytest.approx(RATE * ADAM_UPDATE_SIZE, rel=0.3)


def test_maps_stacked_in_one_matrix_are_updated_as_if_alone() -> None:
    torch.manual_seed(0)
    stacked = nn.Linear(8, 24, bias=False)
    gradient = torch.randn(24, 8) * torch.tensor([100.0, 1.0, 0.01]).repeat_interleave(8)[:, None]
    alone = [nn.Linear(8, 8, bias=False) for _ in range(3)]
    for layer, weight, part in zip(
        alone, stacked.weight.detach().chunk(3), gradient.chunk(3), strict=True
    ):
        layer.weight.data.copy_(weight)
        layer.weight.grad = part.clone()
        step(layer)
    stacked.weight.grad = gradient
    step(stacked)
    assert torch.equal(stacked.weight, torch.cat([layer.weight for layer in alone]))


def test_embeddings_biases_and_norms_are_updated_by_adamw() -> None:
    torch.manual_seed(0)
    settings = OptimizerSettings(kind="muon", rate=RATE, weight_decay=0.5)
    parts = nn.ModuleList([nn.Embedding(5, 4), nn.LayerNorm(4), nn.Linear(4, 4)])
    peers = [parts[0].weight, parts[1].weight, parts[1].bias, parts[2].bias]
    copies = [nn.Parameter(each.detach().clone()) for each in peers]
    mine = settings.build(parts, list(parts.parameters()), Ranks())
    other = torch.optim.AdamW(copies, lr=RATE, betas=settings.betas, eps=1e-9, weight_decay=0.5)
    for _ in range(4):
        for each in parts.parameters():
            each.grad = torch.randn_like(each)
        for copy, peer in zip(copies, peers, strict=True):
            copy.grad = peer.grad.clone()
        mine.step()
        other.step()
    for copy, peer in zip(copies, peers, strict=True):
        torch.testing.assert_close(copy, peer)


def test_weights_without_a_gradient_stay_as_they_are() -> None:
    parts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    before = parts[1].weight.detach().clone()
    parts[0].weight.grad = torch.ones(3, 3)
    step(parts)
    assert torch.equal(parts[1].weight, before)
    assert not torch.equal(parts[0].weight, before)


def test_the_state_has_the_type_of_the_weights() -> None:
    layer = nn.Linear(4, 8).double()
    layer.weight.grad, layer.bias.grad = torch.randn(8, 4).double(), torch.randn(8).double()
    optimizer = OptimizerSettings(kind="muon").build(layer, list(layer.parameters()), Ranks())
    optimizer.step()
    assert optimizer.state[layer.weight]["mean"].dtype == torch.float64
    assert optimizer.state[layer.bias]["square"].dtype == torch.float64
    assert optimizer.state[layer.bias]["step"].dtype == torch.float32  # as torch's own Adam
