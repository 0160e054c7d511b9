"""Attention shortens the gradient's path from a target word to the source."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Padded, Row
from regard.drawing.charts import Lines
from regard.models.base import EncoderDecoder
from regard.models.recurrent import AttentionTiming, RecurrentConfig
from regard.nn.recurrent import CellKind
from regard.studies import bottleneck
from regard.studies.base import Finding, Study, above, mean
from regard.studies.laboratory import Laboratory

DISTANCES = (2, 4, 8, 16, 32, 64)
VOCABULARY = 44
DRAWS = 10
CELLS: tuple[CellKind, ...] = ("rnn", "lstm")
TIMINGS: dict[AttentionTiming, str] = {"none": "fixed vector", "after": "attention"}
"""Without attention, and with the attention of the notes, after each step."""


def untrained(cell: CellKind, attention: AttentionTiming, seed: int) -> EncoderDecoder:
    torch.manual_seed(seed)
    config = RecurrentConfig(
        cell=cell,
        attention=attention,
        score="dot",
        direction="forward",
        width=64,
        dropout=0,
        tying="none",
    )
    return config.build(VOCABULARY, VOCABULARY).eval()


def norms(model: EncoderDecoder, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
    """The mean norm of d log p(y_1) / d x_j for each word j of sources of one length S, (S,).

    The first target word is the one that comes right after the source and its end were read, so
    between it and x_j are S - j + 1 steps of the encoder, whatever the decoder does.
    """
    entered: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> None:
        output.retain_grad()
        entered.append(output)

    tables = [module for module in model.encoder.modules() if isinstance(module, nn.Embedding)]
    batch = Batch(*(Padded.of_rows([Row(ids) for ids in side]) for side in (sources, targets)))
    handle = tables[0].register_forward_hook(keep)
    try:
        hidden, state = model.read(batch)
    finally:
        handle.remove()
    logs = model.output.scores(hidden[:, :1], state).log_softmax(dim=-1)[:, 0]  # (B, V)
    logs.gather(1, batch.target.values[:, :1]).sum().backward()
    grad = entered[0].grad  # (B, S + 1, D); the first table is read by the encoder first
    assert grad is not None
    return grad[:, :-1].norm(dim=-1).mean(dim=0)


def kept(model: EncoderDecoder, distance: int, seed: int) -> float:
    """The gradient at a source word this far from the end, relative to the last word's."""
    generator = torch.Generator().manual_seed(seed)
    sources = torch.randint(4, VOCABULARY, (4, distance + 1), generator=generator).tolist()
    found = norms(model, sources, [ids[:1] for ids in sources])
    return float(found[0] / found[-1])


def trained_ratio(laboratory: Laboratory, variant: str) -> list[float]:
    """In trained runs: the gradient at the first source symbol, which the first target symbol
    translates, relative to the last source symbol's; lines of the greatest length."""
    task, length = bottleneck.task(laboratory), bottleneck.LONG
    pairs = task.lines("test", 20, length, length)
    found = []
    for run in task.runs("lstm_attention", bottleneck.VARIANTS[variant]):
        sides = run.tokenizers()
        model = laboratory.model(run)
        sources = sides.source.encode([source for source, _ in pairs])
        measured = norms(model, sources, sides.target.encode([target for _, target in pairs]))
        found.append(math.log10(float(measured[0] / measured[-1])))
    return found


def measure(laboratory: Laboratory) -> Finding:
    distances = laboratory.effort(DISTANCES, DISTANCES[:5])
    far = distances[-1]
    found = {
        f"{cell}, {name}": {
            distance: [kept(untrained(cell, timing, seed), distance, seed) for seed in range(DRAWS)]
            for distance in distances
        }
        for cell in CELLS
        for timing, name in TIMINGS.items()
    }
    logs = {
        name: mean([math.log10(max(value, 1e-30)) for value in each[far]], "powers of ten")
        for name, each in found.items()
    }
    trained = {
        name: mean(trained_ratio(laboratory, name), "powers of ten")
        for name in ("fixed vector", "attention")
    }
    title = "Gradient at a source word, relative to the last source word (untrained)"
    lines = {
        name: [(d, 10 ** mean([math.log10(max(v, 1e-30)) for v in each[d]]).value) for d in each]
        for name, each in found.items()
    }
    return Finding(
        f"From {far} words back, a first target word's gradient keeps 10^"
        f"{logs['lstm, fixed vector'].value:.1f} of its norm through the fixed vector of an LSTM, "
        f"and 10^{logs['lstm, attention'].value:.1f} with attention.",
        {
            **{f"kept from {far} back, {name}": number for name, number in logs.items()},
            **{f"kept from the first of 16, trained LSTM, {n}": v for n, v in trained.items()},
        },
        (
            above("attention keeps more: tanh", logs["rnn, attention"], logs["rnn, fixed vector"]),
            above("and LSTM", logs["lstm, attention"], logs["lstm, fixed vector"]),
            above("with attention the distance hardly matters", logs["lstm, attention"], -1.0),
            above("after training too", trained["attention"], trained["fixed vector"]),
        ),
        (Lines(title, "words between", "relative norm", lines, log_x=True, log_y=True),),
    )


STUDY = Study(
    title="Attention shortens the gradient's path",
    claim="Without attention, what a target word teaches about a source word must travel back "
    "through every state in between and vanishes on the way; attention connects the two directly.",
    formula="fixed: dJ_t/dx_j passes h_S, h_(S-1), ..., h_j; attention: dJ_t/dx_j also has the "
    "direct term dJ_t/dc_t · α_tj · dh_j/dx_j",
    method="The log-probability of the first target word is differentiated with respect to the "
    "source embeddings. The norm at a word that is 2 to 64 words before the end of the source is "
    "divided by the norm at the last word, in untrained encoder-decoders with tanh and LSTM cells, "
    "and in the LSTMs that the study of the bottleneck trains, where the first target symbol "
    "translates the first of 16 source symbols.",
    change="kept(untrained('gru', 'before', 1), 100, 1) measures another cell with Bahdanau's "
    "attention; bottleneck.task chooses what is trained.",
    meaning="Attention is not only a way to read, it is a way to learn: with it the weights that "
    "encode a distant word get a usable gradient from the first step.",
    measure=measure,
)
