"""The vectors of a model: the nearest neighbours of a token, and the effect of its positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batch import UNKNOWN
from regard.data.tokenizer import Tokenizer
from regard.models.base import Model
from regard.nn.position import Position

Part = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Neighbours:
    """The tokens whose vectors are closest to this one's by cosine, nearest first."""

    piece: str
    near: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PositionTable:
    """What a kind of position does at each position: `table` (positions, columns).

    "add": the vector added to the token's. "rotate": the result of rotating a query or key whose
    first half is 1 and whose second half is 0. "bias": what is added to a score, by distance from
    the most negative to the most positive, for each head or, where it depends on the query, for
    each of the query's columns.
    """

    entrance: Literal["add", "rotate", "bias"]
    table: NDArray[np.float32]


@torch.inference_mode()
def neighbours(
    model: Model, part: Part, tokenizer: Tokenizer, ids: Iterable[int], count: int = 8
) -> tuple[Neighbours, ...]:
    """The nearest tokens of the same side for each distinct id, in order."""
    table = _embedding(model, part)
    asked = [id for id in dict.fromkeys(ids) if id > UNKNOWN]
    if table is None or not asked:
        return ()
    directions = nn.functional.normalize(table[: tokenizer.size].cpu(), dim=1)
    cosines = directions[asked] @ directions.t()  # (asked, V)
    cosines[:, : UNKNOWN + 1] = -1.0
    cosines[torch.arange(len(asked)), torch.tensor(asked)] = -1.0
    best = cosines.topk(min(count, len(directions)), dim=1)
    return tuple(
        Neighbours(piece, tuple(zip(tokenizer.pieces(near), values, strict=True)))
        for piece, near, values in zip(
            tokenizer.pieces(asked), best.indices.tolist(), best.values.tolist(), strict=True
        )
    )


def _embedding(model: Model, part: Part) -> Optional[Tensor]:
    """The vectors (V, D) of a part's tokens; tied embeddings are one module with two names."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Embedding) and part in name.split("."):
            return module.weight
    return None


@torch.inference_mode()
def position_table(model: Model, part: Part, count: int, heads: int) -> Optional[PositionTable]:
    """The first kind of position found in a part, at `count` positions; None if there is none."""
    table = _embedding(model, part)
    for name, module in model.named_modules(remove_duplicate=False):
        if table is not None and isinstance(module, Position) and part in name.split("."):
            found = _table(module, table[:0], count, heads)
            if found is not None:
                return found
    return None


def _table(position: Position, like: Tensor, count: int, heads: int) -> Optional[PositionTable]:
    """What each entrance makes of the same vector at every position; `like` (0, D) has its width
    and its device."""
    width = like.shape[1]
    added = position.add(like.new_zeros(1, count, width), 0)[0]  # (count, D)
    if bool(added.any()):
        return PositionTable("add", added.cpu().numpy().copy())
    if heads == 0:
        return None
    half = width // heads // 2
    one_way = torch.cat([like.new_ones(half), like.new_zeros(half)]).expand(1, 1, count, -1)
    rotated = position.rotate(one_way, 0)[0, 0]  # (count, K)
    if not torch.equal(rotated, one_way[0, 0]):
        return PositionTable("rotate", rotated.cpu().numpy().copy())
    return _bias(position, like.new_zeros(0, width // heads), count, heads)


def _bias(position: Position, like: Tensor, count: int, heads: int) -> Optional[PositionTable]:
    """Asked with one-hot queries (K, K), so that no column is hidden in a sum."""
    head_width, device = like.shape[1], like.device
    distance = torch.arange(1 - count, count, device=device).expand(
        head_width, -1
    )  # (K, distances)
    queries = torch.eye(head_width, device=device).expand(1, heads, -1, -1)  # (1, H, K, K)
    bias = position.bias(queries, distance)
    if bias.dim() == 0:
        return None
    bias = bias.expand(1, heads, *distance.shape)[0]  # (H, K, distances)
    same = bool((bias == bias[:, :1]).all())
    table = bias[:, 0] if same else bias[0]
    return PositionTable("bias", table.t().cpu().numpy().copy())
