"""Additive attention used as self-attention: it works, and costs more than dot products."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.drawing.charts import Bars, Lines
from regard.nn.linear import linear
from regard.nn.scores import Additive, AttentionScore, SourceAttention
from regard.studies.base import Finding, Number, Study, above, difference, mean
from regard.studies.laboratory import Laboratory
from regard.studies.positions import FIRST, LONGEST, SHORTEST, SYMBOLS, lines, tags

WIDTH, LAYERS = 64, 2
LENGTHS = (32, 64, 128, 256, 512)
TAGS = (FIRST, *SYMBOLS)
ROUNDS = 5


class ScaledDot(AttentionScore):
    """e_ij = (W_q x_i)^T (W_k x_j) / sqrt(D)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query, self.of_source = linear(width, width), linear(width, width)

    def prepare(self, source: Tensor) -> Tensor:
        keys: Tensor = self.of_source(source)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """query (B, N, D) and keys (B, S, D) to scores (B, N, S)."""
        scores: Tensor = self.of_query(query) @ keys.transpose(1, 2)
        return scores / math.sqrt(keys.shape[-1])


class Layer(nn.Module):
    """Self-attention with any score, and a feed-forward network, both residual."""

    def __init__(self, score: AttentionScore) -> None:
        super().__init__()
        self.attention = SourceAttention(score)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.inner = nn.Sequential(linear(WIDTH, 2 * WIDTH), nn.ReLU(), linear(2 * WIDTH, WIDTH))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D) with the mask (B, S) of real positions, to the same shape."""
        entered = self.norms[0](x)
        x = x + self.attention(entered, self.attention.prepare(entered, mask))
        return x + self.inner(self.norms[1](x))


SCORES: dict[str, type[Additive] | type[ScaledDot]] = {
    "additive": Additive,
    "scaled dot": ScaledDot,
}


class Tagger(nn.Module):
    """Embeddings with learned positions, layers of self-attention if any, and a choice of tag."""

    def __init__(self, kind: str, layers: int = LAYERS) -> None:
        super().__init__()
        self.symbols = nn.Embedding(1 + len(SYMBOLS), WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer(SCORES[kind](WIDTH)) for _ in range(layers))
        self.output = linear(WIDTH, len(TAGS))

    def forward(self, source: Padded) -> Tensor:
        """Scores (B, S, tags)."""
        x = self.symbols(source.values) + self.positions.weight[: source.values.shape[1]]
        for layer in self.layers:
            x = layer(x, source.mask)
        scores: Tensor = self.output(x)
        return scores


Data = list[tuple[list[int], list[int]]]


def tagged(count: int) -> tuple[Data, Data]:
    """Symbols and tags as ids, for training and test."""

    def encoded(given: Sequence[Sequence[str]]) -> Data:
        return [
            ([1 + SYMBOLS.index(each) for each in line], [TAGS.index(each) for each in tags(line)])
            for line in given
        ]

    train, test = (
        encoded(lines(number, SHORTEST, LONGEST, part))
        for part, number in (("train", count), ("test", 200))
    )
    return train, test


def accuracy(
    kind: str, data: tuple[Data, Data], steps: int, seed: int, layers: int = LAYERS
) -> float:
    """The percentage of test symbols with the right tag, after training."""
    train, test = data
    torch.manual_seed(seed)
    model = Tagger(kind, layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        rows = [train[int(index)] for index in torch.randint(len(train), (64,))]
        scores, right = _scored(model, rows)
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores, right).backward()
        optimizer.step()
    with torch.inference_mode():
        scores, right = _scored(model, test)
    return float(100 * (scores.argmax(dim=-1) == right).float().mean())


def _scored(model: Tagger, rows: Data) -> tuple[Tensor, Tensor]:
    """Scores (symbols, tags) and right tags (symbols,) of all real symbols."""
    source = Padded.of([ids for ids, _ in rows])
    real = torch.zeros(source.values.shape, dtype=torch.bool)
    for number, (ids, _) in enumerate(rows):
        real[number, : len(ids)] = True
    return model(source)[real], torch.tensor([tag for _, right in rows for tag in right])


def seconds(kind: str, length: int) -> float:
    """Of one forward and backward pass of a layer; the best of three."""
    layer, mask = Layer(SCORES[kind](WIDTH)), torch.ones(1, length, dtype=torch.bool)
    found = []
    for _ in range(3):
        x = torch.randn(1, length, WIDTH, requires_grad=True)
        began = time.perf_counter()
        layer(x, mask).sum().backward()
        found.append(time.perf_counter() - began)
    return min(found)


def largest(kind: str, length: int) -> int:
    """Numbers in the largest tensor of a forward pass, which decides the memory."""
    sizes: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    layer, mask = Layer(SCORES[kind](WIDTH)), torch.ones(1, length, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda each: each):
        layer(torch.randn(1, length, WIDTH, requires_grad=True), mask)
    return max(sizes)


def measure(laboratory: Laboratory) -> Finding:
    data, steps = tagged(laboratory.effort(10_000, 200)), laboratory.effort(900, 5)
    right = {
        kind: [accuracy(kind, data, steps, seed) for seed in laboratory.seeds] for kind in SCORES
    }
    right["no attention"] = [
        accuracy("additive", data, steps, seed, 0) for seed in laboratory.seeds
    ]
    lengths = laboratory.effort(LENGTHS, LENGTHS[:2])
    rounds = laboratory.effort(ROUNDS, 2)
    ratios = {
        n: mean([seconds("additive", n) / seconds("scaled dot", n) for _ in range(rounds)], "times")
        for n in lengths
    }
    sizes = Number(
        largest("additive", lengths[-1]) / largest("scaled dot", lengths[-1]), None, "times"
    )
    scores = {name: mean(each, "%") for name, each in right.items()}
    return Finding(
        f"Additive self-attention gets {scores['additive'].value:.1f} % of the tags right, scaled "
        f"dot products {scores['scaled dot'].value:.1f} %; at {lengths[-1]} positions it takes "
        f"{ratios[lengths[-1]].value:.1f} times as long and keeps a tensor {sizes.value:.0f} times "
        "as large.",
        {
            **{f"tags right, {name}": number for name, number in scores.items()},
            **{f"time, additive / dot, n = {n}": number for n, number in ratios.items()},
            "largest tensor, additive / dot": sizes,
        },
        (
            above("it works", difference(right["additive"], right["no attention"], "%"), 2.0),
            above(
                "as well as dot products",
                difference(right["additive"], right["scaled dot"], "%"),
                -2.0,
            ),
            above("it takes longer", ratios[lengths[-1]], 1.0),
            above("it keeps more", sizes, 2.0),
        ),
        _charts(scores, ratios),
    )


def _charts(scores: Mapping[str, Number], ratios: Mapping[int, Number]) -> tuple[Bars, Lines]:
    """What is learned, and what it costs."""
    return (
        Bars(
            "Tags right",
            "per cent",
            {name: (each.value, each.margin or 0) for name, each in scores.items()},
        ),
        Lines(
            "Time of a layer with additive scores, relative to dot products",
            "length n",
            "times",
            {"additive / dot": [(float(n), each.value) for n, each in ratios.items()]},
            log_x=True,
            level=1.0,
        ),
    )


STUDY = Study(
    title="Additive attention as self-attention",
    claim="The attention of recurrent networks, with an additive score, can be used as "
    "self-attention, but it is wasteful; scaled dot products do the same with matrix products.",
    formula="additive: e_ij = v' tanh(W_1 x_j + W_2 x_i), n² d numbers; scaled dot: e_ij = q_i' "
    "k_j / √d, n² numbers",
    method="Taggers of two layers of self-attention, which differ in the score only, learn to "
    "name the symbol before each symbol of random lines of 4 to 16, for 900 steps; one without "
    "attention shows what can be guessed. A layer of each is timed, forward and backward, in "
    "rounds that measure both; ratios are judged. The largest tensor that a layer keeps for its "
    "gradient is counted.",
    change="Any AttentionScore can be put into SCORES, such as regard.nn.scores.Multiplicative; "
    "WIDTH and LENGTHS are the sizes.",
    meaning="The additive score has no advantage that pays for a tensor of n² d numbers. Keep it "
    "where there are few queries at a time, as in the decoder of a recurrent network.",
    measure=measure,
    timed=True,
)
