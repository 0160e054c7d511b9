"""Deep feed-forward stacks: their gradients vanish too, and what residual connections cure."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.drawing.charts import Lines
from regard.nn.blocks import BlockConfig, SelfLayer
from regard.nn.mixers.context import FullSequence
from regard.studies.base import Check, Finding, Number, Study, above, below, mean
from regard.studies.laboratory import Laboratory

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
WIDTH = 32
VARIANTS = {
    "plain": BlockConfig(width=WIDTH, inner=WIDTH, residual=False, normalisation="none", dropout=0),
    "layer norm": BlockConfig(width=WIDTH, inner=WIDTH, residual=False, norm="pre", dropout=0),
    "residual": BlockConfig(width=WIDTH, inner=WIDTH, normalisation="none", dropout=0),
    "residual, layer norm": BlockConfig(width=WIDTH, inner=WIDTH, norm="pre", dropout=0),
}
"""With each of the two alone, so that what both do is not put down to one of them."""
DRAWS = 10
KEPT, EXPLODED = 0.1, 10.0
"""A gradient is kept if its norm at the input is between these multiples of that at the output."""


class Stack(nn.Module):
    """Feed-forward layers as in the Transformer, without attention."""

    def __init__(self, config: BlockConfig, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SelfLayer(config, "none", n) for n in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D)."""
        sequence = FullSequence(torch.ones(x.shape[:2], dtype=torch.bool))
        for layer in self.layers:
            x = layer(x, sequence)
        return x


def gradient_ratio(config: BlockConfig, depth: int, seed: int) -> float:
    """The norm of the gradient at the input of a stack, relative to that at its output."""
    torch.manual_seed(seed)
    stack = Stack(config, depth)
    x = torch.randn(8, 4, WIDTH, requires_grad=True)
    output = stack(x)
    (grad,) = torch.autograd.grad((output * torch.randn_like(output)).sum(), x)
    return float(grad.norm()) / output.numel() ** 0.5


def loss_after(config: BlockConfig, depth: int, seed: int, steps: int) -> float:
    """What is left of the loss of a small regression after some steps of Adam."""
    torch.manual_seed(seed)
    stack = Stack(config, depth)
    x, target = torch.randn(64, 1, WIDTH), torch.randn(64, 1, WIDTH)
    optimizer = torch.optim.Adam(stack.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (stack(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses[-1] / float(target.square().mean())


def measure(laboratory: Laboratory) -> Finding:
    depths = laboratory.effort(DEPTHS, DEPTHS[:5])
    deepest = depths[-1]
    ratios = {
        name: {
            depth: mean([gradient_ratio(config, depth, seed) for seed in range(DRAWS)])
            for depth in depths
        }
        for name, config in VARIANTS.items()
    }
    steps = laboratory.effort(200, 10)
    learned = {
        name: mean([loss_after(config, 16, seed, steps) for seed in laboratory.seeds])
        for name, config in VARIANTS.items()
    }
    plain, residual, both = (
        ratios[name][deepest] for name in ("plain", "residual", "residual, layer norm")
    )
    return Finding(
        f"Through {deepest} plain layers the gradient shrinks to {plain.value:.0e} of its norm; "
        f"with residual connections it is {residual.value:,.0f} times as large as at the output, "
        f"and {both.value:.1f} times with layer norm as well.",
        {
            **{f"gradient, {name}, {deepest} layers": r[deepest] for name, r in ratios.items()},
            **{f"loss left, {name}, 16 layers": number for name, number in learned.items()},
        },
        _checks({name: each[deepest] for name, each in ratios.items()}, learned),
        (
            Lines(
                "Norm of the gradient at the input, relative to the output",
                "layers",
                "relative norm",
                {n: [(d, x.value) for d, x in r.items()] for n, r in ratios.items()},
                log_x=True,
                log_y=True,
                level=1.0,
            ),
        ),
    )


def _checks(gradients: Mapping[str, Number], learned: Mapping[str, Number]) -> tuple[Check, ...]:
    """Of the gradients of the deepest stacks, and of what is left of the loss."""
    residual, both = "residual", "residual, layer norm"
    return (
        below("plain stacks lose the gradient", gradients["plain"], 1e-3),
        above("residual connections keep it", gradients[residual], KEPT),
        below("and do not make it explode", gradients[residual], EXPLODED),
        above("with layer norm they keep it too", gradients[both], KEPT),
        below("and do not make it explode then", gradients[both], EXPLODED),
        below(
            "residual connections by themselves make deep stacks learn better",
            learned[residual],
            learned["plain"],
        ),
        below(
            "those with layer norm learn better with residual connections",
            learned[both],
            learned["layer norm"],
        ),
    )


STUDY = Study(
    title="Deep stacks vanish too",
    claim="Vanishing gradients are not limited to recurrence: a deep feed-forward stack loses its "
    "gradient as well, and direct connections past the layers keep it.",
    formula="d x_L / d x_0 = product of J_l without, and product of (I + J_l) with residual "
    "connections",
    method="Stacks of 1 to 64 feed-forward layers of the Transformer, width 32, at their random "
    "start, with residual connections, with layer norm, with both and with neither: norm of the "
    "gradient at the input relative to the output. It is kept if it is between a tenth and ten "
    "times as large. Then stacks of 16 layers learn a small regression with Adam, and what is left "
    "of the loss is compared.",
    change="gradient_ratio(config, depth, seed) takes any BlockConfig; in a Transformer, "
    "--set model.residual=false removes the connections.",
    meaning="Past a few layers, never go without residual connections, nor without normalisation: "
    "connections alone add up, so that gradients grow with every layer instead of vanishing. With "
    "pre-norm the sum of all layers reaches the output directly, which is why deep pre-norm models "
    "train without a careful warm-up.",
    measure=measure,
)
