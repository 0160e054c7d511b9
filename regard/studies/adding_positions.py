"""Adding positions to words or concatenating them: are the two orthogonal in a trained model?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch
from torch import Tensor

from regard.data.batch import EOS
from regard.drawing.charts import Bars
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerEncoder
from regard.nn.attention import split_heads
from regard.nn.blocks import AddNorm, SelfAttention
from regard.nn.norm import LayerNorm
from regard.runs.folder import Run
from regard.runs.load import build_model
from regard.studies.ablation import Ablation, ablate
from regard.studies.base import Check, Finding, Number, Study, above, below, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

WIDTHS = (64, 128)
HALF, WHOLE = WIDTHS
PARTS = ("word", "position")
TERMS = tuple(f"{query} - {key}" for query in PARTS for key in PARTS)
"""What the query contributes, and what the key does."""
BETWEEN = 0.5
"""An overlap that is nearer to that of orthogonal spaces, 0, than to that of chance, 1."""
SPREAD = 50.0
"""Per cent of the columns, which concatenation gives to words: if they need more, not all of them
can be orthogonal to the rest."""


def added(width: int) -> str:
    return f"added, width {width}"


def concatenated(width: int) -> str:
    return f"concatenated, {width // 2} + {width // 2}"


VARIANTS = {
    added(HALF): (),
    concatenated(HALF): ("model.position=concatenated",),
    added(WHOLE): (f"model.width={WHOLE}",),
    concatenated(WHOLE): (f"model.width={WHOLE}", "model.position=concatenated"),
}


def overlap(words: Tensor, positions: Tensor) -> float:
    """How much of their variance words (V, D) and positions (S, D) have in the same directions:
    1 on average if one of them is turned at random, 0 if they are orthogonal."""
    first, second = (_covariance(each) for each in (words, positions))
    width = words.shape[1]
    return float(width * (first * second).sum() / (first.trace() * second.trace()))


def dimensions(vectors: Tensor) -> float:
    """The number of directions (of D) over which the variance of vectors (N, D) is spread: D if it
    is the same in all."""
    covariance = _covariance(vectors)
    return float(covariance.trace() ** 2 / covariance.square().sum())


def _covariance(vectors: Tensor) -> Tensor:
    centred = vectors.double() - vectors.double().mean(dim=0)
    return centred.T @ centred / len(vectors)


def scores(encoder: TransformerEncoder, ids: Sequence[int]) -> dict[str, Tensor]:
    """The terms of (x + e)' Q' K (y + f) in the first layer, each (H, S, S), without what is the
    same for all keys, which softmax does not see; `bias` is what queries have of neither.

    Layer normalisation divides the sum x + e, and so each of its two parts, by one number."""
    words, positions = parts(encoder, torch.tensor(ids))
    layer = next(iter(encoder.layers))
    attention = cast(SelfAttention, layer.attention)
    norm = cast(LayerNorm, cast(AddNorm, layer.attention_residual).norm)
    width = words.shape[1]
    weight, bias = attention.project.weight[: 2 * width], attention.project.bias[:width]
    bias = bias + weight[:width] @ norm.bias
    deviation = ((words + positions).var(dim=-1, correction=0) + norm.eps).sqrt()[:, None]
    made = {}
    for name, vectors in zip(PARTS, (words, positions), strict=True):
        centred = (vectors - vectors.mean(dim=-1, keepdim=True)) / deviation * norm.weight
        made[name] = split_heads((centred @ weight.T)[None], attention.heads, 2)
    queries = {name: query[0] for name, (query, _) in made.items()}
    queries["bias"] = split_heads(bias.expand(1, len(ids), -1), attention.heads, 1)[0][0]
    keys = {name: key[0] for name, (_, key) in made.items()}
    found = {
        f"{query} - {key}": q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        for query, q in queries.items()
        for key, k in keys.items()
    }
    return {name: each - each.mean(dim=-1, keepdim=True) for name, each in found.items()}


def parts(encoder: TransformerEncoder, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors (S, D) of the words as they are scaled, and those added for their positions."""
    embedding = encoder.embedding
    words = embedding.tokens(ids) * embedding.scale
    return words, embedding.position.add(torch.zeros_like(words)[None], 0)[0]


