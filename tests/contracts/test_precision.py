"""Training in bfloat16: float32 weights, losses and gradients, close to those of float32."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from regard.config import override
from regard.errors import UsageError
from regard.models import Architecture
from regard.models.example import EXAMPLE_SIZES
from regard.processes.devices import Precision
from regard.recipes import RECIPES, find_recipe
from regard.search.beam import Beam
from regard.training.precision import in_precision, training_loss

FAMILIES = get_args(get_args(Architecture)[0])
MEMBERS = [
    pytest.param(config, id=f"{config.kind}-{number}")
    for family in FAMILIES
    for number, config in enumerate(family.miniatures())
    if config.mixed_precision
]

LOSS_TOLERANCE = 0.02
"""Of the loss, relative: bfloat16 has 8 bits of mantissa."""

MIN_COSINE = 0.97
"""Between all gradients of a step in the two precisions."""

SEARCH_TOLERANCE = 0.1
"""Of log p, per token; linear attention adds up rounding errors, the others stay far below."""

GREEDY = Beam(beam=1, max_length_extra=4)


def step(config: Any, precision: Precision) -> tuple[float, Tensor]:
    """The loss of one batch, and all gradients in one vector."""
    torch.manual_seed(1)
    model = config.build(*EXAMPLE_SIZES)
    model.train()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    torch.manual_seed(2)
    loss = training_loss(model, config.example(rows=8, seed=1), precision)
    assert loss.total.dtype is loss.nll.dtype is torch.float32
    loss.total.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(each.dtype is torch.float32 for each in gradients)
    return loss.total.item(), torch.cat([each.flatten() for each in gradients])


@pytest.mark.parametrize("config", MEMBERS)
def test_bfloat16_has_nearly_the_gradients_of_float32(config: Any) -> None:
    exact, exact_gradients = step(config, "float32")
    loss, gradients = step(config, "bfloat16")
    assert loss == pytest.approx(exact, rel=LOSS_TOLERANCE)
    assert torch.cosine_similarity(gradients, exact_gradients, dim=0) > MIN_COSINE
    assert gradients.norm() == pytest.approx(float(exact_gradients.norm()), rel=0.1)


@pytest.mark.parametrize("config", MEMBERS)
def test_a_search_in_bfloat16_finds_nearly_as_probable_targets(config: Any) -> None:
    torch.manual_seed(1)
    model = config.build(*EXAMPLE_SIZES).eval()
    batch = config.example(rows=4, seed=1)
    exact = model.generate(batch.source, GREEDY)
    with in_precision(model.device, "bfloat16"):
        rounded = model.generate(batch.source, GREEDY)
    for (one, *_), (other, *_) in zip(exact, rounded, strict=True):
        if one.tokens == other.tokens:
            tolerance = SEARCH_TOLERANCE * (len(one.tokens) + 1)
            assert other.log_probability == pytest.approx(one.log_probability, abs=tolerance)
    same = sum(one[0].tokens == other[0].tokens for one, other in zip(exact, rounded, strict=True))
    assert same >= 1


def test_a_family_that_cannot_refuses() -> None:
    name = next(name for name in RECIPES if not find_recipe(name).model.mixed_precision)
    with pytest.raises(UsageError, match=r"set training\.precision=float32"):
        override(find_recipe(name), ["training.precision=bfloat16"])
