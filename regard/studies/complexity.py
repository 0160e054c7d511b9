"""The table of the Transformer paper, by measurement: operations per layer, sequential operations
and the longest path between two positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from regard.drawing.charts import Lines
from regard.messages import counted
from regard.nn.attention import attend
from regard.nn.convolution import Convolution
from regard.nn.mixers import Looking, MixerSizes, build_mixer
from regard.nn.mixers.base import Looks
from regard.nn.mixers.context import FullSequence
from regard.nn.position import Position
from regard.nn.recurrent import TanhCell
from regard.studies.base import Check, Finding, Number, Study
from regard.studies.laboratory import Laboratory

WIDTH = 16
WIDTHS = (8, 16, 32)
LENGTHS = (64, 128, 256, 512)
WINDOW, KERNEL = 8, 3
CLOSE = 0.15
"""An exponent that differs by less is the expected one."""
PRODUCTS = ("Mm", "Bmm", "Addmm", "Linear", "ScaledDotProduct")
"""In the names of the operations that the graph of the gradient shows."""
TERMS = ("n² d", "n d²", "n d")

Layer = Callable[[Tensor], Tensor]
"""x (1, n, width) to (1, n, width)."""
Build = Callable[[int, int, int], Layer]
"""A layer for a length and a width; the last number says which one of a stack, from 0."""


@dataclass(frozen=True)
class Expected:
    """What the table says: the exponent of n in the operations, and how many layers connect the
    first position with the last (a function of n); and that of n in what is kept for the
    gradient."""

    exponent: float
    path: Callable[[int], float]
    kept: float = 1.0


def _attention(explicit: bool) -> Build:
    def build(length: int, width: int, index: int) -> Layer:
        def layer(x: Tensor) -> Tensor:
            return attend(x[:, None], x[:, None], x[:, None], None, explicit=explicit)[0][:, 0]

        return layer

    return build


def _recurrent(length: int, width: int, index: int) -> Layer:
    cell = TanhCell(width, width)

    def layer(x: Tensor) -> Tensor:
        state, steps = cell.start(x.new_zeros(1, width)), []
        for entered in cell.enter(x).unbind(1):
            state = cell.step(entered, state)
            steps.append(state[0])
        return torch.stack(steps, dim=1)

    return layer


def _convolution(length: int, width: int, index: int) -> Layer:
    return Convolution(width, width, KERNEL).centred


def _dilated(length: int, width: int, index: int) -> Layer:
    """The dilation doubles from layer to layer: powers of three leave positions unconnected."""
    return Convolution(width, width, KERNEL, dilation=2**index).centred


SIZES = MixerSizes(neighbourhood=WINDOW, block=4, random_blocks=1, projected=16)


def _mixer(kind: Looking) -> Build:
    def build(length: int, width: int, index: int) -> Layer:
        looks: Looks = ("source", "source")
        mixer = build_mixer(kind, SIZES, 1, width, Position(), looks, True, length, 0)
        if kind in ("window", "bigbird"):
            mixer.probe = []  # torch does not count the products inside its fused kernel
        sequence = FullSequence(torch.ones(1, length, dtype=torch.bool))

        def layer(x: Tensor) -> Tensor:
            part = x[:, None]  # (1, heads, n, K)
            return mixer(part, part, part, sequence)[:, 0]

        return layer

    return build


FUSED = "self-attention, fused"
LAYERS: dict[str, tuple[Build, Expected]] = {
    "self-attention": (_attention(True), Expected(2.0, lambda n: 1, kept=2.0)),
    FUSED: (_attention(False), Expected(2.0, lambda n: 1)),
    "recurrent": (_recurrent, Expected(1.0, lambda n: 1)),
    "convolution, width 3": (_convolution, Expected(1.0, lambda n: n - 1)),
    "dilated convolutions": (_dilated, Expected(1.0, lambda n: math.ceil(math.log2(n)))),
    "window of 8": (_mixer("window"), Expected(1.0, lambda n: math.ceil((n - 1) / (WINDOW // 2)))),
    "BigBird": (_mixer("bigbird"), Expected(1.0, lambda n: 2)),
    "Linformer": (_mixer("linformer"), Expected(1.0, lambda n: 1)),
}
COUNTED = tuple(name for name in LAYERS if name != FUSED)
"""Torch cannot count inside its fused kernel, which computes the same products."""


def operations(build: Build, length: int, width: int = WIDTH) -> int:
    """Multiplications and additions of matrix products, without the projections of attention."""
    layer = build(length, width, 0)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, length, width))
    return counter.get_total_flops()


def exponent(cost: Callable[[int], float], lengths: tuple[int, ...]) -> float:
    """Of n in a cost, from the two longest inputs."""
    few, many = (cost(length) for length in lengths[-2:])
    return math.log(many / few) / math.log(lengths[-1] / lengths[-2])


def fit(build: Build, lengths: Sequence[int]) -> tuple[list[float], float]:
    """a, b and c of a n² d + b n d² + c n d, the operations for several n and d, and the largest
    relative error of this."""
    grid = [(n, d) for n in lengths for d in WIDTHS]
    counts = np.array([float(operations(build, n, d)) for n, d in grid])
    terms = np.array([[n * n * d, n * d * d, n * d] for n, d in grid]) / counts[:, None]
    found = np.linalg.lstsq(terms, np.ones(len(grid)), rcond=None)[0]
    return [float(each) for each in found], float(np.abs(terms @ found - 1).max())


def kept(build: Build, length: int) -> int:
    """Numbers in the largest tensor that a layer keeps for its gradient."""
    sizes: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    layer = build(length, WIDTH, 0)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda each: each):
        layer(torch.randn(1, length, WIDTH, requires_grad=True))
    return max(sizes)


def connections(build: Build, length: int, index: int) -> Tensor:
    """Which outputs of a layer (rows) depend on which of its inputs: its boolean Jacobian."""
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    output = build(length, WIDTH, index)(x)
    reaches = torch.zeros(length, length, dtype=torch.bool)
    for position in range(length):
        (grad,) = torch.autograd.grad(output[0, position].sum(), x, retain_graph=True)
        reaches[position] = grad[0].abs().sum(dim=-1) > 0
    return reaches


def path(build: Build, length: int) -> int:
    """How many layers connect input 0 with output n - 1: a product of boolean Jacobians."""
    seen, layers = torch.arange(length) == 0, 0
    reaches = connections(build, length, 0)
    while not bool(seen[-1]) and layers < length:
        if build is _dilated:
            reaches = connections(build, length, layers)
        seen = (reaches & seen).any(dim=1)
        layers += 1
    return layers


def sequential(build: Build, length: int) -> int:
    """The longest chain of matrix products that must wait for each other, in the graph."""
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    root = build(length, WIDTH, 0)(x).sum().grad_fn
    depth: dict[object, int] = {}
    stack = [(root, False)]
    while stack:
        node, visited = stack.pop()
        if node is None or (node in depth):
            continue
        children = [child for child, _ in node.next_functions if child is not None]
        if not visited:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
            continue
        own = int(any(name in type(node).__name__ for name in PRODUCTS))
        depth[node] = own + max((depth.get(child, 0) for child in children), default=0)
    return depth.get(root, 0)


CHAIN = 24
"""The length at which chains are counted, and then twice that."""


@dataclass(frozen=True)
class Row:
    """What is measured of one layer."""

    name: str
    exponent: float  # of n in the operations; of the fused kernel, those of plain attention
    terms: list[float]
    error: float
    kept: float
    path: int
    chains: list[int]

    @staticmethod
    def of(name: str, lengths: tuple[int, ...], probe: int) -> Row:
        build = LAYERS[name][0]
        same = LAYERS["self-attention"][0] if name == FUSED else build
        terms, error = fit(same, lengths[:3])
        return Row(
            name,
            exponent(lambda n: operations(same, n), lengths),
            terms,
            error,
            exponent(lambda n: kept(build, n), lengths),
            path(build, probe),
            [sequential(build, length) for length in (CHAIN, 2 * CHAIN)],
        )

    def numbers(self, probe: int) -> dict[str, Number]:
        return {
            f"{self.name}: exponent of n": Number(self.exponent),
            **{
                f"{self.name}: operations per {term}": Number(round(value, 3))
                for term, value in zip(TERMS, self.terms, strict=True)
                if value > CLOSE
            },
            f"{self.name}: exponent of n in what is kept": Number(self.kept),
            f"{self.name}: layers on the path for n = {probe}": Number(self.path),
            f"{self.name}: sequential products, n = {2 * CHAIN}": Number(self.chains[1]),
        }

    def checks(self, probe: int) -> list[Check]:
        expected = LAYERS[self.name][1]
        grows = self.name == "recurrent"
        found = [
            Check(
                f"{self.name}: operations ~ n^{expected.exponent:g}",
                f"n^{self.exponent:.2f}; a n² d + b n d² + c n d to {100 * self.error:.1f} %",
                abs(self.exponent - expected.exponent) < CLOSE and self.error < CLOSE,
            ),
            Check(
                f"{self.name}: a path of at most {counted(round(expected.path(probe)), 'layer')}",
                f"{self.path}",
                self.path <= expected.path(probe),
            ),
            Check(
                f"{self.name}: {'n' if grows else 'constant'} sequential operations",
                f"{self.chains[0]} for n = {CHAIN}, {self.chains[1]} for n = {2 * CHAIN}",
                (self.chains[1] > 1.5 * self.chains[0]) is grows,
            ),
        ]
        if self.name in ("self-attention", FUSED):
            kept = Check(
                f"{self.name}: keeps n^{expected.kept:g} numbers",
                f"n^{self.kept:.2f}",
                abs(self.kept - expected.kept) < CLOSE,
            )
            found.append(kept)
        return found


def measure(laboratory: Laboratory) -> Finding:
    lengths = laboratory.effort(LENGTHS, LENGTHS[:2])
    probe = laboratory.effort(64, 16)
    rows = {name: Row.of(name, lengths, probe) for name in LAYERS}
    attention, recurrent = rows["self-attention"], rows["recurrent"]
    return Finding(
        f"Operations of self-attention grow as n^{attention.exponent:.2f} with a path of "
        f"{attention.path} layer; those of recurrence as n^{recurrent.exponent:.2f}, but "
        f"{recurrent.chains[1]} one after the other for n = {2 * CHAIN}; a convolution connects "
        f"{probe} positions in {rows['convolution, width 3'].path} layers.",
        {title: number for row in rows.values() for title, number in row.numbers(probe).items()},
        tuple(check for row in rows.values() for check in row.checks(probe)),
        (
            Lines(
                "Operations of one layer",
                "length n",
                "multiplications and additions",
                {name: [(n, operations(LAYERS[name][0], n)) for n in lengths] for name in COUNTED},
                log_x=True,
                log_y=True,
            ),
        ),
    )


STUDY = Study(
    title="The table of complexities",
    claim="Self-attention connects any two positions in one layer with a constant number of "
    "sequential operations, at a cost quadratic in the length; recurrence is linear but "
    "sequential; convolutions need many layers to connect distant positions.",
    formula="per layer: self-attention n² d, recurrent n d², convolution k n d²; longest path: 1, "
    "n, n / k or log_k n with dilation; window w: n w d, BigBird n (w + g + r) d, Linformer n k d",
    method="Each layer, of width 16, reads random vectors. Operations are counted by torch for "
    "matrix products, without the projections of attention; the exponent comes from the two "
    "longest inputs, and a n² d + b n d² + c n d is fitted to several n and d. The path is the "
    "number of boolean Jacobians whose product connects the first input with the last output; "
    "dilated convolutions double their dilation from layer to layer. Sequential operations are "
    "the longest chain of products in the graph of the gradient: one layer of recurrence connects "
    "all positions, but by n steps. The fused kernel computes the same products as plain attention "
    "without keeping n² weights.",
    change="Add a layer to LAYERS, or change LENGTHS, WINDOW and KERNEL. `make bench-mixers` "
    "measures seconds and memory instead of operations.",
    meaning="Below a few hundred tokens attention is cheap and the projections dominate; if your "
    "lines are longer, take a window, BigBird, Linformer or linear attention (model.mixers).",
    measure=measure,
)
