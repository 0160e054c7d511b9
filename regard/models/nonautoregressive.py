"""The non-autoregressive Transformer (Gu et al. 2017, arXiv 1711.02281)."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Literal, Optional

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.config import MAX_LAYERS
from regard.data.annotations import Fertility, Kinds
from regard.data.batch import EOS, UNKNOWN, Batch, Padded
from regard.models.base import (
    DECODER_LAYERS,
    KIND,
    LAYERS,
    TYING,
    Encoder,
    Family,
    Model,
    refuse_steps,
)
from regard.models.example import random_batch
from regard.models.fertilities import best_fertilities, copied_positions
from regard.models.transformer import TransformerEncoder
from regard.nn.attention import additive_mask
from regard.nn.blocks import BlockConfig, ParallelLayer, Placement
from regard.nn.embedding import Tying, share_embeddings
from regard.nn.linear import linear
from regard.nn.mixers import MixerKind, check_mixers, in_turn
from regard.nn.mixers.context import FullSequence
from regard.nn.modules import Modules
from regard.nn.output import Loss, Output, Projection
from regard.nn.state import Encoded, State
from regard.search.base import Hypothesis, Search

NO_STATE: State = State((), ())


class NonAutoregressiveConfig(BlockConfig, Family):
    """The encoder is that of a Transformer with the same settings, whose weights fit it."""

    kind: Literal["nonautoregressive"] = Field(default="nonautoregressive", description=KIND)
    layers: int = Field(default=4, ge=1, le=MAX_LAYERS, description=LAYERS)
    decoder_layers: Optional[int] = Field(
        default=None, ge=1, le=MAX_LAYERS, description=DECODER_LAYERS
    )
    mixers: tuple[MixerKind, ...] = Field(
        default=("full",), min_length=1, description="Mixers, repeated over the encoder's layers."
    )
    norm: Placement = Field(
        default="post", description="Normalise before each sub-layer (pre) or after it (post)."
    )
    tying: Tying = Field(default="all", description=TYING)
    smoothing: float = Field(default=0.1, ge=0, lt=1, description="Label smoothing.")
    max_fertility: int = Field(
        default=8,
        ge=1,
        le=100,
        description="Maximum number of target tokens from one source token.",
    )
    fertility_weight: float = Field(
        default=1.0,
        le=1_000,
        gt=0,
        description="Weight of the fertilities' loss; the tokens' loss has 1.",
    )
    remove_repeats: bool = Field(
        default=False, description="Remove immediate repetitions of a token."
    )

    @model_validator(mode="after")
    def _fits(self) -> NonAutoregressiveConfig:
        if self.position == "syntax":
            raise ValueError("a non-autoregressive model reads no trees: choose another position")
        self.check_width()
        check_mixers(self.mixers, self.layers, self.position, causal=False)
        return self

    @property
    def annotations(self) -> Kinds:
        return (Fertility(),)

    @property
    def length_limit(self) -> Optional[int]:
        limited = self.position == "learned" or "linformer" in self.mixers
        return self.max_length if limited else None

    @property
    def signature(self) -> str:
        return "repeats:removed" if self.remove_repeats else ""

    def build(self, source_size: int, target_size: int) -> NonAutoregressive:
        tokens, _, weight = share_embeddings(source_size, target_size, self.width, self.tying)
        layers = self.decoder_layers or self.layers
        return NonAutoregressive(
            self,
            TransformerEncoder(self, in_turn(self.mixers, self.layers), tokens),
            ParallelDecoder(self, layers, tokens),
            Projection(weight, self.smoothing, target_size),
        )

    @classmethod
    def miniatures(cls) -> list[NonAutoregressiveConfig]:
        small = cls(layers=2, width=16, inner=24, heads=2, dropout=0.0)
        changes: list[dict[str, Any]] = [
            {},
            {"norm": "pre", "position": "shaw", "max_distance": 2, "tying": "none"},
            {"position": "learned", "max_length": 40, "decoder_layers": 1, "tying": "target"},
            {"norm": "pre", "position": "rotary", "remove_repeats": True, "max_fertility": 5},
        ]
        return [small.changed(**change) for change in changes]

    def example(self, rows: int, seed: int) -> Batch:
        """With fertilities that add up to the length of each target, spread over all pieces."""
        batch = random_batch(rows, seed, True, self.annotations)
        values = torch.full_like(batch.source.values, Fertility.fill)
        sizes = zip(batch.source.lengths - 1, batch.target.lengths - 1, strict=True)
        for row, (pieces, tokens) in zip(values, sizes, strict=True):
            origins = torch.arange(int(tokens)) * pieces // tokens
            row[: int(pieces)] = torch.bincount(origins, minlength=int(pieces))
        source = Padded(batch.source.values, batch.source.lengths, {Fertility.name: values})
        return Batch(source, batch.target)


class ParallelDecoder(nn.Module):
    """Reads copies of the source tokens, as many of each as its fertility says, all at once.

    Sinusoids are added to the copies whatever the kind of position, so that attention to the source
    knows where it is in the target; kinds that compare positions also do so within the target.
    """

    def __init__(self, config: BlockConfig, layers: int, tokens: nn.Embedding) -> None:
        super().__init__()
        self.embedding = config.changed(position="sinusoidal").embedding(tokens)
        self.layers = Modules(ParallelLayer(config, number) for number in range(layers))
        self.norm = config.last_norm()

    def forward(self, copies: Tensor, real: Tensor, encoded: Encoded) -> Tensor:
        """copies (B, T) of source tokens, real (B, T) false at padding, to hidden (B, T, D)."""
        x, target = self.embedding(copies), FullSequence(real, blind=True)
        mask = additive_mask(~encoded.mask)[:, None, None]
        for layer in self.layers:
            x = layer(x, target, encoded.output, mask)
        hidden: Tensor = self.norm(x, target)
        return hidden


class NonAutoregressive(Model):
    """p(y, z | x) = product over s of p(z_s | x) times product over t of p(y_t | z, x).

    The fertilities z say how many target tokens come from each source token, so they decide the
    length, and log p(z | x) is given to EOS. For a target without known fertilities they are the
    most probable ones that add up to its length.
    """

    reads_target = False

    def __init__(
        self,
        config: NonAutoregressiveConfig,
        encoder: Encoder,
        decoder: ParallelDecoder,
        output: Output,
    ) -> None:
        super().__init__()
        self.length_limit = config.length_limit
        self.max_fertility = config.max_fertility
        self.fertility_weight = config.fertility_weight
        self.remove_repeats = config.remove_repeats
        self.encoder = encoder
        self.fertility = linear(config.width, config.max_fertility + 1)
        self.parallel_decoder = decoder
        self.output = output

    def forward(self, batch: Batch) -> Loss:
        encoded, logs = self._read(batch.source)
        fertilities = self._fertilities(batch, logs)
        target, last = batch.target, batch.target.lengths - 1
        tokens = torch.arange(target.values.shape[1], device=last.device) < last[:, None]
        hidden = self._decode(batch.source, fertilities, encoded, target.values.shape[1])
        loss = self.output.loss(hidden, NO_STATE, target.values, tokens)
        ends = -_chosen(logs.float(), fertilities, batch.source)
        nll = hidden.new_zeros(tokens.shape)
        nll[tokens] = loss.nll
        nll[torch.arange(len(last)), last] = ends.detach()
        total = loss.total + self.fertility_weight * ends.sum()
        return Loss(total, nll[target.mask], batch.tokens)

    def _read(self, source: Padded) -> tuple[Encoded, Tensor]:
        """The encoded source, and log p of each fertility (B, S, 1 + max_fertility)."""
        encoded: Encoded = self.encoder(source)
        return encoded, self.fertility(encoded.output).log_softmax(dim=-1)

    def _decode(self, source: Padded, fertilities: Tensor, encoded: Encoded, length: int) -> Tensor:
        """Hidden (B, T, D) of all target positions."""
        origins = copied_positions(fertilities, length)
        real = torch.arange(length, device=origins.device) < fertilities.sum(dim=1)[:, None]
        hidden: Tensor = self.parallel_decoder(source.values.gather(1, origins), real, encoded)
        return hidden

    def _fertilities(self, batch: Batch, logs: Tensor) -> Tensor:
        """(B, S), which add up to the length of each target: those given, if they are possible."""
        source, totals = batch.source, batch.target.lengths - 1
        found = source.annotations.get(Fertility.name)
        if found is None:
            return self._probable(source, logs, totals)
        found = found.masked_fill(~source.mask, 0)
        possible = (found >= 0).all(dim=1) & (found <= self.max_fertility).all(dim=1)
        known = possible & (found.sum(dim=1) == totals + 1)
        if bool(known.all()):
            return found
        return torch.where(known[:, None], found, self._probable(source, logs, totals))

    def _probable(self, source: Padded, logs: Tensor, totals: Tensor) -> Tensor:
        """The most probable fertilities (B, S) with these sums (B,), and 1 at EOS.

        What is more than the largest fertilities allow is copied from EOS.
        """
        pieces = source.lengths - 1
        allowed = totals.minimum(pieces * self.max_fertility)
        found = best_fertilities(logs.detach(), pieces, allowed)
        return found.scatter_add(1, pieces[:, None], (1 + totals - allowed)[:, None])

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Tensor:
        encoded, logs = self._read(batch.source)
        return self._score(batch, self._fertilities(batch, logs), encoded, logs)

    def _score(self, batch: Batch, fertilities: Tensor, encoded: Encoded, logs: Tensor) -> Tensor:
        """log p (B, T) of the target tokens; at EOS that of the fertilities."""
        target = batch.target
        hidden = self._decode(batch.source, fertilities, encoded, target.values.shape[1])
        every = self.output.scores(hidden, NO_STATE).log_softmax(dim=-1)
        chosen = every.gather(2, target.values[:, :, None])[:, :, 0]
        ends = _chosen(logs, fertilities, batch.source)
        chosen[torch.arange(len(ends)), target.lengths - 1] = ends
        return chosen.masked_fill(~target.mask, 0.0)

    @torch.inference_mode()
    def choices(self, batch: Batch) -> Tensor:
        """At the end, EOS has the probability of the fertilities; all other tokens share the rest,
        which is that of other fertilities."""
        encoded, logs = self._read(batch.source)
        fertilities = self._fertilities(batch, logs)
        hidden = self._decode(batch.source, fertilities, encoded, batch.target.values.shape[1])
        every = self.output.scores(hidden, NO_STATE).log_softmax(dim=-1)
        ends = _chosen(logs, fertilities, batch.source)
        rest = torch.log1p(-ends.exp().clamp(max=1 - 1e-6)) - math.log(every.shape[-1] - 1)
        last = rest[:, None].repeat(1, every.shape[-1])
        last[:, EOS] = ends
        every[torch.arange(len(ends)), batch.target.lengths - 1] = last
        return every

    @torch.inference_mode()
    def source_values(self, batch: Batch) -> Mapping[str, Tensor]:
        _, logs = self._read(batch.source)
        return {Fertility.name: self._fertilities(batch, logs)}

    @torch.inference_mode()
    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        """One target for each of several fertilities: the most probable, the mean, and draws, which
        depend on the source alone (noisy parallel decoding)."""
        refuse_steps(search, prefix, "all of a line")
        encoded, logs = self._read(source)
        limits = search.limits(source.lengths) if limits is None else limits
        found: list[list[Hypothesis]] = [[] for _ in limits]
        for fertilities in self._candidates(source, logs, limits, search.candidates):
            tokens = self._write(source, fertilities, encoded)
            totals = [math.nan] * len(tokens)
            if search.gives_probabilities:
                totals = self._total(source, tokens, encoded, logs)
            for hypotheses, row, total in zip(found, tokens, totals, strict=True):
                score = total / (len(row) + 1) ** search.length_exponent
                hypotheses.append(Hypothesis(tuple(row), score, total))
        return [sorted(some, key=lambda each: -each.score)[: search.best] for some in found]

    def _write(self, source: Padded, fertilities: Tensor, encoded: Encoded) -> list[list[int]]:
        """The most probable token at each position, without EOS."""
        lengths = fertilities.sum(dim=1) - 1
        hidden = self._decode(source, fertilities, encoded, int(lengths.max()) + 1)
        scores = self.output.scores(hidden, NO_STATE)
        best = (scores[:, :, UNKNOWN + 1 :].argmax(dim=-1) + UNKNOWN + 1).tolist()
        rows = [row[:length] for row, length in zip(best, lengths.tolist(), strict=True)]
        if self.remove_repeats:
            rows = [[token for token, _ in groupby(row)] for row in rows]
        return rows

    def _total(
        self, source: Padded, tokens: list[list[int]], encoded: Encoded, logs: Tensor
    ) -> list[float]:
        """log p of each target, with its most probable fertilities: drawn ones may differ."""
        target = Padded.of([[*row, EOS] for row in tokens]).to(logs.device)
        best = self._probable(source, logs, target.lengths - 1)
        return self._score(Batch(source, target), best, encoded, logs).sum(dim=1).tolist()

    def _candidates(self, source: Padded, logs: Tensor, limits: Tensor, count: int) -> list[Tensor]:
        """Fertilities (B, S), `count` times, within the limits; at least one token if possible."""
        found = [logs.argmax(dim=-1)]
        if count > 1:
            values = torch.arange(logs.shape[-1], device=logs.device)
            found.append((logs.exp() @ values.to(logs)).round().long())
        if count > 2:
            found += _draws(source, logs, count - 2)
        pieces = source.lengths - 1
        columns = torch.arange(source.values.shape[1], device=logs.device)
        before_end, end = columns < pieces[:, None], columns == pieces[:, None]
        candidates = []
        for each in found:
            fertilities = each.masked_fill(~before_end, 0)
            totals = fertilities.sum(dim=1)
            wanted = totals.clamp(min=1).minimum(limits - 1).minimum(pieces * self.max_fertility)
            if bool((wanted != totals).any()):
                others = best_fertilities(logs, pieces, wanted)
                fertilities = torch.where((wanted == totals)[:, None], fertilities, others)
            candidates.append(fertilities + end)
        return candidates


def _draws(source: Padded, logs: Tensor, count: int) -> list[Tensor]:
    """`count` draws (B, S) of fertilities, by a seed that follows from the tokens of each row."""
    rows = torch.zeros(count, *source.values.shape, dtype=torch.long)
    for index, length in enumerate(source.lengths.tolist()):
        seed = zlib.crc32(repr(source.values[index, :length].tolist()).encode())
        generator = torch.Generator().manual_seed(seed)
        probabilities = logs[index, :length].exp().cpu()
        drawn = torch.multinomial(probabilities, count, replacement=True, generator=generator)
        rows[:, index, :length] = drawn.t()
    return list(rows.to(logs.device))


def _chosen(logs: Tensor, fertilities: Tensor, source: Padded) -> Tensor:
    """log p (B,) of fertilities, without that at EOS, which is certain."""
    chosen = logs.gather(2, fertilities.clamp(max=logs.shape[-1] - 1)[:, :, None])[:, :, 0]
    columns = torch.arange(logs.shape[1], device=logs.device)
    return chosen.masked_fill(columns >= source.lengths[:, None] - 1, 0.0).sum(dim=1)