class Weights:
    """What is measured of one trained run whose positions are added."""

    @torch.inference_mode()
    def __init__(self, task: GrammarTask, run: Run) -> None:
        model = task.laboratory.model(run)
        encoder = cast(TransformerEncoder, model.encoder)
        sources = run.tokenizers().source.encode([each.source for each in task.test[:200]])
        seen = torch.tensor(sorted({token for ids in sources for token in ids}))
        words, _ = parts(encoder, seen)
        _, positions = parts(encoder, torch.tensor(max(sources, key=len)))
        torch.manual_seed(run.config.training.seed)
        random = torch.randn_like(words)
        self.overlap, self.chance = (overlap(each, positions) for each in (words, random))
        self.spread, self.random_spread, self.position_spread = (
            100 * dimensions(each) / words.shape[1] for each in (words, random, positions)
        )
        lines = [[*ids, EOS] for ids in sources]  # as in training
        self.shares, self.moved = _of_terms([scores(encoder, ids) for ids in lines])
        start = cast(TransformerEncoder, cast(EncoderDecoder, build_model(run).eval()).encoder)
        _, self.moved_at_first = _of_terms([scores(start, ids) for ids in lines])


OVERLAP, OVERLAP_BY_CHANCE = "overlap of words and positions", "overlap of random vectors"
SPREAD_OF_WORDS = "spread of words"
MEASURED: dict[str, tuple[Callable[[Weights], float], str]] = {
    OVERLAP: (lambda each: each.overlap, ""),
    OVERLAP_BY_CHANCE: (lambda each: each.chance, ""),
    SPREAD_OF_WORDS: (lambda each: each.spread, "% of the columns"),
    "spread of random vectors": (lambda each: each.random_spread, "% of the columns"),
    "spread of positions": (lambda each: each.position_spread, "% of the columns"),
}


def _of_terms(sentences: Sequence[dict[str, Tensor]]) -> tuple[dict[str, float], dict[str, float]]:
    """Of each of the four terms: its percentage of the variance of the scores over the keys, and
    the percentage of attention that goes elsewhere without it."""
    variance = dict.fromkeys(TERMS, 0.0)
    moved = dict.fromkeys(TERMS, 0.0)
    for found in sentences:
        total = torch.stack(list(found.values())).sum(dim=0)
        weights = total.softmax(dim=-1)
        for name in TERMS:
            variance[name] += float(found[name].square().mean())
            without = (total - found[name]).softmax(dim=-1)
            distance = (weights - without).abs().sum(dim=-1).mean() / 2
            moved[name] += 100 * float(distance) / len(sentences)
    whole = sum(variance.values())
    return {name: 100 * each / whole for name, each in variance.items()}, moved


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory, steps=400)
    losses = ablate("validation loss", "nats per token", VARIANTS, task.losses)
    found = {
        width: [Weights(task, run) for run in task.runs(VARIANTS[added(width)])] for width in WIDTHS
    }
    numbers = {
        f"{what}, width {width}": mean([value(each) for each in seeds], unit)
        for width, seeds in found.items()
        for what, (value, unit) in MEASURED.items()
    }
    shares = {name: mean([each.shares[name] for each in found[WHOLE]], "%") for name in TERMS}
    moved = {name: mean([each.moved[name] for each in found[WHOLE]], "%") for name in TERMS}
    gain = losses.change(added(WHOLE), concatenated(WHOLE))
    columns = losses.change(added(HALF), added(WHOLE))
    return Finding(
        f"At a width of {WHOLE}, concatenating instead of adding lowers the loss by "
        f"{gain.value:.2f} nats, and twice as many columns lower it by {columns.value:.2f}; words "
        f"and positions overlap by {numbers[f'{OVERLAP}, width {WHOLE}'].value:.2f}, where 0 is "
        f"orthogonal and 1 is chance.",
        {
            **losses.numbers,
            **{
                f"gain of concatenating, width {width}": losses.change(
                    added(width), concatenated(width)
                )
                for width in WIDTHS
            },
            f"gain of width {WHOLE} over {HALF}, added": columns,
            **numbers,
            **{f"variance of the scores, {name}": number for name, number in shares.items()},
            **{f"attention moved without {name}": number for name, number in moved.items()},
        },
        (*_checks_of_loss(losses), *_checks_of_weights(numbers, found[WHOLE])),
        (
            losses.chart("Validation loss, positions added or concatenated"),
            _chart(f"Variance of the first layer's scores, query - key, width {WHOLE}", shares),
            _chart("Attention that goes elsewhere without the term", moved),
        ),
    )


