"""The stack of a decoder that reads its target with attention: one for translation and for language
modelling, whose layers do or do not attend to a source as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor, nn

from regard.models.base import Decoder
from regard.nn.attention import KeysValues, additive_mask
from regard.nn.blocks import BlockConfig, DecoderLayer, SelfLayer
from regard.nn.mixers import MixerKind
from regard.nn.mixers.base import Cache
from regard.nn.mixers.context import NextTokens
from regard.nn.modules import Modules
from regard.nn.state import Encoded, Nested, State

Layer = TypeVar("Layer", DecoderLayer, SelfLayer)

Read = Callable[[Tensor, Cache, NextTokens], tuple[Tensor, Cache]]
"""A layer that reads x (R, T, D), the next T tokens of each hypothesis."""


class CausalShared(NamedTuple):
    """The same for all hypotheses of a sentence: the keys and values of the source in each layer
    that attends to it, the mask (B, 1, 1, S) that hides its padding, and the part of each layer's
    cache that holds the tokens of all hypotheses side by side."""

    keys_values: tuple[KeysValues, ...]
    mask: Tensor
    caches: tuple[Nested, ...]


class CausalPast(NamedTuple):
    """Of each hypothesis: which columns of the shared caches hold its own tokens (R, columns), and
    its own part of each layer's cache."""

    seen: Tensor
    caches: tuple[Nested, ...]


CausalState = State[CausalShared, CausalPast]


class CausalDecoder(Decoder[CausalShared, CausalPast], ABC, Generic[Layer]):
    """Embeds the next tokens, lets each layer read them with its cache of the earlier ones, and
    normalises the result."""

    def __init__(
        self,
        config: BlockConfig,
        tokens: nn.Embedding,
        mixers: Sequence[MixerKind],
        build: Callable[[MixerKind, int], Layer],
    ) -> None:
        """One layer per mixer; `build` makes it from its mixer and its number."""
        super().__init__()
        self.embedding = config.embedding(tokens)
        layers = [build(mixer, number) for number, mixer in enumerate(mixers)]
        self.uses_columns = any(layer.attention.uses_columns for layer in layers)
        self.layers: Modules[Layer] = Modules(layers)
        self.norm = config.last_norm()

    @abstractmethod
    def keys_values(self, source: Tensor) -> tuple[KeysValues, ...]:
        """What the layers keep of the encoder's output (B, S, D)."""

    @abstractmethod
    def readers(self, shared: CausalShared) -> Iterable[Read]:
        """The layers, each with what it needs of the source."""

    def start(self, encoded: Encoded) -> CausalState:
        caches = [layer.attention.start(encoded.output) for layer in self.layers]
        shared = CausalShared(
            self.keys_values(encoded.output),
            additive_mask(~encoded.mask)[:, None, None],
            tuple(cache.shared for cache in caches),
        )
        seen = encoded.mask.new_ones(len(encoded.mask), 0)
        return State(shared, CausalPast(seen, tuple(cache.past for cache in caches)))

    def forward(self, tokens: Tensor, state: CausalState) -> tuple[Tensor, CausalState]:
        shared, past = state.shared, state.past
        next_tokens = NextTokens(tokens, state.length, len(shared.mask), past.seen)
        x = self.embedding(tokens, state.length)  # (R, T, D)
        caches = []
        for read, *parts in zip(self.readers(shared), shared.caches, past.caches, strict=True):
            x, cache = read(x, Cache(*parts), next_tokens)
            caches.append(cache)
        seen = next_tokens.own if self.uses_columns else past.seen
        return self.norm(x, next_tokens), state.advance(
            past=CausalPast(seen, tuple(cache.past for cache in caches)),
            by=tokens.shape[1],
            shared=shared._replace(caches=tuple(cache.shared for cache in caches)),
        )
