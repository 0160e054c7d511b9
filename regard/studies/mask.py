"""The causal mask: a leak test, and what training without the mask does."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.corpora import grammar
from regard.data.batch import UNKNOWN, Batch, Padded, Row
from regard.data.tokenizer import Words
from regard.drawing.charts import Lines
from regard.models.base import EncoderDecoder
from regard.models.transformer import TransformerConfig
from regard.nn.attention import additive_mask, attend, causal_mask
from regard.nn.blocks import SelfAttention
from regard.nn.mixers.base import Cache, Mixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.processes.ranks import Ranks
from regard.search.beam import Beam
from regard.studies.base import Check, Finding, Number, Study, above, below, difference, mean
from regard.studies.laboratory import Laboratory
from regard.training.optimizers import OptimizerSettings
from regard.training.plan import Plan

CONFIG = TransformerConfig(
    layers=2, width=64, inner=128, heads=2, dropout=0, smoothing=0, norm="pre", tying="target"
)
WIDEST = 10
"""Sentences of at most this many words, which small models learn in a minute."""
VOCABULARY = 2000
"""The most frequent words of each side; other sentences are left out."""
ROWS = 48
OPTIMIZER = OptimizerSettings(kind="muon", rate=16e-3, warmup=100)


class Unmasked(Mixer):
    """A mixer that, reading a whole target at once, lets each position see all of it.

    Step by step there is nothing to see after the last token, so it is then the mixer it replaces.
    """

    def __init__(self, masked: Mixer) -> None:
        super().__init__(masked.position, masked.looks, masked.scaled)
        self.masked = masked
        self.uses_columns = masked.uses_columns

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        """As the mixer it replaces."""
        mixed: Tensor = self.masked(query, key, value, sequence)
        return mixed

    def start(self, like: Tensor) -> Cache:
        return self.masked.start(like)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        mixed, cache = self.masked.read(query, key, value, cache, tokens)
        if tokens.is_full_sequence:
            hidden = additive_mask(tokens.ids == 0)[:, None, None]
            mixed = attend(query, key, value, hidden, explicit=True)[0]
        return mixed, cache


def build(sizes: tuple[int, int], seed: int, masked: bool = True) -> EncoderDecoder:
    """A small Transformer, with the mask of its decoder or without."""
    torch.manual_seed(seed)
    model = CONFIG.build(*sizes)
    if not masked:
        for module in model.decoder.modules():
            if isinstance(module, SelfAttention):
                module.core = Unmasked(module.core)
    return model


def leak(model: EncoderDecoder, size: int, seed: int, length: int = 8) -> float:
    """The largest change of log p at a position when all tokens from that one on are replaced."""
    generator = torch.Generator().manual_seed(seed)
    source, target, other = (
        torch.randint(4, size, (1, length), generator=generator) for _ in range(3)
    )
    changes = []
    for position in range(1, length):
        changed = torch.cat([target[:, :position], other[:, position:]], dim=1)
        before, after = (
            model.eval().choices(Batch(_padded(source), _padded(each)))[:, : position + 1]
            for each in (target, changed)
        )
        changes.append(float((before - after).abs().max()))
    return max(changes)


def _padded(ids: Tensor) -> Padded:
    return Padded.of(ids.tolist())


@dataclass(frozen=True)
class Trained:
    """How a model without or with a mask has learned."""

    losses: list[float]  # per token, of each batch
    exact: float  # the percentage of test sentences that it translates exactly


@dataclass(frozen=True)
class Corpus:
    """Short sentences of frequent words, as rows of word ids."""

    train: list[tuple[Row, Row]]
    test: list[tuple[Row, Row]]
    sizes: tuple[int, int]
    """Words of the source and of the target."""

    @staticmethod
    def of(pairs: int) -> Corpus:
        drawn = grammar.generate(pairs)
        parts = [
            [(each.source, each.target) for each in part if len(each.target.split()) <= WIDEST]
            for part in (drawn.train, drawn.test)
        ]
        words = [frequent([pair[side] for pair in parts[0]]) for side in (0, 1)]

        def rows(examples: list[tuple[str, str]]) -> list[tuple[Row, Row]]:
            sides = [words[side].encode([pair[side] for pair in examples]) for side in (0, 1)]
            known = [
                each for each in zip(*sides, strict=True) if not any(UNKNOWN in ids for ids in each)
            ]
            return [(Row(source), Row(target)) for source, target in known]

        return Corpus(rows(parts[0]), rows(parts[1])[:200], (words[0].size, words[1].size))


def frequent(texts: list[str]) -> Words:
    counts = Counter(word for text in texts for word in text.split())
    return Words([word for word, _ in counts.most_common(VOCABULARY)])


def batch_of(pairs: list[tuple[Row, Row]]) -> Batch:
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    return Batch(Padded.of_rows(sources), Padded.of_rows(targets))


def train(corpus: Corpus, masked: bool, seed: int, steps: int) -> Trained:
    """Learn from random batches, then translate greedily, where no later word exists."""
    model = build(corpus.sizes, seed, masked).train()
    optimizer = OPTIMIZER.build(model, list(model.parameters()), Ranks())
    generator, losses, plan = random.Random(seed), [], Plan.of(steps)
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = OPTIMIZER.rate_at(step, plan.moment(step))
        loss = model(batch_of(generator.choices(corpus.train, k=ROWS)))
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
        losses.append(float(loss.nll.detach().sum()) / int(loss.tokens))
    found = model.eval().generate(batch_of(corpus.test).source, Beam(beam=1))
    right = [
        list(hypotheses[0].tokens) == list(target.ids)
        for hypotheses, (_, target) in zip(found, corpus.test, strict=True)
    ]
    return Trained(losses, 100 * sum(right) / len(right))


def printed_mask(length: int = 5) -> float:
    """The share of positions without a defined mean if each sees only earlier ones, j < i."""
    x = torch.randn(1, 1, length, 4)
    hidden = ~causal_mask(length, x.device).tril(-1)
    mixed, _ = attend(x, x, x, additive_mask(hidden), explicit=True)
    return float(mixed.isnan().any(dim=-1).float().mean())


def measure(laboratory: Laboratory) -> Finding:
    pairs, steps = laboratory.effort((20_000, 700), (2000, 12))
    corpus = Corpus.of(pairs)
    kinds = {"with the mask": True, "without": False}
    leaks = {
        name: mean([leak(build((50, 50), seed, hides), 50, seed) for seed in range(10)], "nats")
        for name, hides in kinds.items()
    }
    found: dict[str, list[Trained]] = {}
    for name, hides in kinds.items():
        laboratory.say(f"training {name}, {steps:,} steps")
        found[name] = [train(corpus, hides, seed, steps) for seed in laboratory.seeds]
    last = {
        name: [sum(each.losses[-10:]) / 10 for each in of_seeds] for name, of_seeds in found.items()
    }
    exact = {name: [each.exact for each in of_seeds] for name, of_seeds in found.items()}
    hidden, free = kinds
    undefined = printed_mask()
    return Finding(
        f"Without the mask the training loss falls to {mean(last[free]).value:.3f} nats per token "
        f"instead of {mean(last[hidden]).value:.3f}, and {mean(exact[free]).value:.1f} % of the "
        f"translations are right instead of {mean(exact[hidden]).value:.0f} %.",
        {
            **{f"leak, {name}": number for name, number in leaks.items()},
            **{f"training loss, {n}": mean(v, "nats per token") for n, v in last.items()},
            **{f"exact translations, {name}": mean(v, "%") for name, v in exact.items()},
            "positions that j < i leaves undefined": Number(100 * undefined, None, "%"),
        },
        (
            below("with the mask, later words change nothing", leaks[hidden], 1e-4),
            above("without it they do", leaks[free], 1e-2),
            below(
                "without it the training loss is lower", difference(last[free], last[hidden]), 0.0
            ),
            below(
                "and translations are worse", difference(exact[free], exact[hidden], "points"), 0.0
            ),
            Check(
                "the mask as it is printed, j < i, can be computed",
                f"{100 * undefined:.0f} % of the positions see nothing",
                undefined == 0,
            ),
        ),
        (_chart(found),),
    )


def _chart(found: dict[str, list[Trained]]) -> Lines:
    """The mean loss of the seeds, by step."""
    lines = {
        name: [
            (float(step), sum(each.losses[step] for each in of_seeds) / len(of_seeds))
            for step in range(0, len(of_seeds[0].losses), 5)
        ]
        for name, of_seeds in found.items()
    }
    return Lines("Training loss", "step", "nats per token", lines)


STUDY = Study(
    title="The mask of the decoder",
    claim="When all positions of a target are trained at once, a mask must keep each from seeing "
    "later words; otherwise the decoder reads the answer instead of predicting it.",
    formula="score_ij = q_i · k_j if j <= i, else -∞ (the notes print j < i)",
    method="Leak test: the tokens from a position on are replaced, and the log-probabilities up to "
    "that position are compared, in ten untrained Transformers with the mask and ten without. Then "
    "both learn short sentences of frequent words of the grammar for 700 steps and translate "
    "greedily. Finally, the mask is applied as the notes print it, j < i.",
    change="leak(model, size, seed) tests any encoder-decoder; the contract tests do the same for "
    "every family. train(corpus, False, 1, 2000) trains longer without the mask.",
    meaning="A training loss that falls to nearly zero within minutes, with nonsense as "
    "output, is a leak: test for it before you celebrate. Since the decoder's input is shifted by "
    "one, position i may see itself; with j < i the first position would see nothing at all, and "
    "its softmax would be undefined.",
    measure=measure,
)
