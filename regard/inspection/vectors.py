"""The vectors of a model: the nearest neighbours of a token, and what is added for its place."""

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
    """The tokens whose vectors point where this one's points, nearest first, with the cosine."""

    piece: str
    near: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Places:
    """What a position does at each place: `table` (places, columns).

    entrance "add": the vector that is added to the token's. "turn": what becomes of a query or key
    whose first half is 1 and whose second half is 0. "bias": what is added to a score by distance,
    from that of the last place to the first up to the opposite, for each head, or where it depends
    on the query, for each of the query's columns.
    """

    entrance: Literal["add", "turn", "bias"]
    table: NDArray[np.float32]


@torch.inference_mode()
def neighbours(
    model: Model, part: Part, tokenizer: Tokenizer, ids: Iterable[int], count: int = 8
) -> tuple[Neighbours, ...]:
    """For each id once, in order, its nearest tokens of the same side."""
    table = _embedding(model, part)
    asked = [id for id in dict.fromkeys(ids) if id > UNKNOWN]
    if table is None or not asked:
        return ()
    directions = nn.functional.normalize(table[: tokenizer.size], dim=1)
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
    """The vectors (V, D) of a part's tokens; tied ones are one module under two names."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Embedding) and part in name.split("."):
            return module.weight
    return None


@torch.inference_mode()
def places(model: Model, part: Part, count: int, heads: int) -> Optional[Places]:
    """The first kind of position found in a part, at `count` places; None if there is none."""
    table = _embedding(model, part)
    for name, module in model.named_modules(remove_duplicate=False):
        if table is not None and isinstance(module, Position) and part in name.split("."):
            found = _picture(module, table.shape[1], count, heads)
            if found is not None:
                return found
    return None


def _picture(position: Position, width: int, count: int, heads: int) -> Optional[Places]:
    """What each entrance makes of the same vector at every place."""
    added = position.add(torch.zeros(1, count, width), 0)[0]  # (count, D)
    if bool(added.any()):
        return Places("add", added.numpy().copy())
    if heads == 0:
        return None
    half = width // heads // 2
    one_way = torch.cat([torch.ones(half), torch.zeros(half)]).expand(1, 1, count, -1)
    turned = position.rotate(one_way, 0)[0, 0]  # (count, K)
    if not torch.equal(turned, one_way[0, 0]):
        return Places("turn", turned.numpy().copy())
    return _bias(position, width // heads, count, heads)


def _bias(position: Position, head_width: int, count: int, heads: int) -> Optional[Places]:
    """By queries that are 1 in one column each, so that nothing of it is hidden by a sum."""
    distance = torch.arange(1 - count, count).expand(head_width, -1)  # (K, distances)
    queries = torch.eye(head_width).expand(1, heads, -1, -1)  # (1, H, K, K)
    bias = position.bias(queries, distance)
    if bias.dim() == 0:
        return None
    bias = bias.expand(1, heads, *distance.shape)[0]  # (H, K, distances)
    same = bool((bias == bias[:, :1]).all())
    table = bias[:, 0] if same else bias[0]
    return Places("bias", table.t().numpy().copy())
