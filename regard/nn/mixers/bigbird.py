"""BigBird: a window, a few global positions that see all and are seen by all, and some random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import torch
from torch import Tensor
from torch.nn import functional

from regard.nn.attention import additive_mask
from regard.nn.mixers.base import Cache, Looks, SoftmaxMixer
from regard.nn.mixers.context import FullSequence, NextTokens
from regard.nn.mixers.full import first_columns, more_columns, no_columns
from regard.nn.position import Position

DRAWS = 1009
"""Rows of random numbers; the draw of a block does not depend on how long the line is."""


@dataclass(frozen=True)
class Pattern:
    """Which blocks of positions a block looks at: `globals` at the front, its own and the
    neighbouring ones, and `randoms` of the others, each drawn from its share of them."""

    block: int
    globals: int
    randoms: int
    number: int  # of the layer: each draws for itself

    @cached_property
    def draws(self) -> Tensor:
        generator = torch.Generator().manual_seed(self.number)
        return torch.rand(DRAWS, self.randoms, generator=generator)

    def blocks(self, asking: Tensor, stop: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
        """asking (...) are numbers of blocks and stop (...) how many blocks there are to look at;
        gives the blocks that each looks at, (..., slots), and which of these slots count."""
        i, stop = asking[..., None], stop[..., None]
        after = 0 if causal else 1
        first = torch.arange(self.globals, device=asking.device).expand(*asking.shape, -1)
        near = i + torch.arange(-1, after + 1, device=asking.device)
        drawn, fresh = self._draw(i, stop, after)
        looked_at = torch.cat([first, near, drawn], dim=-1)
        counts = torch.cat(
            [(first < i - 1) | (first > i + after), (near >= 0) & (near < stop), fresh], dim=-1
        )
        counts = counts & (looked_at < stop)
        return looked_at.clamp(min=0).minimum((stop - 1).clamp(min=0)), counts

    def _draw(self, i: Tensor, stop: Tensor, after: int) -> tuple[Tensor, Tensor]:
        """Blocks from the globals to `stop` that are not near block i."""
        numbers = torch.arange(self.randoms, device=i.device)
        shares = (self.draws.to(i.device)[i[..., 0] % DRAWS] + numbers) / max(self.randoms, 1)
        near_from = (i - 1).clamp(min=self.globals)  # those near that are not global
        near_stop = (i + after + 1).minimum(stop).maximum(near_from)
        others = (stop - self.globals - (near_stop - near_from)).clamp(min=0)
        rank = (shares * others).long()
        drawn = rank + self.globals
        drawn = torch.where(drawn >= near_from, drawn + near_stop - near_from, drawn)
        fresh = (others > 0).expand_as(drawn).clone()
        fresh[..., 1:] &= rank[..., 1:] != rank[..., :-1]  # few others: two shares may be one
        return drawn, fresh


class BigBird(SoftmaxMixer):
    """softmax over the positions of some blocks: the block itself and its two neighbours, the
    first blocks (global, which themselves look at everything) and some at random; time and memory
    n (Zaheer et al. 2020, arXiv 2007.14062, as the internal construction BigBird-ITC).

    In a decoder a position sees those in the same blocks that are not after it: all see the
    global blocks, but these only look back themselves, and random ones are drawn from earlier
    blocks. What padding sees is undefined. Its cache has columns like that of full attention, of
    which a later call takes only those it looks at.
    """

    uses_columns = True

    def __init__(
        self,
        heads: int,
        head_width: int,
        position: Position,
        looks: Looks,
        scaled: bool,
        pattern: Pattern,
    ) -> None:
        super().__init__(heads, head_width, position, looks, scaled)
        self.pattern = pattern

    def forward(self, query: Tensor, key: Tensor, value: Tensor, sequence: FullSequence) -> Tensor:
        size, length = self.pattern.block, query.shape[2]
        real = functional.pad(sequence.real, (0, -length % size))
        blocks = torch.arange(real.shape[1] // size, device=real.device)
        asking = blocks.expand(len(real), -1)  # (B, blocks)
        stop = (sequence.real.sum(dim=1, keepdim=True) + size - 1) // size
        chosen, counts = self.pattern.blocks(asking, stop.expand_as(asking), causal=False)
        sight = self._see(real, chosen, counts, causal=False)
        mixed, weights = self._mix(query, key, value, chosen, sight)
        first = min(self.pattern.globals * size, length)
        if first == 0:
            self.record_weights(weights)
            return mixed
        positions = torch.arange(length, device=query.device)
        distance = positions - positions[:first, None] if self.position.relative else None
        mask = sequence.mask
        all_seen, all_weights = self.attend(query[:, :, :first], key, value, mask, distance)
        if weights is not None and all_weights is not None:
            self.record_weights(torch.cat([all_weights, weights[:, :, first:]], dim=2))
        return torch.cat([all_seen, mixed[:, :, first:]], dim=2)

    def start(self, like: Tensor) -> Cache:
        return no_columns(like, self.heads, self.head_width, self.for_search)

    def read(
        self, query: Tensor, key: Tensor, value: Tensor, cache: Cache, tokens: NextTokens
    ) -> tuple[Tensor, Cache]:
        if tokens.is_full_sequence:
            size = self.pattern.block
            real = tokens.seen.new_ones(len(query), query.shape[2])
            real = functional.pad(real, (0, -query.shape[2] % size))
            asking = torch.arange(real.shape[1] // size, device=real.device)
            chosen, counts = self.pattern.blocks(asking, asking + 1, causal=True)
            chosen, counts = (x.expand(len(real), -1, -1) for x in (chosen, counts))
            sight = self._see(real, chosen, counts, causal=True)
            mixed, weights = self._mix(query, key, value, chosen, sight)
            self.record_weights(weights)
            return mixed, first_columns(key, value, self.for_search)
        key, value, cache = more_columns(cache, key, value, tokens.sentences)
        return self._pick(query, key, value, tokens), cache

    def _see(
        self, real: Tensor, chosen: Tensor, counts: Tensor, causal: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The positions that a block looks at (B, blocks, slots x size), how far they are from each
        of its own, and what is added to scores, both (B, blocks, size, slots x size).

        real (B, blocks x size); chosen and counts (B, blocks, slots).
        """
        size = self.pattern.block
        positions = torch.arange(real.shape[1], device=real.device)
        looked_at = (chosen[..., None] * size + positions[:size]).flatten(2)
        distance = looked_at[:, :, None] - positions.view(1, -1, size, 1)
        seen = real.gather(1, looked_at.flatten(1)).view_as(looked_at)[:, :, None]
        seen = (seen | (distance == 0)) & counts.repeat_interleave(size, dim=2)[:, :, None]
        if causal:
            seen = seen & (distance <= 0)
        # a block of padding alone has no slot that counts, and must see something
        return looked_at, distance, additive_mask(~(seen | ~seen.any(dim=-1, keepdim=True)))

    def _mix(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        chosen: Tensor,
        sight: tuple[Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Optional[Tensor]]:
        """All positions by blocks: the mean (B, H, T, K), and weights (B, H, T, T) for a probe."""
        rows, blocks, _ = chosen.shape
        length = query.shape[2]
        looked_at, distance, mask = sight
        row = torch.arange(rows, device=chosen.device)[:, None, None]
        of_rows = row * blocks + chosen  # (B, blocks, slots)
        mixed, weights = self.attend(
            self._by_blocks(query),
            self._take(key, of_rows),
            self._take(value, of_rows),
            mask.flatten(0, 1)[:, None],
            distance.flatten(0, 1)[:, None] if self.position.relative else None,
        )
        mixed = mixed.unflatten(0, (rows, blocks)).transpose(1, 2).flatten(2, 3)[:, :, :length]
        if self.probe is None or weights is None:
            return mixed, None
        weights = weights.unflatten(0, (rows, blocks)).transpose(1, 2)  # (B, H, blocks, size, ...)
        dense = weights.new_zeros(*weights.shape[:4], blocks * self.pattern.block)
        dense.scatter_add_(-1, looked_at[:, None, :, None].expand_as(weights), weights)
        return mixed, dense.flatten(2, 3)[:, :, :length, :length]

    def _by_blocks(self, x: Tensor) -> Tensor:
        """(B, H, T, K) to (B x blocks, H, size, K)."""
        size = self.pattern.block
        x = functional.pad(x, (0, 0, 0, -x.shape[2] % size)).unflatten(2, (-1, size))
        return x.transpose(1, 2).flatten(0, 1)

    def _take(self, x: Tensor, rows: Tensor) -> Tensor:
        """Blocks of keys or values by row: (B x blocks, H, slots x size, K)."""
        taken = self._by_blocks(x).index_select(0, rows.flatten())
        return taken.unflatten(0, (-1, rows.shape[2])).transpose(1, 2).flatten(2, 3)

    def _pick(self, query: Tensor, key: Tensor, value: Tensor, tokens: NextTokens) -> Tensor:
        """A few positions of each hypothesis (R, H, T, K), each with the columns it looks at.

        key and value (B, H, columns, K).
        """
        rows, length, size = len(query), tokens.length, self.pattern.block
        device, stop = key.device, tokens.start + length
        asking = tokens.positions // size
        chosen, counts = self.pattern.blocks(asking, asking + 1, causal=True)  # (T, slots)
        looked_at = (chosen[..., None] * size + torch.arange(size, device=device)).flatten(1)
        distance = looked_at - tokens.positions[:, None]  # (T, slots x size)
        seen = counts.repeat_interleave(size, dim=1) & (distance <= 0)
        columns = tokens.columns[:, looked_at.clamp(max=stop - 1)]
        sentence = torch.arange(rows, device=device) // (rows // tokens.sentences)

        def take(x: Tensor) -> Tensor:
            # (R, T, slots x size, H, K)
            picked = x.transpose(1, 2)[sentence[:, None, None], columns]
            return picked.transpose(2, 3).flatten(0, 1)

        mixed, weights = self.attend(
            query.transpose(1, 2).flatten(0, 1)[:, :, None],  # (R x T, H, 1, K)
            take(key),
            take(value),
            additive_mask(~seen).repeat(rows, 1)[:, None, None],
            distance.repeat(rows, 1)[:, None, None] if self.position.relative else None,
        )
        if self.probe is not None and weights is not None:
            weights = weights[:, :, 0].unflatten(0, (rows, length)).transpose(1, 2)
            dense = weights.new_zeros(*weights.shape[:3], stop + size)
            dense.scatter_add_(-1, looked_at.expand_as(weights), weights)
            self.record_weights(dense[..., :stop])
        return mixed[:, :, 0].unflatten(0, (rows, length)).transpose(1, 2)
