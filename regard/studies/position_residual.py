"""Residual connections carry position to higher layers: a probe of every layer's states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import Padded
from regard.drawing.charts import Lines
from regard.models.base import EncoderDecoder, Model
from regard.models.transformer import TransformerEncoder
from regard.nn.blocks import SelfLayer
from regard.nn.mixers.context import FullSequence
from regard.runs.load import build_model
from regard.studies.base import Check, Finding, Study, above, below, difference, mean
from regard.studies.laboratory import Laboratory
from regard.studies.symbol_task import SymbolTask

LENGTH = 12
LAYERS = 4
SETTINGS = (
    *(f"model.layers={LAYERS}", "model.decoder_layers=1", "model.inner=128", "model.heads=2"),
    "training.dropout_start=1",
)
CHANCE = 100 / LENGTH
MOST = 50.0
"""Per cent. A layer has the position if the probe is right more often than wrong."""
RIDGE = 1e-3

Path = Literal["both", "residual", "attention", "neither"]
"""Where the position enters the first layer: by its residual connection, by its attention."""
CONNECTION, ATTENTION = "enters by the residual connection only", "enters by attention only"
PATHS: tuple[Path, ...] = ("both", "residual", "attention", "neither")


def probe(states: Tensor) -> float:
    """The percentage of states (B, S, D) whose position a linear map tells.

    It is fitted by least squares to half of the lines, and tested on the others.
    """
    lines, length, _ = states.shape
    scaled = (states - states.mean(dim=(0, 1))) / (states.std(dim=(0, 1)) + 1e-9)
    inputs = torch.cat([scaled, torch.ones(lines, length, 1)], dim=-1).double()
    half = lines // 2
    known, new = inputs[:half].flatten(0, 1), inputs[half:].flatten(0, 1)
    position = torch.arange(length)
    expected = functional.one_hot(position.repeat(half), length).double()
    gram = known.T @ known + RIDGE * len(known) * torch.eye(known.shape[1], dtype=torch.double)
    guessed = (new @ torch.linalg.solve(gram, known.T @ expected)).argmax(dim=-1)
    return 100 * float((guessed == position.repeat(lines - half)).double().mean())


@torch.inference_mode()
def states(encoder: TransformerEncoder, ids: Sequence[Sequence[int]], path: Path) -> list[Tensor]:
    """The states (B, S, D) that enter the first layer and those that leave each layer, of lines of
    the same length, if the position enters the first layer in one way only."""
    source = Padded.of([list(each) for each in ids])
    sequence = FullSequence(source.mask)
    embedding = encoder.embedding
    placed = embedding(source.values)
    words = embedding.tokens(source.values) * embedding.scale
    kept = placed if path in ("both", "residual") else words
    read = placed if path in ("both", "attention") else words
    first, *others = encoder.layers
    found = [kept, _first(first, kept, read, sequence)]
    for layer in others:
        found.append(layer(found[-1], sequence))
    return found


def _first(layer: SelfLayer, kept: Tensor, read: Tensor, sequence: FullSequence) -> Tensor:
    """A layer whose residual connection and whose attention are given different inputs."""
    around = layer.attention_residual
    y = layer.attention(around.enter(read, sequence), sequence)
    x = around.leave(kept, y, sequence)
    around = layer.feed_forward_residual
    y = layer.feed_forward(around.enter(x, sequence), sequence)
    return around.leave(x, y, sequence)


def _encoder(model: Model) -> TransformerEncoder:
    return cast(TransformerEncoder, cast(EncoderDecoder, model).encoder)


def layers(
    laboratory: Laboratory, task: SymbolTask, residual: bool
) -> dict[str, list[list[float]]]:
    """What the probe tells of each layer, for each seed: of trained encoders by the path of the
    position, and of untrained ones."""
    pairs = task.lines("test", laboratory.effort(200, 40), LENGTH, LENGTH)
    found: dict[str, list[list[float]]] = {path: [] for path in (*PATHS, "untrained")}
    for run in task.runs("tiny", [*SETTINGS, f"model.residual={str(residual).lower()}"]):
        encoder = _encoder(laboratory.model(run))
        ids = run.tokenizers().source.encode([source for source, _ in pairs])
        for path in PATHS:
            found[path].append([probe(each) for each in states(encoder, ids, path)])
        start = _encoder(build_model(run).eval())
        found["untrained"].append([probe(each) for each in states(start, ids, "both")])
    return found


def measure(laboratory: Laboratory) -> Finding:
    pairs, steps = laboratory.effort((20_000, 600), (300, 5))
    task = SymbolTask(laboratory, 2, 16, pairs, steps)
    with_, without = (layers(laboratory, task, residual) for residual in (True, False))
    curves = {
        "residual": with_["both"],
        "no residual": without["both"],
        "residual, untrained": with_["untrained"],
        "no residual, untrained": without["untrained"],
        CONNECTION: with_["residual"],
        ATTENTION: with_["attention"],
        "does not enter": with_["neither"],
    }
    last = {name: [seed[-1] for seed in each] for name, each in curves.items()}
    top = {name: mean(each, "%") for name, each in last.items()}
    return Finding(
        f"The last of {LAYERS} layers tells the position in {top['residual'].value:.0f} % with "
        f"residual connections and in {top['no residual'].value:.0f} % without; if it enters the "
        f"first layer by the residual connection only, in {top[CONNECTION].value:.0f} %, by "
        f"attention only, in {top[ATTENTION].value:.0f} %.",
        {f"position told in the last layer, {name}": number for name, number in top.items()},
        _checks(last),
        (
            Lines(
                "Positions that a linear probe tells",
                "encoder layer (0: embedding)",
                "per cent",
                {
                    name: [
                        (float(number), mean(each).value)
                        for number, each in enumerate(zip(*seeds, strict=True))
                    ]
                    for name, seeds in curves.items()
                },
                level=CHANCE,
            ),
        ),
    )


def _checks(last: dict[str, list[float]]) -> tuple[Check, ...]:
    """Of what the probe tells of the last layer, for each seed."""
    untrained = difference(last["residual, untrained"], last["no residual, untrained"], "%")
    carried = difference(last[CONNECTION], last[ATTENTION], "%")
    return (
        above("the last layer has the position", mean(last["residual"], "%"), MOST),
        below("without residual connections it has not", mean(last["no residual"], "%"), MOST),
        above("before training, too, the connections bring it there", untrained, 0.0),
        above("the connection alone carries it", mean(last[CONNECTION], "%"), MOST),
        below("attention alone does not", mean(last[ATTENTION], "%"), MOST),
        above("the connection carries more of it than attention", carried, 0.0),
    )


STUDY = Study(
    title="Residual connections carry position upwards",
    claim="Positions are added once, below the first layer; it is the residual connections that "
    "carry them to the higher layers.",
    formula="x_(l+1) = x_l + f(x_l), so x_L = x + e + sum of f(x_l); without: x_(l+1) = f(x_l)",
    method="Transformers with an encoder of 4 layers learn to write lines of 2 to 16 random "
    "symbols in another alphabet, so that no symbol betrays its position, with and without "
    "residual connections. A linear map is fitted to tell the position from the states of each "
    "layer, and tested on other lines of 12 symbols: by chance it is right in 8.3 %, and a layer "
    "has the position if it is right in most. In the trained models with residual connections, "
    "the position then enters the first layer in one way only: what its residual connection "
    "carries, or what its attention reads, has no positions; the other layers are left as they "
    "are. Encoders are also probed before training, since a model without residual connections "
    "may fail to learn the task and then loses everything, not only positions.",
    change="probe(states) takes the states (B, S, D) of any model; --set model.residual=false "
    "trains without the connections.",
    meaning="Residual connections keep the position, but they are not its only way: trained "
    "attention passes it on as well. Without the connections a stack of layers "
    "loses it, and much else.",
    measure=measure,
)
