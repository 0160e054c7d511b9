"""An output that generates a token or copies one of the source."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional, cast

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import PAD, Padded
from regard.nn.fast.mixture import chunked_mixture_loss
from regard.nn.linear import linear
from regard.nn.output import Loss, Output, Projection, shallow_copy
from regard.nn.probe import Watched
from regard.nn.state import Encoded, State

NEVER = -1e30
"""A log-probability of nothing whose gradient is not NaN, as that of -inf would be."""


class CopySource(NamedTuple):
    """What can be copied: the keys (B, S, D) of the source, the choice (B, S) that each position
    is, and the mask (B, S) that is added to scores to hide padding and what is not a choice."""

    keys: Tensor
    choices: Tensor
    mask: Tensor


class CopyAttention(Watched):
    """To a probe it gives what is copied from each position, (1 - g) a_j: a row sums to the
    probability that its token is copied at all."""

    normalised = False


class Copying(Output):
    """p(y) = g softmax(W h)_y + (1 - g) sum of a_j over the source positions j with x_j = y
    (See et al. 2017, arXiv 1704.04368; Gu et al. 2016, arXiv 1603.06393).

    g = sigmoid(v^T h + b), and a = softmax(q^T k_j / sqrt(D)), an attention of its own from the
    hidden vector to the encoder's output: it serves any decoder, with or without attention. Label
    smoothing is that of the generator, softmax(W h). Source and target have the same ids.
    """

    def __init__(self, generator: Projection, width: int, encoded_width: int) -> None:
        super().__init__()
        self.generator = generator
        self.query = linear(width, width)
        self.key = linear(encoded_width, width, bias=False)
        self.gate = linear(width, 1)
        self.attention = CopyAttention(("target", "copied"))
        self.choices: Optional[Tensor] = None  # (N,) sorted ids, if only these can be written

    def prepare(self, encoded: Encoded, source: Padded) -> CopySource:
        """An encoder may return more positions than the source has, or fewer of its padding."""
        ids = source.values[:, : encoded.output.shape[1]]
        keys = self.key(encoded.output[:, : ids.shape[1]])
        if self.choices is None:
            choices, known = ids, ids < self.generator.size
        else:
            choices = torch.searchsorted(self.choices, ids).clamp(max=len(self.choices) - 1)
            known = self.choices[choices] == ids
        hidden = ~(known & source.mask[:, : ids.shape[1]])
        mask = torch.zeros(ids.shape, device=ids.device).masked_fill_(hidden, NEVER)
        return CopySource(keys, choices.masked_fill(hidden, PAD), mask)

    def scores(self, hidden: Tensor, state: State) -> Tensor:
        generate, copy = self._gated(hidden, state)
        logs = self.generator.scores(hidden, state).float().log_softmax(dim=-1)
        source = cast(CopySource, state.candidates)
        by_sentence = copy.exp().view(len(source.keys), -1, copy.shape[-1])  # (B, copies x T, S)
        copied = by_sentence.new_zeros(*by_sentence.shape[:2], logs.shape[-1])
        copied.scatter_add_(2, source.choices[:, None].expand_as(by_sentence), by_sentence)
        return torch.logaddexp(generate[:, :, None] + logs, copied.log().view_as(logs))

    def loss(self, hidden: Tensor, state: State, target: Tensor, mask: Tensor) -> Loss:
        """p(y) needs no more of the copies than those of y, so not all scores are made."""
        smoothing = self.generator.smoothing if self.training else 0.0
        generate, copy = self._gated(hidden, state)
        source = cast(CopySource, state.candidates)
        same = source.choices[:, None] == target[:, :, None]  # (B, T, S)
        copied = copy.masked_fill(~same, NEVER).logsumexp(dim=-1)
        hidden, target = hidden[mask], target[mask]  # (N, D), (N,)
        total, nll = chunked_mixture_loss(
            hidden, self.generator.rows, target, smoothing, generate[mask], copied[mask]
        )
        return Loss(total, nll, len(target))

    def _gated(self, hidden: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """Of hidden (R, T, D): log g (R, T), and the log of (1 - g) a (R, T, S)."""
        keys, _, mask = cast(CopySource, state.candidates)
        rows, length, width = hidden.shape
        query = self.query(hidden).view(len(keys), -1, width)  # (B, copies x T, D)
        scores = (query @ keys.transpose(1, 2)).float() / math.sqrt(width) + mask[:, None]
        gate = self.gate(hidden).float()  # (R, T, 1)
        logs = scores.log_softmax(dim=-1).view(rows, length, keys.shape[1])
        copy = functional.logsigmoid(-gate) + logs
        self.attention.record_weights(copy.exp()[:, None])
        return functional.logsigmoid(gate)[:, :, 0], copy

    def narrow(self, choices: Tensor) -> Copying:
        narrowed = self._with(self.generator.narrow(choices))
        narrowed.choices = choices
        return narrowed

    def for_search(self) -> Copying:
        return self._with(self.generator.for_search())

    def quantized(self) -> Copying:
        return self._with(self.generator.quantized())

    def _with(self, generator: Projection) -> Copying:
        made = shallow_copy(self)
        made.generator = generator
        return made
