"""Models that write all of their target in one pass: tags, labels and answers."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import EOS, UNKNOWN, Batch, Padded
from regard.metrics.table import Writes
from regard.models.base import Encoder, Model, refuse_steps
from regard.nn.output import Loss, Output
from regard.nn.state import Encoded, State
from regard.search.base import Hypothesis, Search


class Labeller(Model):
    """An encoder whose positions are those of the target: p(y | x) = product over t of p(y_t | x).

    How many there are follows from the source, so EOS comes after them with probability 1.
    """

    reads_target = False

    def __init__(
        self,
        encoder: Encoder,
        output: Output,
        writes: Writes,
        length_limit: Optional[int] = None,
    ) -> None:
        super().__init__()
        self.writes = writes
        self.length_limit = length_limit
        self.encoder = encoder
        self.output = output

    def read(self, source: Padded) -> tuple[Encoded, State]:
        """The encoded source, (B, P, D) with P target positions, and what the output keeps of
        it."""
        encoded: Encoded = self.encoder(source)
        return encoded, State((), (), candidates=self.output.prepare(encoded, source))

    def forward(self, batch: Batch) -> Loss:
        encoded, state = self.read(batch.source)
        target = batch.target
        length = target.values.shape[1]
        labels = _fit(encoded.mask, length) & target.mask & (target.values != EOS)
        loss = self.output.loss(_fit(encoded.output, length), state, target.values, labels)
        every = loss.nll.new_zeros(labels.shape)
        every[labels] = loss.nll
        every = every[target.mask]
        return Loss(loss.total, every, len(every))

    @torch.inference_mode()
    def log_probabilities(self, batch: Batch) -> Tensor:
        chosen = self.choices(batch).gather(2, batch.target.values[:, :, None])[:, :, 0]
        return chosen.masked_fill(~batch.target.mask, 0.0)

    @torch.inference_mode()
    def choices(self, batch: Batch) -> Tensor:
        """After the last label, EOS is certain."""
        logs, mask = self._logs(batch.source)
        length = batch.target.values.shape[1]
        ended = torch.full_like(logs[0, 0], -torch.inf)
        ended[EOS] = 0.0
        return torch.where(_fit(mask, length)[:, :, None], _fit(logs, length), ended)

    def _logs(self, source: Padded) -> tuple[Tensor, Tensor]:
        """log p of every label (B, P, V), and which positions are real (B, P)."""
        encoded, state = self.read(source)
        return self.output.scores(encoded.output, state).log_softmax(dim=-1), encoded.mask

    @torch.inference_mode()
    def generate(
        self,
        source: Padded,
        search: Search,
        prefix: Optional[Padded] = None,
        limits: Optional[Tensor] = None,
    ) -> list[list[Hypothesis]]:
        """The exact best targets, since the positions do not depend on each other."""
        refuse_steps(search, prefix, f"its {self.writes}")
        logs, mask = self._logs(source)
        counts = mask.sum(dim=1)
        if limits is not None:
            counts = counts.minimum(limits - 1)
        return [
            _best(row[: int(count)], search.best) for row, count in zip(logs, counts, strict=True)
        ]


def _fit(x: Tensor, length: int) -> Tensor:
    """x (B, P, ...) with as many positions as asked for: zeros are added, or the last left out."""
    missing = length - x.shape[1]
    return (
        functional.pad(x, (0, 0) * (x.dim() - 2) + (0, missing)) if missing > 0 else x[:, :length]
    )


def _best(logs: Tensor, count: int) -> list[Hypothesis]:
    """The most probable targets by log p (P, V), best first; there may be fewer of them.

    Each position adds its best labels to the best of all combinations before it.
    """
    labels = UNKNOWN + 1
    values, ids = logs[:, labels:].topk(min(count, logs.shape[1] - labels), dim=1)
    totals, tokens = logs.new_zeros(1), logs.new_zeros(1, 0, dtype=torch.long)
    for value, id in zip(values, ids + labels, strict=True):
        every = (totals[:, None] + value).flatten()
        totals, chosen = every.topk(min(count, len(every)))
        tokens = torch.cat([tokens[chosen // len(id)], id[chosen % len(id)][:, None]], dim=1)
    return [
        Hypothesis(tuple(row), total, total)
        for row, total in zip(tokens.tolist(), totals.tolist(), strict=True)
    ]
