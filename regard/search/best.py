"""The best continuations out of a whole vocabulary, found without sorting all of it.

The highest score of each block of tokens is found first: the best tokens can only be in the best
blocks.
"""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.data.batch import EOS
from regard.search.base import Visits, rule_out

BLOCK = 64
FIRST = EOS + 1
"""No token before this one can continue a target, so blocks start here."""


def prepare_scores(
    scores: Tensor,
    forced: Optional[Tensor],
    normalised: bool,
    written: Tensor,
    visits: Visits = "any",
) -> tuple[Tensor, Tensor]:
    """Scores (R, V) with -inf for what may not follow what was written (R, length) (see
    `rule_out`), as log-probabilities if they are to be normalised; and the highest score of each
    block (R, blocks)."""
    if normalised:
        scores = scores.log_softmax(dim=1)
    rule_out(scores, forced, written, visits)
    return scores, _block_maxima(scores)


def _block_maxima(scores: Tensor) -> Tensor:
    """The highest score of each block; the last block may be shorter."""
    rows, blocks = len(scores), (scores.shape[1] - FIRST) // BLOCK
    rest = FIRST + blocks * BLOCK
    maxima = scores[:, FIRST:rest].view(rows, blocks, BLOCK).amax(dim=2)
    if rest == scores.shape[1]:
        return maxima
    return torch.cat([maxima, scores[:, rest:].amax(dim=1, keepdim=True)], dim=1)


def best_continuations(
    scores: Tensor, maxima: Tensor, before: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations of each sentence's hypotheses, (B, count) each: the totals, highest
    first, the index of the hypothesis, and its new token.

    A total is a score (B x copies, V) plus the hypothesis's total so far (B, copies). If there are
    fewer continuations than `count`, the rest have a total of -inf.
    """
    sentences, copies = before.shape
    choices, blocks = scores.shape[1], maxima.shape[1]
    highest = (maxima.view(sentences, copies, blocks) + before[:, :, None]).flatten(1)
    best = highest.topk(min(count, highest.shape[1]), dim=1).indices  # (B, best)
    hypothesis, block = best // blocks, best % blocks
    in_block = torch.arange(BLOCK, device=scores.device)
    tokens = (FIRST + block * BLOCK)[:, :, None] + in_block  # (B, best, BLOCK)
    beyond, tokens = tokens >= choices, tokens.clamp(max=choices - 1)
    row = hypothesis + first_rows(before)
    inside = torch.take(scores, row[:, :, None] * choices + tokens)
    inside = (inside + before.gather(1, hypothesis)[:, :, None]).masked_fill_(beyond, -math.inf)
    candidates = inside.flatten(1)
    missing = count - candidates.shape[1]
    if missing > 0:
        candidates = functional.pad(candidates, (0, missing), value=-math.inf)
    totals, found = candidates.topk(count)
    if missing > 0:
        found = found.clamp(max=candidates.shape[1] - missing - 1)
    return totals, hypothesis.gather(1, found // BLOCK), tokens.flatten(1).gather(1, found)


def first_rows(totals: Tensor) -> Tensor:
    """The row of each sentence's first hypothesis, (B, 1), given their totals (B, copies)."""
    sentences, copies = totals.shape
    return torch.arange(0, sentences * copies, copies, device=totals.device)[:, None]