def _checks_of_loss(losses: Ablation) -> tuple[Check, ...]:
    gain = losses.change(added(WHOLE), concatenated(WHOLE))
    columns = losses.change(added(HALF), added(WHOLE))
    return (
        *(
            losses.lower(
                f"at a width of {width}, adding is better: words keep all columns",
                added(width),
                concatenated(width),
            )
            for width in WIDTHS
        ),
        below(
            f"beside words of {HALF} columns, positions of their own gain less than the columns "
            "that they take would",
            gain,
            columns,
        ),
    )


def _checks_of_weights(
    numbers: Mapping[str, Number], weights: Sequence[Weights]
) -> tuple[Check, ...]:
    """In the wider models, in which the guess has the better chance."""
    shared, chance, spread = (
        numbers[f"{what}, width {WHOLE}"] for what in (OVERLAP, OVERLAP_BY_CHANCE, SPREAD_OF_WORDS)
    )
    learned = {
        name: difference(
            [each.moved[name] for each in weights],
            [each.moved_at_first[name] for each in weights],
            "%",
        )
        for name in TERMS
    }
    least = min(TERMS, key=lambda name: learned[name].value)
    return (
        below("words and positions overlap less than by chance", shared, chance),
        below("they are nearer to orthogonal than to chance", shared, BETWEEN),
        below("words fill no more than half of the space", spread, SPREAD),
        above(f"training makes all four terms matter more (least: {least})", learned[least], 0.0),
    )


def _chart(title: str, numbers: dict[str, Number]) -> Bars:
    return Bars(
        title, "per cent", {name: (n.value, n.margin or 0.0) for name, n in numbers.items()}
    )


STUDY = Study(
    title="Adding positions, or concatenating them",
    claim="Adding positions to words makes one matrix Q'K answer four questions at once, but "
    "costs nothing: words and positions each fill a small part of a wide space, and the two parts "
    "are nearly orthogonal, so that concatenating them would gain little and cost many "
    "parameters. The notes call this a guess.",
    formula="(x + e)' Q'K (y + f) = x'Q'Ky + x'Q'Kf + e'Q'Ky + e'Q'Kf; overlap = D tr(C_x C_e) / "
    "(tr C_x tr C_e), 0 if orthogonal, 1 by chance",
    method="Small Transformers learn the grammar corpus with sinusoids added to words of width 64 "
    "or 128, and with half of the columns for words and half for sinusoids; those of the same "
    "width have as many parameters. If adding costs nothing, it must be better at the same width, "
    "since words keep all columns. In those with added positions: the overlap of the covariances "
    "of the words of test sentences and of the positions, and of random vectors for comparison; "
    "over what part of the columns the variance is spread (participation ratio); and the four "
    "terms of the first layer's scores at a width of 128: the share of each in their variance over "
    "the keys, and how much attention goes elsewhere without it, compared with the same before "
    "training.",
    change="--set model.position=concatenated trains such a model; overlap(words, positions) "
    "compares any two sets of vectors, and scores(encoder, ids) gives the terms of any encoder "
    "with pre-norm and added positions.",
    meaning="Adding is simple, but do not count on it to be free: compare the losses above, and "
    "measure both on your own data. Nor think of words and positions as separate parts of a "
    "vector: read the checks before you explain a head by one of the four terms.",
    measure=measure,
)
