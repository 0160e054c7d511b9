"""The table of the Transformer paper, by measurement: operations per layer, sequential operations
and the longest path between two positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from regard.drawing.charts import Lines
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
LENGTHS = (64, 128, 256, 512)
WINDOW, KERNEL = 8, 3

Layer = Callable[[Tensor], Tensor]
"""x (1, n, WIDTH) to (1, n, WIDTH)."""


@dataclass(frozen=True)
class Expected:
    """What the table says: the exponent of n in the operations, and how many layers connect the
    first position with the last (a function of n)."""

    exponent: float
    path: Callable[[int], float]


def _attention(length: int) -> Layer:
    def layer(x: Tensor) -> Tensor:
        return attend(x[:, None], x[:, None], x[:, None], None, explicit=True)[0][:, 0]

    return layer


def _recurrent(length: int) -> Layer:
    cell = TanhCell(WIDTH, WIDTH)

    def layer(x: Tensor) -> Tensor:
        state, steps = cell.start(x.new_zeros(1, WIDTH)), []
        for entered in cell.enter(x).unbind(1):
            state = cell.step(entered, state)
            steps.append(state[0])
        return torch.stack(steps, dim=1)

    return layer


def _convolution(length: int) -> Layer:
    return Convolution(WIDTH, WIDTH, KERNEL).centred


SIZES = MixerSizes(neighbourhood=WINDOW, block=4, random_blocks=1, projected=16)


def _mixer(kind: Looking) -> Callable[[int], Layer]:
    def build(length: int) -> Layer:
        looks: Looks = ("source", "source")
        mixer = build_mixer(kind, SIZES, 1, WIDTH, Position(), looks, True, length, 0)
        if kind in ("window", "bigbird"):
            mixer.probe = []  # torch does not count the products inside its fused kernel
        sequence = FullSequence(torch.ones(1, length, dtype=torch.bool))

        def layer(x: Tensor) -> Tensor:
            part = x[:, None]  # (1, heads, n, K)
            return mixer(part, part, part, sequence)[:, 0]

        return layer

    return build


LAYERS: dict[str, tuple[Callable[[int], Layer], Expected]] = {
    "self-attention": (_attention, Expected(2.0, lambda n: 1)),
    "recurrent": (_recurrent, Expected(1.0, lambda n: 1)),
    "convolution, width 3": (_convolution, Expected(1.0, lambda n: n - 1)),
    "window of 8": (_mixer("window"), Expected(1.0, lambda n: math.ceil((n - 1) / (WINDOW // 2)))),
    "BigBird": (_mixer("bigbird"), Expected(1.0, lambda n: 2)),
    "Linformer": (_mixer("linformer"), Expected(1.0, lambda n: 1)),
}


def operations(build: Callable[[int], Layer], length: int) -> int:
    """Multiplications and additions of matrix products, without the projections of attention."""
    layer = build(length)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, length, WIDTH))
    return counter.get_total_flops()


def exponent(build: Callable[[int], Layer], lengths: tuple[int, ...]) -> float:
    """Of n in the number of operations, from the two longest inputs."""
    few, many = (operations(build, length) for length in lengths[-2:])
    return math.log(many / few) / math.log(lengths[-1] / lengths[-2])


def path(build: Callable[[int], Layer], length: int) -> int:
    """How many layers connect input 0 with output n - 1: powers of the boolean Jacobian."""
    layer = build(length)
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    output = layer(x)
    reaches = torch.zeros(length, length, dtype=torch.bool)
    for position in range(length):
        (grad,) = torch.autograd.grad(output[0, position].sum(), x, retain_graph=True)
        reaches[position] = grad[0].abs().sum(dim=-1) > 0
    seen, layers = reaches[:, 0].clone(), 1
    while not bool(seen[-1]) and layers <= length:
        seen = (reaches & seen).any(dim=1)
        layers += 1
    return layers


def sequential(build: Callable[[int], Layer], length: int) -> int:
    """The longest chain of matrix products that must wait for each other, in the graph."""
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    root = build(length)(x).sum().grad_fn
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
        own = int(any(name in type(node).__name__ for name in ("Mm", "Bmm", "Addmm", "Linear")))
        depth[node] = own + max((depth.get(child, 0) for child in children), default=0)
    return depth.get(root, 0)


def measure(laboratory: Laboratory) -> Finding:
    lengths = laboratory.effort(LENGTHS, LENGTHS[:2])
    short, probe = 24, laboratory.effort(64, 24)
    numbers: dict[str, Number] = {}
    checks: list[Check] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, (build, expected) in LAYERS.items():
        found, layers = exponent(build, lengths), path(build, probe)
        chain = [sequential(build, length) for length in (short, 2 * short)]
        lines[name] = [(length, operations(build, length)) for length in lengths]
        numbers[f"{name}: exponent of n"] = Number(found)
        numbers[f"{name}: path for n = {probe}"] = Number(layers, None, "layers")
        numbers[f"{name}: sequential products, n = {2 * short}"] = Number(chain[1])
        close = abs(found - expected.exponent) < 0.15
        steps = chain[1] > 1.5 * chain[0]
        checks += [
            Check(f"{name}: operations ~ n^{expected.exponent:g}", f"n^{found:.2f}", close),
            Check(
                f"{name}: path of {expected.path(probe):g} layers",
                f"{layers}",
                layers <= expected.path(probe),
            ),
            Check(
                f"{name}: {'n' if name == 'recurrent' else 'constant'} sequential operations",
                f"{chain[0]} for n = {short}, {chain[1]} for n = {2 * short}",
                steps == (name == "recurrent"),
            ),
        ]
    return Finding(
        "Operations of self-attention grow as "
        f"n^{numbers['self-attention: exponent of n'].value:.2f}, and those of recurrence as "
        f"n^{numbers['recurrent: exponent of n'].value:.2f}, but one after the other.",
        numbers,
        tuple(checks),
        (
            Lines(
                "Operations of one layer",
                "length n",
                "multiply-adds",
                lines,
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
    "n, n / k",
    method="Each layer, of width 16, reads random vectors. Operations are counted by torch for "
    "matrix products, without the projections of attention; the exponent comes from the two "
    "longest inputs. The path is found by powers of the boolean Jacobian of one layer; sequential "
    "operations are the longest chain of products in the graph of the gradient. One layer of "
    "recurrence connects all positions, by n steps.",
    change="Add a layer to LAYERS, or change LENGTHS, WINDOW and KERNEL. `make bench-mixers` "
    "measures seconds and memory instead of operations.",
    meaning="Below a few hundred tokens attention is cheap and the projections dominate; if your "
    "lines are longer, take a window, BigBird, Linformer or linear attention (model.mixers).",
    measure=measure,
)
