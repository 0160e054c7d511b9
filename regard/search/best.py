"""The best continuations out of a whole vocabulary, found without sorting through it.

The highest score of each block of tokens is looked for first: the best tokens can only be in the
best blocks.
"""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import EOS
from regard.search.base import rule_out

BLOCK = 64
FIRST = EOS + 1
"""Nothing before it can go on with a target, so blocks begin here."""

IN_BLOCK = torch.arange(BLOCK)


def look_over(scores: Tensor, only: Optional[Tensor], scored: bool) -> tuple[Tensor, Tensor]:
    """scores (R, V) without what may not follow, see `rule_out`, as log-probabilities if they are
    to be told; and the highest of each block (R, blocks)."""
    if scored:
        scores = scores.log_softmax(dim=1)
    rule_out(scores, only)
    return scores, _tops(scores)


def _tops(scores: Tensor) -> Tensor:
    """The highest score of each block; the last block may be shorter."""
    rows, blocks = len(scores), (scores.shape[1] - FIRST) // BLOCK
    rest = FIRST + blocks * BLOCK
    tops = scores[:, FIRST:rest].view(rows, blocks, BLOCK).amax(dim=2)
    if rest == scores.shape[1]:
        return tops
    return torch.cat([tops, scores[:, rest:].amax(dim=1, keepdim=True)], dim=1)


def best_continuations(
    scores: Tensor, tops: Tensor, before: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The best ways in which the hypotheses of each sentence go on, (B, count) each: the totals,
    highest first, the hypotheses, and their new tokens.

    A total is a score (B x copies, V) and what is known from before (B, copies). Where there are
    fewer ways than asked for, hopeless ones fill up.
    """
    sentences, copies = before.shape
    choices, blocks = scores.shape[1], tops.shape[1]
    highest = (tops.view(sentences, copies, blocks) + before[:, :, None]).flatten(1)
    best = highest.topk(min(count, highest.shape[1]), dim=1).indices  # (B, best)
    hypothesis, block = best // blocks, best % blocks
    tokens = (FIRST + block * BLOCK)[:, :, None] + IN_BLOCK  # (B, best, BLOCK)
    beyond, tokens = tokens >= choices, tokens.clamp(max=choices - 1)
    row = hypothesis + first_rows(sentences, copies)
    inside = torch.take(scores, row[:, :, None] * choices + tokens)
    inside = (inside + before.gather(1, hypothesis)[:, :, None]).masked_fill_(beyond, -math.inf)
    ways = inside.flatten(1)
    missing = count - ways.shape[1]
    if missing > 0:
        ways = functional.pad(ways, (0, missing), value=-math.inf)
    totals, found = ways.topk(count)
    if missing > 0:
        found = found.clamp(max=ways.shape[1] - missing - 1)
    return totals, hypothesis.gather(1, found // BLOCK), tokens.flatten(1).gather(1, found)


def first_rows(sentences: int, copies: int) -> Tensor:
    """The row of each sentence's first hypothesis, (B, 1)."""
    return torch.arange(0, sentences * copies, copies)[:, None]
