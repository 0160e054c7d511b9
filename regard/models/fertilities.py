"""Fertilities: how many target tokens come from each source token."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def best_fertilities(logs: Tensor, pieces: Tensor, totals: Tensor) -> Tensor:
    """The most probable fertilities (B, S) of the first `pieces` (B,) tokens of each row that add
    up to `totals` (B,); all others are 0. logs (B, S, C) are log p of the fertilities 0 .. C - 1.

    Dynamic programming over tokens and sums, exact: best[t] of the tokens so far is the largest
    best[t - k] + log p(k). A total may be at most C - 1 times the tokens.
    """
    rows, length, classes = logs.shape
    columns = torch.arange(length, device=logs.device)
    none = torch.full_like(logs[0, 0], -math.inf)
    none[0] = 0.0
    logs = torch.where((columns < pieces[:, None])[:, :, None], logs, none)
    best = torch.full((rows, int(totals.max()) + 1), -math.inf, device=logs.device)
    best[:, 0] = 0.0
    chosen = []
    for each in logs.unbind(1):  # (B, C)
        before = functional.pad(best, (classes - 1, 0), value=-math.inf)
        reached = before.unfold(1, classes, 1) + each.flip(1)[:, None]  # (B, sums, C), C - 1 first
        best, index = reached.max(dim=2)
        chosen.append(classes - 1 - index)
    found = torch.zeros(rows, length, dtype=torch.long, device=logs.device)
    left = totals.clone()
    for column in reversed(range(length)):
        found[:, column] = chosen[column].gather(1, left[:, None])[:, 0]
        left -= found[:, column]
    return found


def copied_positions(fertilities: Tensor, length: int) -> Tensor:
    """The source position (B, T) that each of `length` target positions is copied from; after the
    sum of the fertilities (B, S), the last."""
    ends = fertilities.cumsum(dim=1)
    positions = torch.arange(length, device=ends.device).expand(len(ends), -1).contiguous()
    found = torch.searchsorted(ends, positions, right=True)
    return found.clamp(max=fertilities.shape[1] - 1)
