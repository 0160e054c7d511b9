"""Dependency trees as tensors: the depth of a position, and the distance between two of them.

Both read `Padded.annotations["tree"]` (B, T) and work on all rows and positions at once; the only
loop goes up the tree, one level at a time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.annotations import INSIDE_WORD


def tree_depths(heads: Tensor) -> Tensor:
    """(B, T): words on the path from a word up to its root, both included; 1 at a root."""
    return _lineage(heads).sum(dim=2).long()


def tree_distances(heads: Tensor) -> Tensor:
    """(B, T, T): edges between the words of two positions; 0 within a word.

    With A_ij = 1 if word j is word i or above it, depth_i = sum_j A_ij, and A A^T counts what two
    words have above them in common: distance_ij = depth_i + depth_j - 2 (A A^T)_ij. Words without
    anything in common meet in one root above all trees; EOS and padding are trees of their own.
    """
    lineage = _lineage(heads)
    depth = lineage.sum(dim=2)
    common = lineage @ lineage.transpose(1, 2)
    return (depth[:, :, None] + depth[:, None, :] - 2 * common).long()


def _lineage(heads: Tensor) -> Tensor:
    """(B, T, T): 1 where the second position is the first piece of a word that is the first
    position's own or above it, else 0."""
    rows, length = heads.shape
    positions = torch.arange(length, device=heads.device)
    first = torch.where(heads == INSIDE_WORD, 0, positions).cummax(dim=1).values  # of the word
    nowhere = heads.new_full((rows, 1), length)  # a column beyond the last, above every root
    above = torch.where(heads < 0, nowhere, first.gather(1, heads.clamp(min=0)))
    above = torch.cat([above, nowhere], dim=1)
    lineage = torch.zeros(rows, length, length + 1, device=heads.device)
    reached = first
    for _ in range(length):  # a tree is never deeper, and heads that are no tree end here too
        lineage.scatter_(2, reached[:, :, None], 1.0)
        reached = above.gather(1, reached)
        if bool((reached == length).all()):
            break
    return lineage[:, :, :length]
