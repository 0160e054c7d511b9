"""Vanishing gradients: how fast the gradient of a loss decays with the distance it travels back."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional

import torch
from torch import Tensor, nn

from regard.corpora import grammar
from regard.data.batch import Batch, Padded
from regard.data.parallel import Parallel
from regard.drawing.charts import Lines
from regard.files import write_text
from regard.nn.recurrent import CellState, LSTMCell, TanhCell
from regard.runs.folder import Run
from regard.studies.base import Finding, Number, Study, above, below, mean
from regard.studies.laboratory import Laboratory

VARIANTS = {
    "tanh": ("language_rnn", ["model.cell=rnn", "model.layers=1"]),
    "GRU": ("language_rnn", ["model.cell=gru", "model.layers=1"]),
    "LSTM": ("language_rnn", ["model.cell=lstm", "model.layers=1"]),
    "Transformer": ("language", ["model.layers=2", "model.inner=128", "model.heads=2"]),
}
SETTINGS = [
    *("model.width=64", "model.dropout=0", "tokenizer.vocabulary=500", "batch.tokens=2048"),
    *("training.optimizer.warmup=50", "training.optimizer.rate=3e-3"),
]
REACH = 0.01
"""A gradient reaches as far back as it keeps this part of its norm one step back."""
OPEN = 6.0
"""A bias of forget gates that keeps 99.8 % of a cell at every step; they start at 1, 73 %."""
EIGENVALUES = (0.8, 0.9, 1.0, 1.1)
DISTANCES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)


def measure(laboratory: Laboratory) -> Finding:
    data, valid = text_of(laboratory)
    steps = laboratory.effort(400, 20)
    distances = [each for each in DISTANCES if each <= laboratory.effort(100, 20)]
    norms: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    opened: list[float] = []
    for seed in laboratory.seeds:
        for name, (recipe, settings) in VARIANTS.items():
            run = laboratory.trained(recipe, data, valid, steps, seed, [*settings, *SETTINGS])
            norms[name].append(gradient_norms(laboratory, run, valid, distances))
            if name == "LSTM":
                opened.append(
                    reach(distances, gradient_norms(laboratory, run, valid, distances, OPEN))
                )
    reaches = {
        name: mean([reach(distances, each) for each in of_seeds], "tokens")
        for name, of_seeds in norms.items()
    }
    slopes = {value: decay_of_linear(value) for value in EIGENVALUES}
    largest = max(abs(slope - math.log(value)) for value, slope in slopes.items())
    return Finding(
        f"The gradient keeps a hundredth of its norm over {reaches['tanh'].value:.0f} tokens in a "
        f"tanh network, {reaches['LSTM'].value:.0f} in an LSTM, {mean(opened).value:.0f} in the "
        f"same LSTM with its forget gates opened, and {reaches['Transformer'].value:.0f} in a "
        "Transformer; at most 100 are measured.",
        {
            **{f"reach, {name}": number for name, number in reaches.items()},
            "reach, LSTM with its forget gates opened": mean(opened, "tokens"),
            "largest error of the eigenvalue rule": Number(largest, None, "nats per step"),
        },
        (
            below("the gradient follows the largest eigenvalue", Number(largest), 0.01),
            above("an LSTM reaches farther than tanh", reaches["LSTM"], reaches["tanh"]),
            above("a GRU reaches farther than tanh", reaches["GRU"], reaches["tanh"]),
            above("attention reaches farthest", reaches["Transformer"], reaches["LSTM"]),
            below("tanh reaches about 7 steps", reaches["tanh"], 15.0),
            above("an LSTM reaches about 100 steps", reaches["LSTM"], 50.0),
            above("with open forget gates it does", mean(opened, "tokens"), 50.0),
        ),
        (_chart(distances, norms),),
    )


def _chart(distances: list[int], norms: dict[str, list[list[float]]]) -> Lines:
    """The mean over seeds, relative to one token back."""
    lines = {
        name: [
            (distance, sum(each[index] / each[0] for each in of_seeds) / len(of_seeds))
            for index, distance in enumerate(distances)
        ]
        for name, of_seeds in norms.items()
    }
    title = "Norm of the gradient, relative to one token back"
    return Lines(title, "tokens back", "relative norm", lines, log_y=True, level=REACH)


def text_of(laboratory: Laboratory) -> tuple[Parallel, Parallel]:
    """Lines of many sentences that have a noun in common, so that what is far back matters."""
    sentences, per_line = laboratory.effort((40_000, 8), (1200, 6))
    path = laboratory.scratch / f"long-{sentences}"
    files = [path.with_suffix(f".{part}") for part in ("train", "valid")]
    if not files[1].exists():
        found = [example.target for example in grammar.generate(sentences, held_out=0).train]
        lines = [" ".join(each) for each in by_noun(found, per_line)]
        random.Random(1).shuffle(lines)
        _write(files[0], lines[20:])
        _write(files[1], lines[:20])
    return Parallel(target=files[0]), Parallel(target=files[1])


def by_noun(sentences: Sequence[str], count: int) -> Iterator[list[str]]:
    """Groups of so many sentences with a noun in common; each sentence is in one at most."""
    waiting: dict[str, list[str]] = defaultdict(list)
    used: set[str] = set()
    for sentence in sentences:
        words = [word.strip(".,?") for word in sentence.split()[1:]]
        for noun in (word for word in words if word[0].isupper()):
            waiting[noun] = [each for each in waiting[noun] if each not in used]
            waiting[noun].append(sentence)
            if len(waiting[noun]) == count:
                used.update(waiting[noun])
                yield waiting.pop(noun)
                break


def _write(path: Path, lines: list[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def gradient_norms(
    laboratory: Laboratory,
    run: Run,
    text: Parallel,
    distances: list[int],
    gates: Optional[float] = None,
) -> list[float]:
    """The mean norm of d loss_i / d x_j for each distance i - j, over lines that are long enough.

    x_j is the embedding that enters at step j, so that its gradient has passed every state between.
    The forget gates of LSTMs can be given another bias.
    """
    model, tokenizer = laboratory.model(run), run.tokenizers().target
    if gates is not None:
        set_forget_gates(model, gates)
    assert isinstance(text.target, Path)
    lines = tokenizer.encode(text.target.read_text(encoding="utf-8").splitlines())
    length = max(distances) + 2
    rows = [ids[:length] for ids in lines if len(ids) >= length]
    assert rows, "the lines are shorter than the largest distance"
    target = Padded.of(rows)
    source = Padded.of([[] for _ in rows])
    entered: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> None:
        output.retain_grad()
        entered.append(output)

    embeddings = [module for module in model.decoder.modules() if isinstance(module, nn.Embedding)]
    handle = embeddings[0].register_forward_hook(keep)
    try:
        hidden, state = model.read(Batch(source, target))
    finally:
        handle.remove()
    logs = model.output.scores(hidden[:, -1:], state).log_softmax(dim=-1)[:, 0]  # (B, V)
    loss = -logs.gather(1, target.values[:, -1:]).sum()
    loss.backward()
    grad = entered[0].grad
    assert grad is not None
    norms = grad.norm(dim=-1)  # (B, T); position T - 1 predicts the last token
    return [float(norms[:, -1 - distance].mean()) for distance in distances]


def set_forget_gates(model: nn.Module, bias: float) -> None:
    for cell in (each for each in model.modules() if isinstance(each, LSTMCell)):
        with torch.no_grad():
            cell.bias.chunk(4)[1].fill_(bias)


def reach(distances: list[int], norms: list[float]) -> float:
    """The distance at which the norm falls below a hundredth, interpolated in its logarithm."""
    floor = math.log(max(norms[0], 1e-30) * REACH)
    before = (distances[0], math.log(max(norms[0], 1e-30)))
    for distance, norm in zip(distances[1:], norms[1:], strict=True):
        level = math.log(max(norm, 1e-30))
        if level < floor:
            part = (before[1] - floor) / (before[1] - level)
            return before[0] + part * (distance - before[0])
        before = (distance, level)
    return float(distances[-1])


def decay_of_linear(eigenvalue: float, others: float = 0.5, steps: int = 60) -> float:
    """The change per step of the log of the gradient's norm, where tanh is nearly linear.

    The weights have this eigenvalue once and seven others, which are alike: the larger one decides.
    What the smaller contributes has died out in the second half of the steps, which is measured.
    """
    torch.manual_seed(1)
    cell = TanhCell(8, 8)
    with torch.no_grad():
        basis = cell.of_hidden.clone()  # orthogonal
        values = torch.tensor([eigenvalue, *[others] * 7])
        cell.of_hidden.copy_(basis @ values.diag() @ basis.T)
    first = torch.full((1, 8), 1e-6, requires_grad=True)
    state: CellState = (first,)
    norms = []
    for step in range(1, steps + 1):
        state = cell.step(torch.zeros(1, 8), state)
        if step in (steps // 2, steps):
            (grad,) = torch.autograd.grad(state[0].sum(), first, retain_graph=True)
            norms.append(float(grad.norm()))
    return math.log(norms[1] / norms[0]) / (steps - steps // 2)


STUDY = Study(
    title="Vanishing gradients",
    claim="In a plain recurrent network the gradient from a distant loss shrinks exponentially, by "
    "the largest eigenvalue of the recurrent weights, and is lost after about 7 steps; an LSTM "
    "keeps it for about 100, and attention does not depend on the distance at all.",
    formula="dJ_i / dh_j = dJ_i / dh_i · W^(i - j), so |dJ_i / dh_j| ~ λ^(i - j), where λ is the "
    "largest eigenvalue of W",
    method="Language models of one tanh, GRU or LSTM layer, and a Transformer of two layers, all "
    "of width 64, learn lines of 8 sentences that have a noun in common. Then the loss of one "
    "token is differentiated with respect to the embeddings that entered before it. The reach is "
    "the distance over which the "
    "mean norm falls to a hundredth of that of one token back (at most 100 are measured). The same "
    "is measured with the forget gates of the trained LSTMs opened by a bias of 6. The "
    "eigenvalue rule is checked on a tanh cell near zero, whose weights have one eigenvalue λ, "
    "from 0.8 to 1.1, and seven of 0.5.",
    change="Try regard.studies.vanishing.decay_of_linear(1.2), or other cells and widths in "
    "VARIANTS; REACH is the part of the norm that defines the reach.",
    meaning="If the evidence for a word may be dozens of tokens back, a tanh network will hardly "
    "learn to use it, however long you train. An LSTM can keep it, but only if its forget gates "
    "are open: they start at a bias of 1, which leaves a hundredth after 15 steps, and short "
    "training does not open them. Start with a larger bias if you know that memory must be long, "
    "or use attention.",
    measure=measure,
)
